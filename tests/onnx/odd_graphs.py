"""Odd data and odd graphs."""
import numpy as np
from odd_model import FLOAT, SAMPLES, Model, case, conv_relu


# --- data --------------------------------------------------------------------------------------------------------------

@case("data/all_zero_activations")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6], -2, -1)
    m.add("Relu", ["x"], "r")
    m.weights("w", 4, 3, 3, 3), m.const("b", [1, 2, 3, -4])
    m.add("Conv", ["r", "w", "b"], "y", pads=[1, 1, 1, 1])
    return m.output("y")


@case("data/constant_input")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6], 0.5, 0.5)
    return m.output(conv_relu(m))


@case("data/zero_input", db=None)
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6], 0, 0)
    return m.output(conv_relu(m))


@case("data/never_positive")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6], -5, -4)
    m.weights("w", 4, 3, 1, 1)
    m.add("Conv", ["x", "w"], "y")
    return m.output("y")


@case("data/far_from_zero")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6], 1000, 1001)
    m.weights("w", 4, 3, 1, 1)
    m.add("Conv", ["x", "w"], "y")
    return m.output("y")


@case("data/sqrt_of_negative", refused="NaN")
def _():
    m = Model()
    m.input("x", [1, 8], -1, 1)
    m.add("Sqrt", ["x"], "s"), m.add("Relu", ["s"], "y")
    return m.output("y")


@case("data/division_by_zero", db=None, finite=False)
def _():
    m = Model()
    m.input("x", [1, 8], 1, 2)
    m.const("zero", np.zeros(8))
    m.add("Div", ["x", "zero"], "y")
    return m.output("y")


@case("data/nan_only_at_the_output", refused="NaN")
def _():
    m = Model()
    m.input("x", [1, 8], 1, 2)
    m.const("zero", np.zeros(8))
    m.add("Mul", ["x", "zero"], "z"), m.add("Div", ["z", "z"], "y")
    return m.output("y")


@case("data/overflow", db=None, finite=False)
def _():
    m = Model()
    m.input("x", [1, 8], 100, 200)
    m.add("Exp", ["x"], "y")
    return m.output("y")


@case("data/log_of_zero", db=None, finite=False)
def _():
    m = Model()
    m.input("x", [1, 8], -1, 1)
    m.add("Relu", ["x"], "r"), m.add("Log", ["r"], "y")
    return m.output("y")


@case("data/integer_input_to_gather")
def _():
    m = Model()
    m.input("ids", [1, 6], 0, 10, dtype=np.int64)
    m.const("table", m.rng.normal(size=(10, 8)))
    m.add("Gather", ["table", "ids"], "e")
    m.weights("w", 8, 4)
    m.add("MatMul", ["e", "w"], "y")
    return m.output("y")


@case("data/bool_and_integers")
def _():
    m = Model()
    m.input("x", [1, 8]), m.input("z", [1, 8])
    m.add("Greater", ["x", "z"], "g"), m.add("Where", ["g", "x", "z"], "y"), m.add("Cast", ["g"], "f", to=FLOAT), m.add("Mul", ["f", "y"], "u")
    return m.output("y", "u")


@case("data/uint8_input")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6], 0, 255, dtype=np.uint8)
    m.add("Cast", ["x"], "f", to=FLOAT)
    m.const("k", 1 / 255)
    m.add("Mul", ["f", "k"], "s")
    return m.output(conv_relu(m, "s"))


# --- shape of the graph --------------------------------------------------------------------------------------------------

@case("graph/input_is_output")
def _():
    m = Model()
    m.input("x", [1, 8])
    m.add("Relu", ["x"], "y")
    m.ort = False  # here the output is called 'x.copy'
    return m.output("y", "x")


@case("graph/only_input_to_output")
def _():
    m = Model()
    m.input("x", [1, 8])
    m.add("Identity", ["x"], "y")
    return m.output("y")


@case("graph/same_value_twice_as_output")
def _():
    m = Model()
    m.input("x", [1, 8])
    m.add("Relu", ["x"], "y"), m.add("Identity", ["y"], "z")
    return m.output("y", "z")


@case("graph/inner_value_is_output")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    conv_relu(m)
    return m.output("c.conv", "c.relu")


@case("graph/several_inputs_and_outputs")
def _():
    m = Model()
    m.input("a", [1, 3, 6, 6]), m.input("b", [1, 3, 6, 6], 0, 10), m.input("c", [1, 12])
    m.add("Add", ["a", "b"], "ab")
    m.weights("w", 4, 3, 3, 3), m.weights("v", 12, 5)
    m.add("Conv", ["ab", "w"], "y"), m.add("MatMul", ["c", "v"], "z"), m.add("GlobalAveragePool", ["y"], "g")
    return m.output("y", "z", "g")


