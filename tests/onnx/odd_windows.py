"""Convolutions and pools at their edges."""
from odd_model import Model, case


def conv_case(name, x, w, db=25.0, bias=False, **attributes):
    @case(f"conv/{name}", db=db)
    def _():
        m = Model()
        m.input("x", x)
        m.weights("w", *w)
        if bias:
            m.const("b", m.rng.normal(size=w[0]))
        m.add("Conv", ["x", "w"] + (["b"] if bias else []), "y", **attributes)
        return m.output("y")


conv_case("one_pixel", [1, 16, 1, 1], (8, 16, 1, 1), bias=True)
conv_case("one_pixel_3x3", [1, 16, 1, 1], (8, 16, 3, 3), pads=[1, 1, 1, 1])
conv_case("one_channel", [1, 1, 5, 5], (1, 1, 3, 3))
conv_case("whole_map", [1, 3, 9, 9], (5, 3, 9, 9))
conv_case("very_large_kernel", [1, 2, 33, 33], (2, 2, 31, 31), pads=[15, 15, 15, 15])
conv_case("kernel_beyond_map", [1, 2, 5, 5], (2, 2, 9, 9), pads=[4, 4, 4, 4])
conv_case("1x7", [1, 4, 8, 8], (4, 4, 1, 7), pads=[0, 3, 0, 3])
conv_case("depthwise", [1, 8, 7, 7], (8, 1, 3, 3), group=8, pads=[1, 1, 1, 1])
conv_case("depthwise_5x5", [1, 33, 9, 9], (33, 1, 5, 5), group=33, pads=[2, 2, 2, 2], strides=[2, 2], bias=True)
conv_case("multiplier_2", [1, 8, 7, 7], (16, 1, 3, 3), group=8, pads=[1, 1, 1, 1], bias=True)
conv_case("multiplier_3_dilated", [1, 5, 9, 9], (15, 1, 3, 3), group=5, dilations=[2, 2])
conv_case("groups", [1, 12, 7, 7], (6, 4, 3, 3), group=3)
conv_case("groups_of_one_output", [1, 12, 7, 7], (3, 4, 3, 3), group=3)
conv_case("dilated", [1, 4, 11, 11], (4, 4, 3, 3), dilations=[3, 2], pads=[3, 2, 3, 2])
conv_case("asymmetric_pads", [1, 3, 7, 7], (4, 3, 3, 3), pads=[0, 2, 1, 0], strides=[2, 1], bias=True)
conv_case("pads_beyond_kernel", [1, 3, 4, 4], (4, 3, 3, 3), pads=[5, 5, 5, 5])
conv_case("stride_beyond_kernel", [1, 3, 9, 9], (4, 3, 2, 2), strides=[4, 4])
conv_case("same_upper", [1, 3, 8, 8], (4, 3, 3, 3), auto_pad="SAME_UPPER", strides=[2, 2])
conv_case("same_lower", [1, 3, 8, 8], (4, 3, 4, 4), auto_pad="SAME_LOWER")
conv_case("one_axis", [1, 6, 20], (8, 6, 5), pads=[2, 2], strides=[2], bias=True)
conv_case("one_axis_depthwise", [1, 6, 20], (6, 1, 3), group=6, dilations=[2])
conv_case("channels_1025", [1, 1025, 2, 2], (3, 1025, 1, 1))


@case("conv/three_axes", refused="spatial")
def _():
    m = Model()
    m.input("x", [1, 2, 4, 4, 4])
    m.weights("w", 2, 2, 3, 3, 3)
    m.add("Conv", ["x", "w"], "y")
    return m.output("y")


@case("conv/weights_of_input", refused="")
def _():
    m = Model()
    m.input("x", [1, 2, 4, 4]), m.input("w", [2, 2, 3, 3])
    m.add("Conv", ["x", "w"], "y")
    m.either = True
    return m.output("y")


@case("conv/wrong_channels", refused="channels")
def _():
    m = Model()
    m.input("x", [1, 3, 4, 4])
    m.weights("w", 2, 2, 3, 3)
    m.add("Conv", ["x", "w"], "y")
    return m.output("y")


