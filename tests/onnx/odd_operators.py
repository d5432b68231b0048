"""The other operators at their edges, and what must be refused."""
import numpy as np
from onnx import helper
from odd_model import FLOAT, Model, case, conv_relu


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
