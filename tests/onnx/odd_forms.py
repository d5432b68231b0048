"""Every operator in the form that each operator set gives it."""
import numpy as np
from odd_model import Model, case


def unary(op, low=-2.0, high=2.0, first=7, **attributes):
    def build(opset):
        m = Model(opset, 7 if opset < 12 else 8)
        m.input("x", [1, 4, 6, 6], low, high)
        m.add(op, ["x"], "y", **attributes)
        return m.output("y")
    return first, build


def ints_form(op, key, values, limit, shape, first=7, **attributes):
    """An operator whose list of integers moved from an attribute to an input at operator set `limit`."""
    def build(opset):
        m = Model(opset)
        m.input("x", shape)
        if opset < limit:
            m.add(op, ["x"], "y", **{key: values}, **attributes)
        else:
            m.add(op, ["x", m.const("ints", values, np.int64)], "y", **attributes)
        return m.output("y")
    return first, build


def binary(op, first=7, low=-1.0, high=1.0):
    def build(opset):
        m = Model(opset)
        m.input("x", [1, 4, 6, 6], low, high)
        m.input("z", [4, 1, 1] if opset % 2 else [1, 4, 6, 6], 0.5, 1.5)
        m.add(op, ["x", "z"], "y")
        return m.output("y")
    return first, build


def pow_form(opset):
    m = Model(opset)
    m.input("x", [1, 8], 0.1, 2)
    m.add("Pow", ["x", m.const("p", 1.5)], "y")
    return m.output("y")


def pool(op, **attributes):
    def build(opset):
        m = Model(opset)
        m.input("x", [1, 3, 7, 7])
        extra = dict(attributes)
        if "ceil_mode" in extra and opset < 10:
            extra.pop("ceil_mode")
        m.add(op, ["x"], "y", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 0, 1, 0], **extra)
        return m.output("y")
    return 7, build


def clip_form(opset):
    m = Model(opset)
    m.input("x", [1, 4, 6, 6], -2, 2)
    if opset < 11:
        m.add("Clip", ["x"], "y", min=-0.5, max=1.0)
    else:
        m.add("Clip", ["x", m.const("lo", -0.5), m.const("hi", 1.0)], "y")
    return m.output("y")


def pad_form(opset):
    m = Model(opset)
    m.input("x", [1, 3, 6, 6])
    if opset < 11:
        m.add("Pad", ["x"], "y", pads=[0, 0, 1, 2, 0, 0, 0, 1], value=0.25)
    else:
        m.add("Pad", ["x", m.const("p", [0, 0, 1, 2, 0, 0, 0, 1], np.int64), m.const("v", 0.25)], "y")
    return m.output("y")


def slice_form(opset):
    m = Model(opset)
    m.input("x", [1, 3, 6, 6])
    if opset < 10:
        m.add("Slice", ["x"], "y", starts=[1, -4], ends=[100, -1], axes=[2, 3])
    else:
        m.add("Slice", ["x", m.const("s", [1, -1], np.int64), m.const("e", [100, -100], np.int64), m.const("a", [2, -1], np.int64), m.const("t", [2, -1], np.int64)], "y")
    return m.output("y")


def split_form(opset):
    m = Model(opset)
    m.input("x", [1, 6, 4, 4])
    if opset < 13:
        m.add("Split", ["x"], ["a", "b"], axis=1, split=[2, 4])
    else:
        m.add("Split", ["x", m.const("s", [2, 4], np.int64)], ["a", "b"], axis=1)
    return m.output("a", "b")


def resize_form(opset):
    m = Model(opset)
    m.input("x", [1, 3, 5, 5])
    scales = m.const("s", [1, 1, 2, 2])
    if opset < 9:
        m.initializers.pop()
        m.add("Upsample", ["x"], "y", mode="nearest", scales=[1.0, 1.0, 2.0, 2.0])
    elif opset < 10:
        m.add("Upsample", ["x", scales], "y", mode="nearest")
    elif opset < 11:
        m.add("Resize", ["x", scales], "y", mode="linear")
    else:
        m.add("Resize", ["x", m.const("roi", np.zeros(0)), scales], "y", mode="linear", coordinate_transformation_mode="half_pixel")
    return m.output("y")


