#!/usr/bin/env python3
"""Writes storage.onnx and storage.bin: one tensor, [0.5, -1.5, 2] (integers: [1, 0, 1]), in every form that ONNX can store it in. Committed;
run it only to change them (needs the Python package onnx)."""
from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).resolve().parent
REALS, INTEGERS = [0.5, -1.5, 2.0], [1, 0, 1]
tensors = []
for name in ["FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "INT8", "UINT8", "INT16", "UINT16", "INT32", "INT64", "UINT32", "UINT64", "BOOL"]:
    code = getattr(TensorProto, name)
    values = REALS if name in ("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16") else INTEGERS
    tensors.append(helper.make_tensor(f"{name}.typed", code, [3], values))
    if name == "BFLOAT16":
        raw = b"".join((np.float32(v).view(np.uint32) >> 16).astype(np.uint16).tobytes() for v in values)
    else:
        raw = np.array(values, helper.tensor_dtype_to_np_dtype(code)).tobytes()
    tensors.append(helper.make_tensor(f"{name}.raw", code, [3], raw, raw=True))
floats = np.array(REALS, np.float32).tobytes()
(HERE / "storage.bin").write_bytes(b"\0" * 5 + floats)
external = TensorProto(name="FLOAT.external", data_type=TensorProto.FLOAT, dims=[3], data_location=TensorProto.EXTERNAL)
for key, value in [("location", "storage.bin"), ("offset", "5"), ("length", str(len(floats)))]:
    entry = external.external_data.add()
    entry.key, entry.value = key, value
tensors.append(external)
graph = helper.make_graph([helper.make_node("Relu", ["FLOAT.raw"], ["y"])], "storage", [], [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3])], tensors)
model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], producer_name="test")
model.ir_version = 8
(HERE / "storage.onnx").write_bytes(model.SerializeToString())
