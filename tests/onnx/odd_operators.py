"""The other operators at their edges, and what must be refused."""
import numpy as np
from onnx import helper
from odd_model import FLOAT, Model, case, conv_relu


def gemm_case(name, x, w, bias=None, **attributes):
    @case(f"gemm/{name}")
    def _():
        m = Model()
        m.input("x", x)
        m.weights("w", *w)
        inputs = ["x", "w"]
        if bias is not None:
            inputs.append(m.const("b", m.rng.normal(size=bias)))
        m.add("Gemm", inputs, "y", **attributes)
        return m.output("y")


gemm_case("plain", [1, 8], (8, 5))
gemm_case("rows", [7, 8], (8, 5), bias=(5,))
gemm_case("transA", [8, 3], (8, 5), bias=(1, 5), transA=1)
gemm_case("transA_transB", [8, 3], (5, 8), transA=1, transB=1, alpha=3.0)
gemm_case("beta_zero", [1, 8], (8, 5), bias=(5,), beta=0.0)
gemm_case("alpha_negative", [1, 8], (8, 5), bias=(5,), alpha=-0.5, beta=-2.0)
gemm_case("alpha_zero", [1, 8], (8, 5), bias=(5,), alpha=0.0)
gemm_case("scalar_bias", [1, 8], (8, 5), bias=())
gemm_case("column_bias", [3, 8], (8, 5), bias=(3, 1))
gemm_case("matrix_bias", [3, 8], (8, 5), bias=(3, 5))
gemm_case("one_by_one", [1, 1], (1, 1), bias=(1,))


@case("gemm/computed_both")
def _():
    m = Model()
    m.input("x", [4, 8]), m.input("z", [8, 3]), m.input("c", [3])
    m.add("Gemm", ["x", "z", "c"], "y")
    return m.output("y")


@case("gemm/constant_first")
def _():
    m = Model()
    m.input("x", [8, 3])
    m.weights("k", 4, 8)
    m.add("Gemm", ["k", "x"], "y")
    return m.output("y")


def matmul_case(name, a, b, constant=None):
    @case(f"matmul/{name}")
    def _():
        m = Model()
        for key, shape in (("a", a), ("b", b)):
            if key == constant:
                m.const(key, m.rng.normal(size=shape) * 0.4)
            else:
                m.input(key, shape)
        m.add("MatMul", ["a", "b"], "y")
        return m.output("y")


matmul_case("batch_broadcast", [2, 1, 4, 8], [3, 8, 5])
matmul_case("batch_broadcast_constant", [2, 3, 4, 8], [3, 8, 5], "b")
matmul_case("batch_one_constant", [2, 3, 4, 8], [1, 8, 5], "b")
matmul_case("vector_left", [8], [8, 5], "b")
matmul_case("vector_right", [4, 8], [8], "b")
matmul_case("vectors", [8], [8])
matmul_case("vector_batch", [8], [3, 8, 5])
matmul_case("constant_left", [4, 8], [8, 5], "a")
matmul_case("constant_left_batch", [4, 8], [3, 8, 5], "a")
matmul_case("big", [1, 64, 200], [1, 200, 65])


@case("matmul/with_itself")
def _():
    m = Model()
    m.input("x", [1, 6, 6])
    m.add("MatMul", ["x", "x"], "y")
    return m.output("y")


@case("matmul/attention")
def _():
    m = Model()
    m.input("x", [1, 10, 16])
    for key in "qkv":
        m.weights(f"{key}.w", 16, 16)
        m.add("MatMul", ["x", f"{key}.w"], f"{key}.f")
        m.add("Reshape", [f"{key}.f", m.const(f"{key}.s", [1, 10, 4, 4], np.int64)], f"{key}.r")
        m.add("Transpose", [f"{key}.r"], key, perm=[0, 2, 3, 1] if key == "k" else [0, 2, 1, 3])
    m.add("MatMul", ["q", "k"], "qk"), m.add("Mul", ["qk", m.const("half", 0.5)], "s"), m.add("Softmax", ["s"], "p", axis=-1), m.add("MatMul", ["p", "v"], "o")
    m.add("Transpose", ["o"], "t", perm=[0, 2, 1, 3]), m.add("Reshape", ["t", m.const("os", [1, 10, 16], np.int64)], "y")
    return m.output("y")


@case("clip/without_bounds")
def _():
    m = Model()
    m.input("x", [1, 8])
    m.add("Clip", ["x"], "y")
    return m.output("y")


@case("clip/upper_only")
def _():
    m = Model()
    m.input("x", [1, 8])
    m.const("hi", 0.5)
    m.add("Clip", ["x", "", "hi"], "y")
    return m.output("y")


@case("clip/infinite")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    conv_relu(m)
    m.const("lo", -np.inf), m.const("hi", np.inf)
    m.add("Clip", ["c.conv", "lo", "hi"], "y")
    return m.output("y")


@case("clip/inverted", db=None)
def _():
    m = Model()
    m.input("x", [1, 8])
    m.const("lo", 0.5), m.const("hi", -0.5)
    m.add("Clip", ["x", "lo", "hi"], "y")
    return m.output("y")


