#!/usr/bin/env python3
"""Writes the damaged and impossible models of this folder (needs the Python package onnx). They are committed; run it only to
change them."""
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent


def model(nodes, initializers=(), inputs=(("x", [1, 4]),), output="y", opset=13, ir=8):
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in inputs],
        [helper.make_tensor_value_info(output, TensorProto.FLOAT, None)],
        list(initializers),
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], producer_name="test")
    made.ir_version = ir
    return made.SerializeToString()


def node(op, inputs, output, name="", **attributes):
    return helper.make_node(op, inputs, [output], name=name, **attributes)


def write(name, data):
    (HERE / f"{name}.onnx").write_bytes(data)


def external(location):
    tensor = numpy_helper.from_array(np.ones((4,), np.float32), "w")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", location
    return tensor


good = model([node("Add", ["x", "w"], "h", "sum"), node("Relu", ["h"], "y", "act")], [numpy_helper.from_array(np.arange(4, dtype=np.float32), "w")])
write("truncated", good[: len(good) - 40])
write("not_protobuf", b"This is a plain text file, not a network.\n")
write("missing_external_data", model([node("Add", ["x", "w"], "y", "sum")], [external("weights.bin")]))
write("external_data_outside", model([node("Add", ["x", "w"], "y", "sum")], [external("../weights.bin")]))
write("unknown_operators", model([node("Relu", ["x"], "a", "act"), node("Fourier", ["a"], "b", "f"), node("Relu", ["b"], "c"), helper.make_node("Magic", ["c"], ["y"], domain="com.example")]))
write("cycle", model([node("Add", ["x", "c"], "a", "first"), node("Relu", ["a"], "b", "second"), node("Relu", ["b"], "c", "third"), node("Relu", ["c"], "y", "last")]))
write("nan_weights", model([node("Add", ["x", "w"], "y", "sum")], [numpy_helper.from_array(np.array([0, 1, np.nan, 3], np.float32), "w")]))
write("wrong_shapes", model([node("Add", ["x", "w"], "y", "sum")], [numpy_helper.from_array(np.zeros(3, np.float32), "w")]))
write("old_opset", model([node("Relu", ["x"], "y")], opset=6))
write("dynamic_extent", model([node("Relu", ["x"], "y")], inputs=[("x", ["batch", 3, "height", "width"])]))
write("string_weights", model([node("Identity", ["w"], "y", "copy")], [helper.make_tensor("w", TensorProto.STRING, [1], [b"text"])], inputs=()))
write("several_causes", model([
    node("Conv", ["x", "w"], "a", "wrong_rank"),
    node("Relu", ["a"], "b", "innocent"),
    node("Reshape", ["x", "s"], "c", "does_not_fit"),
    node("Add", ["b", "c"], "y", "innocent_too"),
], [numpy_helper.from_array(np.zeros((2, 3), np.float32), "w"), numpy_helper.from_array(np.array([5], np.int64), "s")]))
