"""LSTM in every form that ONNX has: directions, layouts, initial states, peepholes, and what must be refused."""
import numpy as np
from odd_model import Model, case

STEPS, BATCH, INPUTS, HIDDEN = 5, 2, 6, 4
SLOTS = ("x", "w", "r", "b", "lengths", "h0", "c0", "p")


def lstm(m, outputs="y", directions=1, absent=(), steps=STEPS, batch=BATCH, **attributes):
    """Adds constants for whatever is neither there yet nor `absent`, and the node."""
    batch_first = attributes.get("layout") == 1
    if "x" not in m.feeds:
        m.input("x", [batch, steps, INPUTS] if batch_first else [steps, batch, INPUTS], low=-2, high=2)
    have = {*m.feeds, *(tensor.name for tensor in m.initializers)}
    shapes = {"w": (directions, 4 * HIDDEN, INPUTS), "r": (directions, 4 * HIDDEN, HIDDEN), "b": (directions, 8 * HIDDEN), "p": (directions, 3 * HIDDEN)}
    for name, shape in shapes.items():
        if name not in have and name not in absent:
            m.const(name, m.rng.normal(size=shape) * 0.5)
            have.add(name)
    names = [name if name in have and name not in absent else "" for name in SLOTS]
    while not names[-1]:
        names.pop()
    m.add("LSTM", names, outputs, name="lstm", hidden_size=HIDDEN, **attributes)
    return m


def lstm_case(name, refused=None, db=25.0, outputs=("y",), before=None, opset=14, **options):
    @case(f"lstm/{name}", db=db, refused=refused)
    def _():
        m = Model(opset=opset)
        if before:
            before(m)
        options.setdefault("absent", ("p",))
        lstm(m, outputs if isinstance(outputs, str) else list(outputs), **options)
        return m.output(*[o for o in outputs if o])


def states(m, computed, batch_first=False, directions=1):
    shape = [BATCH, directions, HIDDEN] if batch_first else [directions, BATCH, HIDDEN]
    for name in ("h0", "c0"):
        if computed:
            m.input(name, shape)
        else:
            m.const(name, m.rng.normal(size=shape) * 0.5)


lstm_case("forward")
lstm_case("forward_opset_7", opset=7)
lstm_case("reverse", direction="reverse")
lstm_case("bidirectional", directions=2, direction="bidirectional", outputs=("y", "h", "c"))
lstm_case("every_output", outputs=("y", "h", "c"))
lstm_case("last_state_only", outputs=("", "h"))
lstm_case("cell_only", outputs=("", "", "c"))
lstm_case("one_step", steps=1)
lstm_case("without_bias", absent=("b", "p"))
lstm_case("peepholes", absent=())
lstm_case("clip", clip=0.3)
lstm_case("relu", activations=["Sigmoid", "Relu", "Tanh"])
lstm_case("explicit_functions", directions=2, direction="bidirectional", activations=["Sigmoid", "Tanh", "Tanh"] * 2)
lstm_case("initial_states", before=lambda m: states(m, computed=True), outputs=("y", "h", "c"))
lstm_case("constant_states", before=lambda m: states(m, computed=False, directions=2), directions=2, direction="bidirectional")
lstm_case("initial_cell_only", before=lambda m: m.input("c0", [1, BATCH, HIDDEN]))
lstm_case("lengths_of_all", before=lambda m: m.const("lengths", [STEPS] * BATCH, np.int32))

lstm_case("lengths_differ", refused="a sequence has length", before=lambda m: m.const("lengths", [STEPS, 2], np.int32))
lstm_case("coupled_gates", refused="input_forget", input_forget=1)
lstm_case("other_function", refused="'Softsign' is not supported", activations=["Softsign", "Tanh", "Tanh"])
lstm_case("too_long", refused="the sequence has 600 steps", steps=600)
lstm_case("computed_weights", refused="computed at run time", before=lambda m: m.input("w", [1, 4 * HIDDEN, INPUTS]))
lstm_case("wrong_weights", refused="the recurrent weights have shape", before=lambda m: m.const("r", np.zeros((1, 4 * HIDDEN, HIDDEN + 1))))


# ONNX Runtime does not have the layout with the batch in front: its values are compared by conformance.py (test_lstm_batchwise).
@case("lstm/batch_first")
def _():
    m = Model(opset=14)
    lstm(m, ["y", "h", "c"], absent=("p",), directions=2, direction="bidirectional", layout=1)
    m.ort = False
    return m.output("y", "h", "c")


@case("lstm/two_layers", db=20.0)
def _():
    m = Model(opset=14)
    lstm(m, "first", absent=("p",))
    m.const("axis", [1], np.int64)
    m.add("Squeeze", ["first", "axis"], "between")
    for name, shape in {"w2": (1, 4 * HIDDEN, HIDDEN), "r2": (1, 4 * HIDDEN, HIDDEN)}.items():
        m.const(name, m.rng.normal(size=shape))
    m.add("LSTM", ["between", "w2", "r2"], "y", hidden_size=HIDDEN)
    return m.output("y")
