"""Networks of many operators, for every target and with wider activations: what is written must read back and run."""
import numpy as np
from odd_model import Model, case, conv_relu


def maps(m):
    m.input("x", [1, 4, 9, 9])
    conv_relu(m, channels=4)
    m.weights("dw", 8, 1, 3, 3), m.add("Conv", ["c.relu", "dw"], "d", group=8, pads=[1, 1, 1, 1]), m.add("Sigmoid", ["d"], "ds"), m.add("Mul", ["d", "ds"], "silu")
    m.add("Add", ["silu", "c.relu"], "sum"), m.add("MaxPool", ["sum"], "mp", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    m.add("AveragePool", ["sum"], "ap", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1]), m.add("Concat", ["mp", "ap"], "cat", axis=1)
    m.add("Resize", ["cat", "", m.const("scales", [1, 1, 2, 2])], "up", mode="linear", coordinate_transformation_mode="half_pixel")
    m.weights("tw", 16, 4, 2, 2), m.add("ConvTranspose", ["cat", "tw"], "ct", strides=[2, 2])
    m.add("HardSigmoid", ["up"], "hs"), m.add("GlobalAveragePool", ["hs"], "g"), m.add("Flatten", ["g"], "f")
    m.weights("fw", 16, 5), m.add("MatMul", ["f", "fw"], "y")
    return m.output("y", "ct")


def tokens(m):
    m.input("x", [1, 6, 8])
    m.weights("qw", 8, 8), m.weights("kw", 8, 8), m.weights("vw", 8, 8)
    for key in "qkv":
        m.add("MatMul", ["x", f"{key}w"], key)
    m.add("Transpose", ["k"], "kt", perm=[0, 2, 1]), m.add("MatMul", ["q", "kt"], "s"), m.add("Softmax", ["s"], "p", axis=-1), m.add("MatMul", ["p", "v"], "o")
    m.add("Add", ["o", "x"], "r"), m.add("Tanh", ["r"], "t"), m.add("ReduceMean", ["t"], "mean", axes=[1], keepdims=0)
    m.add("Slice", ["t", m.const("b", [1], np.int64), m.const("e", [4], np.int64), m.const("a", [1], np.int64)], "cut")
    m.add("Expand", ["mean", m.const("es", [3, 1, 8], np.int64)], "ex"), m.add("Tile", ["cut", m.const("rep", [1, 2, 1], np.int64)], "ti")
    return m.output("ex", "ti")


def islands(m):
    m.input("x", [1, 4, 6, 6], 0.5, 2)
    m.const("s", [1, 2, 0.5, -1]), m.const("b", [0, 1, 0, -1]), m.const("mu", [0.1, 0, -0.1, 0]), m.const("v", [1, 0.5, 2, 1])
    m.add("Div", ["x", "x"], "one"), m.add("Pow", ["x", m.const("p", 1.5)], "pow"), m.add("BatchNormalization", ["pow", "s", "b", "mu", "v"], "bn")
    m.add("Expand", ["bn", m.const("es", [2, 4, 6, 6], np.int64)], "ex"), m.add("Mul", ["ex", "one"], "y")
    return m.output("y")


WISHES = {
    "int16": ("generic-int8", "quantization:\n  activations: int16\n"),
    "uint8": ("generic-int8", "quantization:\n  activations: uint8\n"),
    "symmetric": ("generic-int8", "quantization:\n  symmetric_activations: true\n  weights: {per_channel: false}\n"),
    "float": ("generic-int8", 'layers:\n  - match: "*"\n    keep: float\n'),
    "tflite": ("tflite", ""),
    "ort": ("ort", ""),
}
for wish, (target, recipe) in WISHES.items():
    for network in (maps, tokens, islands):
        @case(f"wishes/{wish}/{network.__name__}", db=18)
        def _(target=target, recipe=recipe, network=network):
            m = Model()
            m.target, m.recipe = target, recipe
            return network(m)
