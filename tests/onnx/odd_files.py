"""Odd files: versions, names, constants, magnitudes."""
import numpy as np
from onnx import helper, numpy_helper
from odd_model import FLOAT, Model, case, conv_relu


# --- the file ---------------------------------------------------------------------------------------------------------

for version in range(3, 11):
    @case(f"file/ir_{version}")
    def _(version=version):
        m = Model(13 if version > 3 else 8, version)
        m.input("x", [1, 3, 6, 6])
        conv_relu(m)
        if version == 3:  # initializers are inputs as well
            m.inputs.append(helper.make_tensor_value_info("c.w", FLOAT, [8, 3, 3, 3]))
        return m.output("c.relu")


@case("file/ir_11", refused="IR version 11")
def _():
    m = Model(13, 11)
    m.input("x", [1, 4])
    m.add("Relu", ["x"], "y")
    return m.output("y")


for odd_opset in (6, 22):
    @case(f"file/opset_{odd_opset}", refused=f"operator set {odd_opset}")
    def _(odd_opset=odd_opset):
        m = Model(odd_opset)
        m.input("x", [1, 4])
        m.add("Relu", ["x"], "y")
        return m.output("y")


@case("names/none")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    conv_relu(m, name="a"), conv_relu(m, "a.relu", 8, name="b")
    for node in m.nodes:
        node.ClearField("name")
    return m.output("b.relu")


@case("names/all_the_same")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    conv_relu(m, name="a"), conv_relu(m, "a.relu", 8, name="b")
    for node in m.nodes:
        node.name = "layer"
    m.ort = "unnamed"  # ONNX Runtime refuses doubled names
    return m.output("b.relu")


@case("names/values_like_nodes")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    conv_relu(m, name="a")
    m.nodes[0].name, m.nodes[1].name = "a.relu", "x"
    return m.output("a.relu")


@case("names/like_ours")
def _():
    m = Model()
    m.input("x.nhwc", [1, 3, 6, 6])
    m.weights("w", 8, 3, 3, 3), m.weights("w_1", 8, 8, 1, 1)
    m.add("Conv", ["x.nhwc", "w"], "y.nhwc", pads=[1, 1, 1, 1])
    m.add("Conv", ["y.nhwc", "w_1"], "y")
    m.add("Relu", ["y"], "y.nhwc.nchw")
    m.add("Add", ["y", "y.nhwc.nchw"], "y.quantized")
    return m.output("y.quantized")


STRANGE = ["a b", 'q"uote', "new\nline", "tab\t", "größe/µ", "层", "100%", "%x", "back\\slash", "=", "a=b", "'", "#c", "{}", "[0]", "*", "", "_", "-1", "1e5", "elided", "\x01", "x:y", ",", "..", "<b>&amp;"]
for number, text in enumerate(STRANGE):
    if text:
        @case(f"names/strange_{number}")
        def _(text=text):
            m = Model()
            m.input(text, [1, 3, 6, 6])
            m.const(text + ".w", m.rng.normal(size=(4, 3, 3, 3)) * 0.2)
            m.add("Conv", [text, text + ".w"], text + ".c", name=text, pads=[1, 1, 1, 1])
            m.add("Relu", [text + ".c"], text + ".r", name=text)
            m.add("Add", [text + ".r", text + ".c"], text + ".out", name=text + "/add")
            m.ort = "unnamed"
            return m.output(text + ".out")


@case("names/not_utf8", db=None)
def _():
    m = Model()
    m.input("x", [1, 4])
    m.add("Relu", ["x"], "REPLACE_")
    m.output("REPLACE_")
    m.edit = lambda data: data.replace(b"REPLACE_", b"\xff\xfe\x80bcdef")
    m.ort = m.qdq = False  # Python wants UTF-8
    return m


