"""ONNX Runtime's float time beside narrow's: one line per model.

    python3 bench/ort_compare.py build/bench/network_bench [--threads N] MODEL.onnx...

Both sides run in turn, several times; the fastest run of each counts. Needs the Python package onnxruntime.
"""
import argparse
import re
import subprocess
import sys
import time

try:
    import numpy
    import onnxruntime
except ImportError as missing:
    sys.exit(f"ort_compare.py needs numpy and onnxruntime: {missing}")


def ort_milliseconds(model, threads, seconds):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    rng = numpy.random.default_rng(1)
    feeds = {}
    for i in session.get_inputs():
        shape = [d if isinstance(d, int) else 1 for d in i.shape]
        feeds[i.name] = rng.uniform(-1, 1, shape).astype(numpy.float32)
    best = 1e9
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        session.run(None, feeds)
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def narrow_milliseconds(program, model, threads, seconds):
    out = subprocess.run([program, "--threads", str(threads), "--seconds", str(seconds), model], check=True, capture_output=True, text=True).stdout
    found = re.search(r"float\s+([\d.]+) ms\s+integer\s+([\d.]+) ms", out)
    return float(found[1]), float(found[2])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("models", nargs="+")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(f"| model ({args.threads} threads) | ONNX Runtime {onnxruntime.__version__} float | narrow float | narrow integer | float / ORT | narrow float / integer |")
    print("|---|---|---|---|---|---|")
    for model in args.models:
        ort, real, integer = 1e9, 1e9, 1e9
        for _ in range(args.rounds):
            ort = min(ort, ort_milliseconds(model, args.threads, args.seconds))
            measured = narrow_milliseconds(args.program, model, args.threads, args.seconds)
            real, integer = min(real, measured[0]), min(integer, measured[1])
        name = model.rsplit("/", 1)[-1].removesuffix(".onnx")
        print(f"| {name} | {ort:.2f} ms | {real:.2f} ms | {integer:.2f} ms | {real / ort:.2f} | {real / integer:.2f} |", flush=True)


if __name__ == "__main__":
    main()
