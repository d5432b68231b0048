"""What needs care on the way back to ONNX, and numbers at the edge of what integers hold."""
import numpy as np
from odd_model import SAMPLES, Model, case


def between_convolutions(m, x, *middle):
    """Conv, what `middle` adds to the value "a" as "b", Conv: quantized on both sides."""
    m.input("x", x)
    m.weights("w", 8, x[1], 3, 3)
    m.add("Conv", ["x", "w"], "a", pads=[1, 1, 1, 1])
    for add in middle:
        add(m)
    m.weights("v", 4, 8, 1, 1)
    m.add("Conv", ["b", "v"], "y")
    return m.output("y")


for mode in ("cubic", "linear", "nearest"):
    for coordinates in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"):
        for target in ("generic-int8", "ort"):

            @case(f"export/resize_{mode}_{coordinates}_{target}")
            def _(mode=mode, coordinates=coordinates, target=target):
                m = Model()
                m.target = target
                m.exact = target == "ort" and mode != "cubic"
                m.const("scales", [1, 1, 2, 1.5])
                return between_convolutions(m, [1, 3, 8, 8], lambda m: m.add("Resize", ["a", "", "scales"], "b", mode=mode, coordinate_transformation_mode=coordinates))


@case("export/resize_doubled")
def _():
    m = Model()
    m.target, m.exact = "ort", True  # every second row and column is a tie
    m.const("scales", [1, 1, 2, 2])
    return between_convolutions(m, [1, 3, 12, 10], lambda m: m.add("Resize", ["a", "", "scales"], "b", mode="linear"))


def pool_case(name, opset=13, pad=None, ort=True, qdq=True, **attributes):
    @case(f"export/average_pool_{name}")
    def _():
        m = Model(opset=opset)
        m.ort, m.qdq = ort, qdq
        before = []
        if pad:
            m.const("pads", pad, np.int64)
            before = [lambda m: m.add("Pad", ["a", "pads"], "p")]
        pool = lambda m: m.add("AveragePool", ["p" if pad else "a"], "b", **attributes)
        return between_convolutions(m, [1, 3, 9, 9], *before, pool)


# ONNX Runtime 1.20 merges the Pad of the model itself and then refuses the sum.
pool_case("behind_wide_pad", ort=False, pad=[0, 0, 2, 1, 0, 0, 3, 2], kernel_shape=[3, 3])
pool_case("behind_pad", pad=[0, 0, 1, 1, 0, 0, 1, 1], kernel_shape=[3, 3], count_include_pad=1)
pool_case("with_pads_behind_pad", ort=False, pad=[0, 0, 2, 2, 0, 0, 2, 2], kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1)
# ONNX Runtime 1.20 fuses them into an operator that has no dilations.
pool_case("dilated", opset=19, qdq=False, kernel_shape=[3, 3], dilations=[2, 2])
pool_case("dilated_ceil", opset=19, ort=False, qdq=False, kernel_shape=[3, 3], dilations=[2, 2], strides=[2, 2], pads=[1, 1, 1, 1], ceil_mode=1)


@case("export/layer_normalization")
def _():
    m = Model(opset=17)
    m.input("x", [4, 16])
    m.weights("w", 16, 16)
    m.add("MatMul", ["x", "w"], "a")
    m.const("s", m.rng.uniform(0.5, 1.5, 16)), m.const("t", m.rng.normal(size=16))
    m.add("LayerNormalization", ["a", "s", "t"], "n")
    m.weights("v", 16, 8)
    m.add("MatMul", ["n", "v"], "y")
    return m.output("y")


def decomposed_normalization(m, x, width, folded):
    """As exporters wrote it before operator set 17; `folded`: mean and deviation as scale and shift of x."""
    m.const("s", m.rng.uniform(0.5, 1.5, width)), m.const("t", m.rng.normal(size=width)), m.const("epsilon", 1e-5)
    m.add("ReduceMean", [x], "mean", axes=[-1])
    m.add("Sub", [x, "mean"], "centred")
    m.add("Mul", ["centred", "centred"], "square")
    m.add("ReduceMean", ["square"], "variance", axes=[-1])
    m.add("Add", ["variance", "epsilon"], "positive")
    m.add("Sqrt", ["positive"], "deviation")
    if folded:
        m.add("Reciprocal", ["deviation"], "inverse"), m.add("Mul", ["inverse", "s"], "factor")
        m.add("Mul", ["mean", "factor"], "offset"), m.add("Sub", ["t", "offset"], "shift")
        m.add("Mul", [x, "factor"], "scaled")
        return m.add("Add", ["scaled", "shift"], "normal")
    m.add("Div", ["centred", "deviation"], "unit")
    m.add("Mul", ["unit", "s"], "scaled")
    return m.add("Add", ["scaled", "t"], "normal")


def rows_of_all_sizes(m, shape, axes):
    """Their squares differ by a factor of 400."""
    sizes = np.exp(m.rng.uniform(-1.5, 1.5, (SAMPLES, *[1 if i in axes else n for i, n in enumerate(shape)])))
    return (m.rng.normal(size=(SAMPLES, *shape)) * sizes).astype(np.float32)


for folded in (False, True):

    @case(f"export/layer_normalization_decomposed{'_and_folded' if folded else ''}", db=24)  # 10 dB piece by piece
    def _(folded=folded):
        m = Model()
        m.input("x", [5, 16], data=rows_of_all_sizes(m, [5, 16], (1,)))
        m.weights("w", 16, 32)
        m.add("MatMul", ["x", "w"], "a")
        decomposed_normalization(m, "a", 32, folded)
        m.weights("v", 32, 8)
        m.add("MatMul", ["normal", "v"], "y")
        return m.output("y")