@case("names/long")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    m.weights("w" * 5000, 8, 3, 3, 3)
    m.add("Conv", ["x", "w" * 5000], "y" * 5000, pads=[1, 1, 1, 1])
    m.add("Relu", ["y" * 5000], "z")
    return m.output("z")


@case("file/unsorted")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    conv_relu(m, name="a"), conv_relu(m, "a.relu", 8, name="b")
    m.nodes.reverse()
    m.ort = "sorted"
    return m.output("b.relu")


@case("file/no_graph_name")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    m.edit_proto = lambda p: p.graph.ClearField("name")
    m.ort = False
    return m.output(conv_relu(m))


@case("file/unused_things")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    m.input("never", [1, 5])
    m.const("unread", np.zeros(5))
    m.add("Relu", ["x"], "dead"), m.add("Identity", ["dead"], "deader")
    return m.output(conv_relu(m))


@case("file/constant_nodes")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    m.add("Constant", [], "w", value=numpy_helper.from_array((m.rng.normal(size=(4, 3, 1, 1))).astype(np.float32)))
    m.add("Conv", ["x", "w"], "c")
    m.add("Constant", [], "two", value_float=2.0), m.add("Mul", ["c", "two"], "d")
    m.add("Constant", [], "s", value_ints=[1, -1]), m.add("Reshape", ["d", "s"], "y")
    return m.output("y")


@case("file/half_precision_weights")
def _():
    m = Model()
    m.input("x", [1, 16])
    m.const("w16", m.rng.normal(size=(16, 8)) * 0.2, np.float16)
    m.add("Cast", ["w16"], "w", to=FLOAT)
    m.add("MatMul", ["x", "w"], "y")
    return m.output("y")


@case("file/wrong_declared_output", refused="")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    conv_relu(m)
    m.outputs.append(helper.make_tensor_value_info("c.relu", FLOAT, [1, 99]))
    m.ort = False
    m.either = True
    return m


# --- constants --------------------------------------------------------------------------------------------------------

@case("constants/one_weight_for_two_convs")
def _():
    m = Model()
    m.input("x", [1, 4, 6, 6])
    m.weights("w", 4, 4, 3, 3)
    m.add("Conv", ["x", "w"], "a", pads=[1, 1, 1, 1]), m.add("Relu", ["a"], "r"), m.add("Conv", ["r", "w"], "b", pads=[1, 1, 1, 1])
    return m.output("b")


@case("constants/one_bias_for_two_convs")
def _():
    m = Model()
    m.input("x", [1, 4, 6, 6], -1, 1)
    m.weights("w", 4, 4, 3, 3), m.weights("v", 4, 4, 1, 1, scale=20.0), m.const("b", [1, -1, 0.5, 0])
    m.add("Conv", ["x", "w", "b"], "a", pads=[1, 1, 1, 1]), m.add("Relu", ["a"], "r"), m.add("Conv", ["r", "v", "b"], "y")
    return m.output("y")


@case("constants/in_two_roles")
def _():
    m = Model()
    m.input("x", [1, 6])
    m.weights("w", 6, 6)
    m.add("Gemm", ["x", "w"], "a", transB=1), m.add("Add", ["a", "w"], "b"), m.add("MatMul", ["b", "w"], "y")
    return m.output("y")


@case("constants/weight_is_also_bias")
def _():
    m = Model()
    m.input("x", [1, 1])
    m.const("w", [[0.7]]), m.const("b", [0.7])
    m.add("Gemm", ["x", "w", "b"], "a"), m.add("Gemm", ["a", "w", "w"], "y")
    return m.output("y")


@case("constants/as_output")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    conv_relu(m)
    return m.output("c.relu", "c.w")


@case("constants/only_output", db=None)
def _():
    m = Model()
    m.input("x", [1, 4])
    m.const("k", [1, 2, 3])
    return m.output("k")


