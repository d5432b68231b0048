#!/usr/bin/env python3
"""Operator conformance: every one-operator case of ONNX's own suite that we import must give ONNX's expected outputs.

usage: conformance.py FLOAT_OUTPUTS_BINARY [--list]      (--list also prints what was refused, and why)

Cases that the importer refuses with a message are counted, not failed; a crash or a wrong value fails. Model versions newer
than ours are lowered to opset 21 / IR 10, which changes the meaning of none of these operators. Parameters that we want as
constants (shapes, axes, scales) are turned from graph inputs into initializers.
"""
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

ARCHIVE = Path(__file__).resolve().parents[3] / "shared/data/onnx_conformance_1.22.tar.xz"
AT_LEAST = 355  # cases that pass; fewer means that an operator was lost
SKIP = {
    "test_cast_FLOAT_to_BFLOAT16": "half-precision types are computed in f32",
    "test_castlike_FLOAT_to_BFLOAT16_expanded": "half-precision types are computed in f32",
}


def tensors(folder, prefix):
    out = []
    while (path := folder / f"{prefix}_{len(out)}.pb").exists():
        tensor = onnx.TensorProto()
        tensor.ParseFromString(path.read_bytes())
        out.append(tensor)
    return out


def stored(array):
    """As our graphs hold it: half precision as f32, unsigned 32 and 64 bits as i64."""
    if array.dtype == np.float16:
        return array.astype(np.float32)
    return array.astype(np.int64) if array.dtype in (np.uint32, np.uint64) else array


def run(binary, model, inputs, computed, work):
    """Feeds the first `computed` inputs; the others become initializers. Returns the finished process."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.ir_version = min(copy.ir_version, 10)
    for opset in copy.opset_import:
        if opset.domain == "":
            opset.version = min(max(opset.version, 7), 21)
    values = list(model.graph.input)
    del copy.graph.input[:]
    copy.graph.input.extend(values[:computed])
    for value, tensor in zip(values[computed:], inputs[computed:]):
        constant = copy.graph.initializer.add()
        constant.CopyFrom(tensor)
        constant.name = value.name
    onnx.save(copy, work / "model.onnx")
    files = []
    for i, tensor in enumerate(inputs[:computed]):
        files.append(work / f"input{i}.bin")
        files[-1].write_bytes(stored(numpy_helper.to_array(tensor)).tobytes())
    return subprocess.run([binary, work / "model.onnx", work, *files], capture_output=True, text=True)


def check(binary, folder, work):
    """'' when all is well, 'refused: WHY', or what is wrong."""
    model = onnx.load(folder / "model.onnx")
    data = folder / "test_data_set_0"
    try:
        inputs, outputs = tensors(data, "input"), [numpy_helper.to_array(t) for t in tensors(data, "output")]
        for tensor in inputs:
            numpy_helper.to_array(tensor)
    except Exception:  # sequences, optionals, types that this onnx package does not know
        return "refused: inputs or outputs are not tensors"
    done = None
    for computed in sorted({len(model.graph.input), min(1, len(inputs)), 0}, reverse=True):
        done = run(binary, model, inputs, computed, work)
        if done.returncode != 1:
            break
    if done.returncode == 1:
        return "refused: " + done.stderr.strip().splitlines()[0]
    if done.returncode != 0:
        return f"exit code {done.returncode}: {done.stderr.strip()[:200]}"
    for k, wanted in enumerate(outputs):
        found = np.frombuffer((work / f"{k}.bin").read_bytes(), stored(wanted).dtype)
        if found.size != wanted.size:
            return f"output {k} has {found.size} elements, wanted {wanted.size}"
        near = 1e-3 if wanted.dtype == np.float16 else 1e-5
        if not np.allclose(found.reshape(wanted.shape).astype(np.float64), wanted.astype(np.float64), rtol=1e-3, atol=near, equal_nan=True):
            return f"output {k} differs"
    return ""


def main():
    binary, listing = sys.argv[1], "--list" in sys.argv
    if not ARCHIVE.exists():
        print("skipped: no ../shared")
        sys.exit(77)
    passed, refused, failed = 0, 0, []
    with tempfile.TemporaryDirectory() as place:
        with tarfile.open(ARCHIVE) as archive:
            archive.extractall(place)
        work = Path(place) / "work"
        work.mkdir()
        for folder in sorted(p.parent for p in Path(place).glob("node/*/model.onnx")):
            if folder.name in SKIP or len(onnx.load(folder / "model.onnx").graph.node) != 1:
                continue
            verdict = check(binary, folder, work)
            if verdict == "":
                passed += 1
            elif verdict.startswith("refused"):
                refused += 1
                if listing:
                    print(f"{folder.name}: {verdict}")
            else:
                failed.append(f"{folder.name}: {verdict}")
    print(f"{passed} passed, {refused} refused, {len(failed)} wrong, {len(SKIP)} skipped")
    for line in failed:
        print(line)
    sys.exit(0 if not failed and passed >= AT_LEAST else 1)


if __name__ == "__main__":
    main()