@case("clip/excludes_zero")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    conv_relu(m)
    m.const("lo", 0.25), m.const("hi", 0.75)
    m.add("Clip", ["c.conv", "lo", "hi"], "y")
    return m.output("y")


for kind, below, above in (("low", "r", ""), ("high", "", "r"), ("both", "r", "q"), ("low_of_constant_high", "r", "hi"), ("high_of_constant_low", "lo", "q")):

    @case(f"clip/computed_{kind}")
    def _(below=below, above=above):
        m = Model()
        m.input("x", [1, 3, 6, 6])
        conv_relu(m)
        m.const("lo", 0.1), m.const("hi", 0.6), m.const("half", 0.5)
        m.add("ReduceMean", ["c.conv"], "r", keepdims=0)
        m.add("Add", ["r", "half"], "q")
        m.add("Clip", ["c.conv", below, above], "y")
        return m.output("y")


@case("batchnorm/zero_variance")
def _():
    m = Model()
    m.input("x", [1, 4, 6, 6])
    m.weights("w", 4, 4, 3, 3)
    m.const("s", [1, 0, 0.5, -1]), m.const("b", [0, 1, 0, -1]), m.const("mean", [0.1, 0, -0.1, 0]), m.const("var", [0, 0.5, 2, 1e-12])
    m.add("Conv", ["x", "w"], "c", pads=[1, 1, 1, 1])
    m.add("BatchNormalization", ["c", "s", "b", "mean", "var"], "y")
    return m.output("y")


@case("batchnorm/before_padded_conv")
def _():
    m = Model()
    m.input("x", [1, 4, 6, 6])
    m.const("s", [1, 2, 0.5, -1]), m.const("b", [0, 1, 0, -1]), m.const("mean", [0.1, 0, -0.1, 0]), m.const("var", [1, 0.5, 2, 1])
    m.add("BatchNormalization", ["x", "s", "b", "mean", "var"], "n")
    m.weights("w", 4, 4, 3, 3)
    m.add("Conv", ["n", "w"], "y", pads=[1, 1, 1, 1])
    return m.output("y")


@case("batchnorm/rank_two")
def _():
    m = Model()
    m.input("x", [3, 4])
    m.const("s", [1, 2, 0.5, -1]), m.const("b", [0, 1, 0, -1]), m.const("mean", [0.1, 0, -0.1, 0]), m.const("var", [1, 0.5, 2, 1])
    m.add("BatchNormalization", ["x", "s", "b", "mean", "var"], "y")
    return m.output("y")


@case("shape/computed_reshape")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6], declared=["N", 3, 6, 6])
    conv_relu(m)
    m.add("Shape", ["c.relu"], "s"), m.const("zero", 0, np.int64)
    m.add("Gather", ["s", "zero"], "n"), m.const("axes", [0], np.int64), m.add("Unsqueeze", ["n", "axes"], "nn")
    m.const("rest", [-1], np.int64), m.add("Concat", ["nn", "rest"], "shape", axis=0), m.add("Reshape", ["c.relu", "shape"], "y")
    return m.output("y")


@case("shape/reshape_of_data", refused="Reshape")
def _():
    m = Model()
    m.input("x", [1, 12]), m.input("s", [2], 1, 1, dtype=np.int64)
    m.add("Reshape", ["x", "s"], "y")
    return m.output("y")


@case("shape/reshape_does_not_fit", refused="Reshape")
def _():
    m = Model()
    m.input("x", [1, 12])
    m.add("Reshape", ["x", m.const("s", [5, 5], np.int64)], "y")
    return m.output("y")


@case("softmax/channels")
def _():
    m = Model()
    m.input("x", [1, 5, 4, 4], -4, 4)
    m.weights("w", 5, 5, 1, 1)
    m.add("Conv", ["x", "w"], "c"), m.add("Softmax", ["c"], "y", axis=1)
    return m.output("y")


@case("softmax/one_element", db=20)
def _():
    m = Model()
    m.qdq = False  # ONNX Runtime 1.20 gives 0 there
    m.input("x", [1, 1])
    m.add("Softmax", ["x"], "y", axis=1)
    return m.output("y")


@case("softmax/huge_logits")
def _():
    m = Model()
    m.input("x", [1, 10], -1e4, 1e4)
    m.add("Softmax", ["x"], "y", axis=1)
    return m.output("y")


@case("softmax/old_axis")
def _():
    m = Model(11)
    m.input("x", [1, 3, 2, 2], -3, 3)
    m.add("Softmax", ["x"], "y", axis=1)
    return m.output("y")


@case("concat/different_ranges", db=20)
def _():
    m = Model()
    m.input("a", [1, 2, 4, 4], -0.01, 0.01), m.input("b", [1, 2, 4, 4], -100, 100)
    m.add("Concat", ["a", "b"], "y", axis=1)
    return m.output("y")