@case("graph/batch_dynamic")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6], declared=["N", 3, 6, 6])
    return m.output(conv_relu(m))


@case("graph/batch_fixed_at_4")
def _():
    m = Model()
    m.input("x", [4, 3, 6, 6])
    conv_relu(m)
    m.add("Flatten", ["c.relu"], "f")
    m.weights("w", 288, 5)
    m.add("MatMul", ["f", "w"], "y")
    return m.output("y")


@case("graph/batch_chosen", options=["--input-shape", "x=2x3x6x6"])
def _():
    m = Model()
    m.input("x", [2, 3, 6, 6], declared=["N", 3, "H", "W"])
    return m.output(conv_relu(m))


@case("graph/sizes_open", refused="--input-shape")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6], declared=["N", 3, "H", "W"])
    return m.output(conv_relu(m))


@case("graph/residual_with_itself")
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    conv_relu(m)
    m.add("Add", ["c.relu", "c.relu"], "twice"), m.add("Mul", ["twice", "twice"], "square"), m.add("Sub", ["square", "twice"], "y"), m.add("Concat", ["y", "y"], "z", axis=1)
    return m.output("z")


@case("graph/minus_itself", db=None)
def _():
    m = Model()
    m.input("x", [1, 3, 6, 6])
    conv_relu(m)
    m.add("Sub", ["c.relu", "c.relu"], "y")
    return m.output("y")


@case("graph/chain_of_1000", db=5)
def _():
    m = Model()
    m.input("x", [1, 8])
    m.const("k", np.full(8, 1.001)), m.const("b", np.full(8, 0.001))
    value = "x"
    for i in range(500):
        m.add("Mul", [value, "k"], f"m{i}"), m.add("Add", [f"m{i}", "b"], f"a{i}")
        value = f"a{i}"
    return m.output(value)


@case("graph/chain_of_1000_relus")
def _():
    m = Model()
    m.input("x", [1, 8])
    value = "x"
    for i in range(1000):
        value = m.add("Relu", [value], f"r{i}")
    return m.output(value)


@case("graph/ladder", db=10)
def _():
    # Every layer read twice: what doubles work per layer would never end.
    m = Model()
    m.input("x", [1, 4], 0, 1)
    m.const("half", 0.5)
    value = "x"
    for i in range(60):
        m.add("Add", [value, value], f"a{i}"), m.add("Mul", [f"a{i}", "half"], f"m{i}")
        value = f"m{i}"
    return m.output(value)


@case("graph/scalars")
def _():
    m = Model()
    m.input("x", [])
    m.const("k", 2.0)
    m.add("Mul", ["x", "k"], "a"), m.add("Sigmoid", ["a"], "y")
    return m.output("y")


@case("graph/rank_one")
def _():
    m = Model()
    m.input("x", [12])
    m.weights("w", 12, 4)
    m.add("MatMul", ["x", "w"], "y")
    return m.output("y")


@case("graph/rank_six")
def _():
    m = Model()
    m.input("x", [1, 2, 3, 2, 2, 3])
    m.add("Transpose", ["x"], "t", perm=[0, 5, 1, 4, 2, 3]), m.add("Relu", ["t"], "y")
    return m.output("y")


@case("graph/zero_extent", db=None, refused="")
def _():
    m = Model()
    m.input("x", [1, 4])
    m.const("s", [0], np.int64), m.const("e", [0], np.int64), m.const("a", [1], np.int64)
    m.add("Slice", ["x", "s", "e", "a"], "none"), m.add("Relu", ["none"], "r"), m.add("Concat", ["r", "x"], "y", axis=1)
    m.either = True
    return m.output("y")


@case("graph/zero_extent_output", db=None, refused="")
def _():
    m = Model()
    m.input("x", [1, 4])
    m.const("s", [0], np.int64), m.const("e", [0], np.int64), m.const("a", [1], np.int64)
    m.add("Slice", ["x", "s", "e", "a"], "none"), m.add("Relu", ["none"], "y")
    m.either = True
    return m.output("y")


@case("graph/no_nodes", db=None)
def _():
    m = Model()
    m.input("x", [1, 4])
    m.ort = False
    return m.output("x")


@case("graph/no_inputs", db=None, refused="")
def _():
    m = Model()
    m.const("k", [1, 2, 3])
    m.add("Relu", ["k"], "y")
    m.either = True
    m.feeds = {"x": np.zeros((SAMPLES, 3), np.float32)}
    return m.output("y")