@case("export/layer_normalization_of_channels", db=30)
def _():
    m = Model()
    m.input("x", [1, 3, 8, 8], data=rows_of_all_sizes(m, [1, 3, 8, 8], (0, 1)))
    m.weights("w", 16, 3, 3, 3)
    m.add("Conv", ["x", "w"], "a")
    m.add("Transpose", ["a"], "last", perm=[0, 2, 3, 1])
    decomposed_normalization(m, "last", 16, False)
    m.add("Transpose", ["normal"], "first", perm=[0, 3, 1, 2])
    m.weights("v", 4, 16, 1, 1)
    m.add("Conv", ["first", "v"], "y")
    return m.output("y")


for op in ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"):

    @case(f"export/{op}_of_no_axes")
    def _(op=op):
        m = Model(opset=18)
        m.input("x", [2, 3, 4])
        m.const("axes", [], np.int64)
        m.add(op, ["x", "axes"], "r", noop_with_empty_axes=1)
        m.add("Relu", ["r"], "y")
        return m.output("y")


for op, opset in {"HardSwish": 13, "Gelu": 19, "Mish": 17, "GreaterOrEqual": 11, "LayerNormalization": 16}.items():

    @case(f"export/{op}_before_its_time", refused=f"not supported in operator set {opset}")
    def _(op=op, opset=opset):
        m = Model(opset=opset)
        m.input("x", [2, 4])
        m.add(op, ["x", "x"] if op in ("GreaterOrEqual", "LayerNormalization") else ["x"], "y")
        return m.output("y")


# A channel whose weights are next to nothing and whose bias is not, as batch normalization leaves dead ones behind.
for target in ("generic-int8", "tflite", "ort"):
    for activations in ("int8", "int16"):
        for size in (1e-4, 1e-7, 1e-12, 1e-30):

            @case(f"dead_channel/{target}_{activations}_{size:g}", db=35.0)
            def _(target=target, activations=activations, size=size):
                m = Model()
                m.target, m.recipe = target, f"quantization: {{activations: {activations}}}"
                m.input("x", [1, 3, 8, 8])
                w = m.rng.normal(size=(4, 3, 3, 3)) * 0.3
                w[0] *= size
                m.const("w", w), m.const("c", [-0.5, 0.3, 2.0, -1.0])
                m.add("Conv", ["x", "w", "c"], "y")
                return m.output("y")


# Accumulators of 16-bit activations far beyond 32 bits.
for target in ("generic-int8", "tflite", "ort"):

    @case(f"wide_accumulator/{target}", db=45.0)
    def _(target=target):
        m = Model()
        m.target, m.recipe = target, "quantization: {activations: int16}"
        m.input("x", [2, 4096])
        m.const("w", np.abs(m.rng.normal(size=(4096, 4))))
        m.add("MatMul", ["x", "w"], "y")
        m.feeds["x"] = np.abs(m.feeds["x"])
        return m.output("y")


# Attention with a mask: what is masked must not cost the rest its resolution.
for name, mask in {"none": None, "1e2": -100.0, "1e4": -1e4, "65504": -65504.0, "1e9": -1e9, "lowest": float(np.finfo(np.float32).min), "inf": -np.inf}.items():
    for way in ("add", "where", "sliced"):
        for target in ("generic-int8", "tflite", "ort"):
            if mask is None and way != "add":
                continue

            @case(f"attention/{way}_{name}_{target}", db=26.0)
            def _(mask=mask, way=way, target=target):
                m = Model()
                m.target = target
                m.input("x", [1, 16, 32], low=-2, high=2)
                for key in "qkv":
                    m.weights(f"{key}w", 32, 32)
                    m.add("MatMul", ["x", f"{key}w"], key)
                m.add("Transpose", ["k"], "kt", perm=[0, 2, 1]), m.add("MatMul", ["q", "kt"], "qk"), m.add("Mul", ["qk", m.const("r", 32**-0.5)], "s")
                later = np.triu(np.ones((16, 16)), 1) > 0
                if mask is None:
                    m.add("Identity", ["s"], "z")
                elif way == "add":
                    m.add("Add", ["s", m.const("mask", np.where(later, mask, 0))], "z")
                elif way == "where":
                    m.add("Where", [m.const("later", later[None], bool), m.const("far", mask), "s"], "z")
                else:
                    big = np.where(np.triu(np.ones((64, 64)), 1) > 0, mask, 0)
                    m.add("Slice", [m.const("mask", big), m.const("b", [0, 0], np.int64), m.const("e", [16, 16], np.int64)], "cut")
                    m.add("Add", ["s", "cut"], "z")
                m.add("Softmax", ["z"], "p", axis=-1), m.add("MatMul", ["p", "v"], "y")
                return m.output("y")


@case("attention/infinite_weights", refused="holds -inf")
def _():
    m = Model()
    m.input("x", [2, 4])
    m.const("w", [[1, -np.inf], [0, 1], [1, 1], [2, 0]]), m.add("MatMul", ["x", "w"], "y")
    return m.output("y")


@case("attention/infinite_offset", db=None, finite=False)
def _():
    m = Model()
    m.input("x", [2, 4])
    m.weights("w", 4, 4), m.add("MatMul", ["x", "w"], "a"), m.add("Add", ["a", m.const("c", [0, -np.inf, 1, 2])], "y")
    m.qdq = False
    return m.output("y")


@case("attention/nan_mask", refused="holds nan")
def _():
    m = Model()
    m.input("x", [2, 4])
    m.add("Add", ["x", m.const("c", [0, np.nan, 1, 2])], "y")
    return m.output("y")