@case("concat/one")
def _():
    m = Model()
    m.input("a", [1, 2, 4, 4])
    m.add("Concat", ["a"], "y", axis=-1)
    return m.output("y")


@case("resize/odd_sizes")
def _():
    m = Model()
    m.input("x", [1, 3, 5, 7])
    m.const("sizes", [1, 3, 8, 3], np.int64)
    m.add("Resize", ["x", "", "", "sizes"], "y", mode="linear", coordinate_transformation_mode="align_corners")
    return m.output("y")


@case("resize/nearest_floor")
def _():
    m = Model()
    m.input("x", [1, 3, 5, 7])
    m.const("sizes", [1, 3, 11, 9], np.int64)
    m.add("Resize", ["x", "", "", "sizes"], "y", mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    return m.output("y")


@case("pad/reflect_and_edge")
def _():
    m = Model()
    m.input("x", [1, 3, 5, 5])
    m.const("p", [0, 0, 2, 1, 0, 0, 1, 2], np.int64)
    m.add("Pad", ["x", "p"], "a", mode="reflect"), m.add("Pad", ["a", "p"], "y", mode="edge")
    return m.output("y")


@case("pad/negative")
def _():
    m = Model()
    m.input("x", [1, 3, 5, 5])
    m.const("p", [0, 0, -1, 1, 0, 0, 1, -2], np.int64)
    m.add("Pad", ["x", "p"], "y")
    return m.output("y")


@case("pad/into_conv_with_value")
def _():
    m = Model()
    m.input("x", [1, 3, 5, 5])
    m.const("p", [0, 0, 1, 1, 0, 0, 1, 1], np.int64), m.const("v", 3.0)
    m.add("Pad", ["x", "p", "v"], "a")
    m.weights("w", 4, 3, 3, 3)
    m.add("Conv", ["a", "w"], "y")
    return m.output("y")


@case("pad/channels")
def _():
    m = Model()
    m.input("x", [1, 3, 5, 5])
    m.const("p", [0, 1, 0, 0, 0, 2, 0, 0], np.int64)
    m.add("Pad", ["x", "p"], "a")
    m.weights("w", 4, 6, 3, 3)
    m.add("Conv", ["a", "w"], "y")
    return m.output("y")


@case("split/uneven_and_unread")
def _():
    m = Model()
    m.input("x", [1, 7, 3])
    m.const("s", [1, 2, 4], np.int64)
    m.add("Split", ["x", "s"], ["a", "b", "c"], axis=1)
    m.add("Relu", ["c"], "y")
    return m.output("y", "a")


@case("split/last_unread")
def _():
    m = Model()
    m.input("x", [1, 7, 3])
    m.const("s", [1, 2, 4], np.int64)
    m.add("Split", ["x", "s"], ["a", "b", "c"], axis=1)
    m.add("Relu", ["b"], "y")
    return m.output("y", "a")


@case("split/equal_and_last_unread")
def _():
    m = Model()
    m.input("x", [1, 6, 3])
    m.add("Split", ["x"], ["a", "b", "c"], axis=1)
    m.add("Relu", ["b"], "y")
    return m.output("y")


@case("split/num_outputs_uneven")
def _():
    m = Model(18)
    m.input("x", [1, 7, 3])
    m.add("Split", ["x"], ["a", "b", "c"], axis=1, num_outputs=3)
    return m.output("a", "b", "c")


@case("gather/negative_index")
def _():
    m = Model()
    m.input("x", [1, 5, 4])
    m.const("i", [-1, 0, 2], np.int64)
    m.add("Gather", ["x", "i"], "y", axis=1)
    return m.output("y")


@case("gather/out_of_range", refused="Gather")
def _():
    m = Model()
    m.input("x", [1, 5, 4])
    m.const("i", [7], np.int64)
    m.add("Gather", ["x", "i"], "y", axis=1)
    return m.output("y")


@case("gather/index_beyond_table_at_run_time", refused="")
def _():
    m = Model()
    m.input("ids", [1, 6], 90, 99, dtype=np.int64)
    m.const("table", m.rng.normal(size=(10, 8)))
    m.add("Gather", ["table", "ids"], "y")
    m.ort = m.qdq = False
    m.either = True
    return m.output("y")


@case("unknown/several", refused="2 of 3 nodes")
def _():
    m = Model()
    m.input("x", [1, 4])
    m.add("Frobnicate", ["x"], "a"), m.add("Relu", ["a"], "b"), m.add("Blub", ["b"], "y")
    return m.output("y")


@case("unknown/custom_domain", refused="custom domain")
def _():
    m = Model()
    m.input("x", [1, 4])
    m.nodes.append(helper.make_node("Relu", ["x"], ["y"], domain="com.example"))
    return m.output("y")


@case("unknown/subgraph", refused="If")
def _():
    m = Model()
    m.input("x", [1, 4]), m.input("c", [], dtype=bool)
    branch = helper.make_graph([helper.make_node("Relu", ["x"], ["r"])], "b", [], [helper.make_tensor_value_info("r", FLOAT, [1, 4])])
    m.nodes.append(helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=branch))
    return m.output("y")
