"""Gemm and MatMul at their edges."""
import numpy as np
from odd_model import Model, case


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
