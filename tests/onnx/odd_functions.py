"""Values that are chosen among others, and functions that an interpolated table does not follow."""
from odd_model import Model, case


@case("min/different_ranges", db=35)
def _():
    m = Model()
    m.input("a", [1, 64], 0, 255), m.input("b", [1, 64], 0, 1)
    m.add("Min", ["a", "b"], "y")
    return m.output("y")


@case("where/into_silu")
def _():
    m = Model()
    m.input("x", [1, 16])
    m.const("zero", 0), m.add("Greater", ["x", "zero"], "g"), m.add("Neg", ["x"], "n"), m.add("Where", ["g", "x", "n"], "a")
    m.add("Sigmoid", ["a"], "s"), m.add("Mul", ["a", "s"], "y")
    return m.output("y")


for op, low, high in (("Reciprocal", 0.1, 4), ("Sign", -1, 1), ("Round", -5, 5), ("Ceil", -5, 5), ("Log", 0.05, 4), ("Abs", -1, 0.5)):
    def int16_case(op=op, low=low, high=high):
        m = Model()
        m.recipe = "quantization: {activations: int16}\n"
        m.input("x", [1, 64], low, high)
        m.add(op, ["x"], "y")
        return m.output("y")
    case(f"int16/{op.lower()}", db=60 if op in ("Reciprocal", "Log", "Abs") else 25)(int16_case)