@case("conv/kernel_does_not_fit", refused="fit")
def _():
    m = Model()
    m.input("x", [1, 3, 4, 4])
    m.weights("w", 2, 3, 9, 9)
    m.add("Conv", ["x", "w"], "y")
    return m.output("y")


@case("conv/contradicting_kernel_shape", refused="")
def _():
    m = Model()
    m.input("x", [1, 3, 8, 8])
    m.weights("w", 2, 3, 3, 3)
    m.add("Conv", ["x", "w"], "y", kernel_shape=[5, 5])
    m.ort = False
    return m.output("y")


def transpose_conv_case(name, x, w, **attributes):
    @case(f"conv_transpose/{name}")
    def _():
        m = Model()
        m.input("x", x)
        m.const("w", m.rng.normal(size=w) * 0.3), m.const("b", m.rng.normal(size=w[1] * attributes.get("group", 1)))
        m.add("ConvTranspose", ["x", "w", "b"], "y", **attributes)
        return m.output("y")


transpose_conv_case("plain", [1, 4, 5, 5], (4, 3, 2, 2), strides=[2, 2])
transpose_conv_case("groups", [1, 4, 5, 5], (4, 3, 3, 3), strides=[2, 2], group=2, pads=[1, 1, 1, 1], output_padding=[1, 1])
transpose_conv_case("dilated", [1, 4, 5, 5], (4, 3, 3, 3), dilations=[2, 2])
transpose_conv_case("depthwise", [1, 4, 5, 5], (4, 1, 4, 4), strides=[2, 2], group=4, pads=[1, 1, 1, 1])
transpose_conv_case("output_shape", [1, 4, 5, 5], (4, 3, 3, 3), strides=[2, 2], output_shape=[10, 10])
transpose_conv_case("same_upper", [1, 4, 5, 5], (4, 3, 3, 3), strides=[2, 2], auto_pad="SAME_UPPER")
transpose_conv_case("asymmetric", [1, 4, 5, 5], (4, 3, 3, 3), pads=[0, 1, 2, 0])
transpose_conv_case("one_axis", [1, 4, 5], (4, 3, 3), strides=[2])


def pool_case(name, op, x, ort=True, qdq=True, **attributes):
    @case(f"pool/{name}")
    def _():
        m = Model(19 if "dilations" in attributes else 13)
        m.ort, m.qdq = ort, ort and qdq
        m.input("x", x)
        m.add(op, ["x"], "y", **attributes)
        return m.output("y")


for op in ("MaxPool", "AveragePool"):
    pool_case(f"{op}/ceil", op, [1, 3, 8, 8], kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    pool_case(f"{op}/ceil_pads", op, [1, 3, 7, 7], kernel_shape=[3, 3], strides=[3, 3], ceil_mode=1, pads=[1, 1, 1, 1])
    # The last window would lie in the padding only: ONNX drops it, ONNX Runtime 1.20 keeps it.
    pool_case(f"{op}/ceil_last_window_outside", op, [1, 3, 5, 5], ort=False, kernel_shape=[2, 2], strides=[3, 3], ceil_mode=1, pads=[1, 1, 1, 1])
    pool_case(f"{op}/dilated", op, [1, 3, 8, 8], qdq=op == "MaxPool",  # ONNX Runtime 1.20 fuses the other and forgets the dilations
              kernel_shape=[3, 3], dilations=[2, 2])
    pool_case(f"{op}/one", op, [1, 3, 8, 8], kernel_shape=[1, 1])
    pool_case(f"{op}/whole", op, [1, 3, 8, 8], kernel_shape=[8, 8])
    pool_case(f"{op}/same_lower", op, [1, 3, 8, 8], kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_LOWER")
    pool_case(f"{op}/one_axis", op, [1, 3, 9], kernel_shape=[3], strides=[2])
    pool_case(f"{op}/wide", op, [1, 3, 4, 40], kernel_shape=[1, 13], pads=[0, 6, 0, 6])
# ONNX Runtime 1.20 divides by the whole window where it hangs over the padding.
pool_case("AveragePool/count_pads_ceil", "AveragePool", [1, 3, 8, 8], ort=False, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, pads=[1, 1, 1, 1], count_include_pad=1)
pool_case("MaxPool/negative_only", "MaxPool", [1, 3, 8, 8], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