@case("constants/branch")
def _():
    m = Model()
    m.input("x", [1, 4])
    m.const("k", [1, 2, 3, 4]), m.const("l", [2.0])
    m.add("Mul", ["k", "l"], "kl"), m.add("Relu", ["kl"], "klr"), m.add("Add", ["x", "klr"], "y")
    return m.output("y", "klr")


@case("constants/concat")
def _():
    m = Model()
    m.input("x", [1, 3, 4, 4])
    m.const("k", np.linspace(-1, 1, 32).reshape(1, 2, 4, 4))
    m.add("Concat", ["k", "x", "k"], "y", axis=1)
    return m.output("y")


@case("constants/concat_only")
def _():
    m = Model()
    m.input("x", [1, 4])
    m.const("k", [[1, 2]]), m.const("l", [[3, -4]])
    m.add("Concat", ["k", "l"], "kl", axis=1), m.add("Mul", ["x", "kl"], "y")
    return m.output("y")


@case("constants/no_weights_at_all")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    m.add("Relu", ["x"], "r"), m.add("MaxPool", ["r"], "p", kernel_shape=[2, 2], strides=[2, 2]), m.add("GlobalAveragePool", ["p"], "g"), m.add("Flatten", ["g"], "y")
    return m.output("y")


@case("constants/dead_channels")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    w = m.rng.normal(size=(6, 3, 3, 3)) * 0.2
    w[1] = 0
    w[4] = 0
    m.const("w", w), m.const("b", [0.1, 0, 0.2, 0.3, 5.0, 0])
    m.add("Conv", ["x", "w", "b"], "y", pads=[1, 1, 1, 1])
    return m.output("y")


@case("constants/all_zero_weights", db=None)
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    m.const("w", np.zeros((4, 3, 1, 1)))
    m.add("Conv", ["x", "w"], "c"), m.add("Relu", ["c"], "y")
    return m.output("y")


@case("constants/all_zero_weights_and_bias")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    m.const("w", np.zeros((4, 3, 1, 1))), m.const("b", [1, -2, 3, 0])
    m.add("Conv", ["x", "w", "b"], "y")
    return m.output("y")


for scale in (1e-30, 1e-20, 1e-10, 1e-5, 1e5, 1e10, 1e20, 1e30):
    @case(f"scales/weights_{scale:g}")
    def _(scale=scale):
        m = Model()
        m.input("x", [1, 3, 6, 6])
        m.const("w", m.rng.normal(size=(4, 3, 3, 3)) * scale)
        m.add("Conv", ["x", "w"], "c", pads=[1, 1, 1, 1]), m.add("Relu", ["c"], "y")
        return m.output("y")

    @case(f"scales/input_{scale:g}")
    def _(scale=scale):
        m = Model()
        m.input("x", [1, 3, 6, 6], -scale, scale)
        return m.output(conv_relu(m))

    @case(f"scales/add_of_{scale:g}", db=20)
    def _(scale=scale):
        m = Model()
        m.input("x", [1, 8])
        m.const("k", scale)
        m.add("Mul", ["x", "k"], "small"), m.add("Add", ["x", "small"], "y")
        return m.output("y")


@case("scales/channels_of_all_sizes")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    m.const("w", m.rng.normal(size=(8, 3, 3, 3)) * (10.0 ** np.arange(-12, 12, 3)).reshape(8, 1, 1, 1))
    m.add("Conv", ["x", "w"], "y", pads=[1, 1, 1, 1])
    return m.output("y")


@case("scales/bias_dwarfs_weights")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    m.weights("w", 4, 3, 3, 3, scale=1e-6), m.const("b", [1e3, -1e3, 1e2, 1])
    m.add("Conv", ["x", "w", "b"], "y", pads=[1, 1, 1, 1])
    return m.output("y")


@case("scales/denormal", db=None)
def _():
    m = Model()
    m.input("x", [1, 4], -1e-40, 1e-40)
    m.weights("w", 4, 4)
    m.add("Gemm", ["x", "w"], "y")
    return m.output("y")
