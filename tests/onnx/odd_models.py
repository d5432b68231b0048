#!/usr/bin/env python3
"""Models that are legal but odd. Each must compile and agree with ONNX Runtime, or be refused with one clear error.

usage: odd_models.py NARROW_BINARY [PATTERN] [--keep FOLDER] [--verbose]

For every case: the float outputs are ONNX Runtime's to 1e-4 of their range; the integer network is no further than `db` from
them; the QDQ model loads in ONNX Runtime and says what the integer network says, to the bit where the case wants that. A
refusal must be exit code 1 with one message that holds the words that the case names.
"""
import argparse
import fnmatch
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import onnxruntime

import odd_exports  # noqa: F401 (each fills CASES)
import odd_files  # noqa: F401
import odd_forms  # noqa: F401
import odd_functions  # noqa: F401
import odd_graphs  # noqa: F401
import odd_matrices  # noqa: F401
import odd_operators  # noqa: F401
import odd_recurrent  # noqa: F401
import odd_windows  # noqa: F401
import odd_wishes  # noqa: F401
from odd_model import CASES, SAMPLES


def sqnr(reference, other):
    reference, other = np.nan_to_num(reference), np.nan_to_num(other)
    noise = np.sum((reference.astype(np.float64) - other) ** 2)
    signal = np.sum(reference.astype(np.float64) ** 2)
    return np.inf if noise == 0 else 10 * np.log10(signal / noise) if signal > 0 else -np.inf


def narrow(binary, arguments, folder):
    return subprocess.run([binary, *arguments], cwd=folder, capture_output=True, timeout=120)


def well_formed_error(done):
    """One message: a line `error: ...`, notes, one help."""
    lines = done.stderr.decode(errors="replace").splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    return done.returncode == 1 and len(errors) == 1 and not done.stdout


def session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def ort_outputs(path, feeds):
    """Per output, all samples stacked along a new first axis."""
    network = session(path)
    wanted = [value.name for value in network.get_inputs()]
    rows = [network.run(None, {name: np.asarray(feeds[name][i]) for name in wanted}) for i in range(SAMPLES)]
    return {value.name: np.stack([row[k] for row in rows]) for k, value in enumerate(network.get_outputs())}


def load(path):
    with np.load(path) as file:
        return {name: file[name] for name in file.files}


