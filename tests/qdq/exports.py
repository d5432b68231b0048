#!/usr/bin/env python3
"""Every network that narrow knows, for every target that ships with it and with 8- and 16-bit activations: ONNX Runtime loads the exported QDQ
model and, on one sample, says what the integer network says (they may round differently, so: to a signal-to-noise ratio).

usage: exports.py QDQ_OUTPUTS_BINARY [MODEL...]
"""
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxruntime

onnxruntime.set_default_logger_severity(3)
PROJECT = Path(__file__).resolve().parents[2]
SHARED = PROJECT.parent / "shared"
TARGETS = ["generic-int8", "tflite", "ort"]
LEAST_DB = 10
NOISE = None  # no data that may be passed on: uniform noise

MODELS = {  # model: recipe, data
    "cifar10_resnet20": ("cifar10_resnet20", "cifar10/test1000_u8_nhwc.npy"),
    "mlperf_tiny_ic01_resnet8": ("mlperf_tiny_ic01", "cifar10/test1000_u8_nhwc.npy"),
    "mlperf_tiny_kws01_dscnn": ("mlperf_tiny_kws01", "kws01/test_int8_nhwc.npy"),
    "mlperf_tiny_vww01_mobilenetv1_025_96": ("mlperf_tiny_vww01", "voc100"),
    "mlperf_tiny_ad01_autoencoder": ("mlperf_tiny_ad01", NOISE),
    "mobilenet_v2_1.0_224_dequant_float": ("mobilenet_v2", "imagenet_calib"),
    "mnist_8_model": ("mnist_8", "mnist/test2000_u8.npy"),
    "vit_ibp_3_3_8": ("vit_ibp", "cifar10/test1000_u8_nhwc.npy"),
    "FastestDet": ("fastestdet", "imagenet_calib"),
    "yolox_nano": ("yolox_nano", "imagenet_calib"),
    "version-RFB-320": ("rfb320", "faces"),
}


def sqnr(reference, other):
    noise = np.sum((reference.astype(np.float64) - other) ** 2)
    return np.inf if noise == 0 else 10 * np.log10(np.sum(reference.astype(np.float64) ** 2) / noise)


def check(binary, name, target, activations):
    recipe, data = MODELS[name]
    model = SHARED / f"models/{name}.onnx"
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        (folder / "recipe.yaml").write_text((PROJECT / f"examples/recipes/{recipe}.yaml").read_text() + f"quantization:\n  activations: {activations}\n")
        source = SHARED / "data" / data if data else folder / "noise.npy"
        if data is NOISE:
            shape = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"]).get_inputs()[0].shape
            np.save(source, np.random.default_rng(1).uniform(-20, 20, [8] + [d if isinstance(d, int) else 1 for d in shape[1:]]).astype(np.float32))
        done = subprocess.run([binary, model, folder / "recipe.yaml", target, source, "4", "1", folder], capture_output=True, text=True, cwd=PROJECT)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        session = onnxruntime.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])
        found = session.run(None, {session.get_inputs()[0].name: np.load(folder / "input_0.npy")})
        return min(sqnr(np.load(folder / f"integer_0_{k}.npy").ravel(), real.ravel()) for k, real in enumerate(found))


def main():
    binary = str(Path(sys.argv[1]).resolve())
    if not SHARED.is_dir():
        print("skipped: no ../shared")
        return 77
    jobs = [(name, target, activations) for name in sys.argv[2:] or MODELS for target in TARGETS for activations in {"generic-int8": ["int8", "int16"], "tflite": ["int8"], "ort": ["uint8"]}[target]]

    def one(job):
        try:
            return check(binary, *job), ""
        except Exception as problem:  # whatever ONNX Runtime or narrow says
            return -np.inf, str(problem)[:300]

    failed = 0
    with ThreadPoolExecutor(2) as pool:
        for job, (db, problem) in zip(jobs, pool.map(one, jobs)):
            good = db >= LEAST_DB
            failed += not good
            print(f"{job[0]:38} {job[1]:13} {job[2]:5} {'ok  ' if good else 'FAIL'} {db:6.1f} dB {problem}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