def batch_norm(opset):
    m = Model(opset)
    m.input("x", [1, 4, 6, 6])
    m.const("s", [1, 2, 0.5, -1]), m.const("b", [0, 1, 0, -1]), m.const("m", [0.1, 0, -0.1, 0]), m.const("v", [1, 0.5, 2, 1])
    m.add("BatchNormalization", ["x", "s", "b", "m", "v"], "y", epsilon=1e-3, momentum=0.9)
    return m.output("y")


def gemm_form(opset):
    m = Model(opset)
    m.input("x", [1, 16])
    m.weights("w", 10, 16), m.const("b", np.arange(10) * 0.1)
    m.add("Gemm", ["x", "w", "b"], "y", transB=1, alpha=0.5, beta=2.0)
    return m.output("y")


def softmax_form(opset):
    m = Model(opset)
    m.input("x", [1, 3, 5], -3, 3)
    m.add("Softmax", ["x"], "y", axis=2)
    return m.output("y")


def dropout_form(opset):
    m = Model(opset)
    m.input("x", [1, 8])
    m.add("Dropout", ["x"], "y", **({"ratio": 0.5} if opset < 12 else {}))
    return m.output("y")


FORMS = {
    "Relu": unary("Relu"), "Sigmoid": unary("Sigmoid"), "Tanh": unary("Tanh"), "LeakyRelu": unary("LeakyRelu", alpha=0.1), "Elu": unary("Elu"),
    "Exp": unary("Exp"), "Log": unary("Log", 0.5, 4), "Sqrt": unary("Sqrt", 0.1, 4), "Neg": unary("Neg"), "Abs": unary("Abs"), "Floor": unary("Floor"),
    "Reciprocal": unary("Reciprocal", 0.5, 2), "Softplus": unary("Softplus"), "HardSigmoid": unary("HardSigmoid"), "Erf": unary("Erf", first=9), "Identity": unary("Identity"),
    "HardSwish": unary("HardSwish", first=14), "Gelu": unary("Gelu", first=20), "Mish": unary("Mish", first=18), "Flatten": unary("Flatten", axis=2), "Transpose": unary("Transpose", perm=[0, 2, 3, 1]),
    "GlobalAveragePool": unary("GlobalAveragePool"), "GlobalMaxPool": unary("GlobalMaxPool"), "SpaceToDepth": unary("SpaceToDepth", blocksize=2), "DepthToSpace": unary("DepthToSpace", blocksize=2),
    "Add": binary("Add"), "Sub": binary("Sub"), "Mul": binary("Mul"), "Div": binary("Div"), "Max": binary("Max", 8), "Min": binary("Min", 8), "Pow": (7, pow_form),
    "MaxPool": pool("MaxPool", ceil_mode=1), "AveragePool": pool("AveragePool", ceil_mode=0, count_include_pad=1), "Clip": (7, clip_form), "Pad": (7, pad_form), "Slice": (7, slice_form),
    "Split": (7, split_form), "Resize": (7, resize_form), "BatchNormalization": (7, batch_norm), "Gemm": (7, gemm_form), "Softmax": (7, softmax_form), "Dropout": (7, dropout_form),
    "Squeeze": ints_form("Squeeze", "axes", [0, 2], 13, [1, 6, 1, 5]), "Unsqueeze": ints_form("Unsqueeze", "axes", [0, 3], 13, [3, 4, 5]),
    "ReduceMean": ints_form("ReduceMean", "axes", [2, 3], 18, [1, 4, 6, 6], keepdims=0), "ReduceMax": ints_form("ReduceMax", "axes", [2], 18, [1, 4, 6, 6]), "ReduceMin": ints_form("ReduceMin", "axes", [-1], 18, [1, 4, 6, 6], keepdims=0), "ReduceSum": ints_form("ReduceSum", "axes", [1], 13, [1, 4, 6]), "Reshape": ints_form("Reshape", "shape", [0, -1], 1, [2, 3, 4]),
    "Tile": ints_form("Tile", "repeats", [1, 2, 1], 1, [1, 3, 4]), "Expand": ints_form("Expand", "shape", [2, 3, 4], 1, [1, 3, 1], first=8),
}
for form, (first_opset, make) in FORMS.items():
    low_db = {"Erf": 25, "Floor": 15}.get(form, 25)
    for opset in sorted({first_opset, 10, 11, 13, 18, 21}):
        if opset >= first_opset:
            case(f"form/{form}/{opset}", db=low_db)(lambda opset=opset, make=make: make(opset))