def check(binary, name, spec, folder):
    """Returns (problem or None, remark)."""
    m = spec["build"]()
    proto = m.proto()
    if hasattr(m, "edit_proto"):
        m.edit_proto(proto)
    data = proto.SerializeToString()
    if hasattr(m, "edit"):
        data = m.edit(data)
    (folder / "m.onnx").write_bytes(data)
    arguments = []
    for number, (key, values) in enumerate(m.feeds.items()):
        np.save(folder / f"{number}.npy", values)
        arguments += ["--data", f"{key}={number}.npy" if len(m.feeds) > 1 or key == "x" else f"{number}.npy"]
    if not m.inputs:
        arguments = ["--data", "0.npy"]
    shapes, wishes = spec["options"], ["--target", m.target]
    if m.recipe:
        (folder / "wishes.yaml").write_text(m.recipe)
        wishes += ["-c", "wishes.yaml"]
    done = narrow(binary, ["compile", "m.onnx", *arguments, *shapes, *wishes, "-q", "-o", "out"], folder)
    text = done.stderr.decode(errors="replace").strip()
    if spec["refused"] is not None and done.returncode != 0:
        if not well_formed_error(done):
            return f"exit {done.returncode}, not one clear error: {text}", ""
        if spec["refused"] not in text:
            return f"the refusal does not speak of '{spec['refused']}': {text}", ""
        return None, text.splitlines()[0]
    if done.returncode != 0:
        return f"exit {done.returncode}: {text}", ""
    if spec["refused"] is not None and not getattr(m, "either", False):
        return "accepted, should have been refused", ""
    for network, output in (("m.onnx", "float.npz"), ("out.narrow", "int.npz")):
        done = narrow(binary, ["run", network, *arguments, *(shapes if network == "m.onnx" else []), "-q", "-o", output], folder)
        if done.returncode != 0:
            return f"run {network}: exit {done.returncode}: {done.stderr.decode(errors='replace').strip()}", ""
    real, integer = load(folder / "float.npz"), load(folder / "int.npz")
    if list(real) != list(integer):
        return f"outputs {list(real)} became {list(integer)}", ""
    ort = getattr(m, "ort", True)
    if ort:
        source = folder / "m.onnx"
        if ort == "sorted":
            proto.graph.node.sort(key=lambda node: [n.output[0] for n in reversed(proto.graph.node)].index(node.output[0]))
            source = folder / "sorted.onnx"
            onnx.save(proto, source)
        if ort == "unnamed":
            for node in proto.graph.node:
                node.ClearField("name")
            source = folder / "unnamed.onnx"
            onnx.save(proto, source)
        try:
            expected = ort_outputs(source, m.feeds)
        except Exception as problem:  # whatever ONNX Runtime says
            return f"ONNX Runtime refuses the model: {str(problem)[:300]}", ""
        if [v for v in expected] != list(real):
            return f"outputs {list(real)}, ONNX Runtime has {list(expected)}", ""
        for key, want in expected.items():
            if real[key].size != want.size:
                return f"float output '{key}' has shape {list(real[key].shape[1:])}, ONNX Runtime's {list(want.shape[1:])}", ""
            got = real[key].reshape(want.shape)
            if not spec["finite"]:
                got, want = np.nan_to_num(got), np.nan_to_num(want)
            span = max(float(np.ptp(want.astype(np.float64))), float(np.abs(want).max(initial=0)), 1e-37) if want.size else 1
            worst = np.abs(got.astype(np.float64) - want).max(initial=0) / span
            if not worst <= 1e-4:
                return f"float output '{key}' is off by {worst:.2g} of its range", ""
    remark = []
    for key, want in real.items():
        found = sqnr(want, integer[key]) if want.dtype.kind == "f" else (np.inf if np.array_equal(want, integer[key]) else -np.inf)
        remark.append(f"{found:.1f} dB")
        if spec["db"] is not None and not found >= spec["db"]:
            return f"integer output '{key}' is at {found:.1f} dB, wanted {spec['db']}", ""
        if spec["finite"] and not np.isfinite(np.asarray(integer[key], dtype=np.float64)).all():
            return f"integer output '{key}' holds NaN or Inf", ""
    if not getattr(m, "qdq", True):
        return None, ", ".join(remark)
    try:
        qdq = ort_outputs(folder / "out.qdq.onnx", m.feeds)
    except Exception as problem:  # whatever ONNX Runtime says
        return f"ONNX Runtime refuses the QDQ model: {str(problem)[:300]}", ""
    if list(qdq) != list(real):
        return f"QDQ outputs {list(qdq)}, wanted {list(real)}", ""
    for key, want in real.items():
        if want.dtype.kind == "f" and spec["db"] is not None:
            found = sqnr(want, qdq[key].reshape(want.shape))
            if found < spec["db"] - 3:
                return f"QDQ output '{key}' is at {found:.1f} dB", ""
        if getattr(m, "exact", False) and not np.array_equal(qdq[key].reshape(want.shape), integer[key].reshape(want.shape)):
            return f"QDQ output '{key}' differs in {np.mean(qdq[key].reshape(want.shape) != integer[key].reshape(want.shape)):.2%} of its elements", ""
    return None, ", ".join(remark)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("narrow"), parser.add_argument("pattern", nargs="?", default="*")
    parser.add_argument("--keep"), parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    binary = str(Path(options.narrow).resolve())
    names = [name for name in CASES if fnmatch.fnmatch(name, options.pattern)]
    failures = []

    def one(name):
        if options.keep:
            folder = Path(options.keep) / re.sub(r"\W", "_", name)
            folder.mkdir(parents=True, exist_ok=True)
            return name, check(binary, name, CASES[name], folder)
        with tempfile.TemporaryDirectory() as folder:
            return name, check(binary, name, CASES[name], Path(folder))

    with ThreadPoolExecutor(2) as pool:
        for name, (problem, remark) in pool.map(one, names):
            if problem:
                failures.append(name)
                print(f"FAIL {name}: {problem}", flush=True)
            elif options.verbose:
                print(f"ok   {name}: {remark}", flush=True)
    print(f"{len(names) - len(failures)} of {len(names)} odd models pass")
    return 1 if failures or not names else 0


if __name__ == "__main__":
    sys.exit(main())
