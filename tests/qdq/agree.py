#!/usr/bin/env python3
"""Quantizes real models with the `ort` target and compares our integer outputs with ONNX Runtime's on the exported QDQ model:
equal on at least 99.5 % of the output elements and within one step on the rest. The last column is our own float executor on
the same QDQ graph (fake quantization).

usage: agree.py QDQ_OUTPUTS_BINARY [--values] [MODEL...]
--values prints, layer by layer, how often integers and fake quantization differ on one sample.
"""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

onnxruntime.set_default_logger_severity(3)
PROJECT = Path(__file__).resolve().parents[2]
SHARED = PROJECT.parent / "shared"
EQUAL = 0.995
CALIBRATION = 16

MODELS = {  # model: recipe, data, samples
    "cifar10_resnet20": ("cifar10_resnet20", "cifar10/test1000_u8_nhwc.npy", 100),
    "mlperf_tiny_ic01_resnet8": ("mlperf_tiny_ic01", "cifar10/test1000_u8_nhwc.npy", 100),
    "mlperf_tiny_kws01_dscnn": ("mlperf_tiny_kws01", "kws01/test_int8_nhwc.npy", 100),
    "mobilenet_v2_1.0_224_dequant_float": ("mobilenet_v2", "imagenet_calib", 32),
    "mnist_8_model": ("mnist_8", "mnist/test2000_u8.npy", 100),
    "vit_ibp_3_3_8": ("vit_ibp", "cifar10/test1000_u8_nhwc.npy", 50),
    "FastestDet": ("fastestdet", "imagenet_calib", 4),
    "yolox_nano": ("yolox_nano", "imagenet_calib", 2),
    "version-RFB-320": ("rfb320", "imagenet_calib", 4),
}


def differences(a, b, scale):
    """In steps of the output's grid; real outputs are measured in 255ths of their range."""
    scale = scale or (b.max() - b.min()) / 255
    steps = np.abs(a.astype(np.float64) - b) / scale
    return np.rint(steps).astype(np.int64).ravel()


def compare(binary, name, folder, values):
    recipe, data, samples = MODELS[name]
    command = [binary, SHARED / f"models/{name}.onnx", PROJECT / f"examples/recipes/{recipe}.yaml", "ort", SHARED / "data" / data, str(CALIBRATION), str(samples), folder]
    run = subprocess.run(command + (["--values=0"] if values else []), capture_output=True, text=True, cwd=PROJECT,
                         env={**os.environ, "OMP_WAIT_POLICY": "passive"})  # tests may run side by side
    if run.returncode != 0:
        return run.stderr.strip(), False
    lines = [line.split(" ") for line in run.stdout.splitlines()]
    scales = [float(words[2]) for words in lines if words[0] == "output"]
    session = onnxruntime.InferenceSession(str(folder / "model.onnx"), providers=["CPUExecutionProvider"])
    ours, fake = [], []
    for n in range(samples):
        expected = session.run(None, {session.get_inputs()[0].name: np.load(folder / f"input_{n}.npy")})
        for k, wanted in enumerate(expected):
            ours.append(differences(np.load(folder / f"integer_{n}_{k}.npy"), wanted, scales[k]))
            fake.append(differences(np.load(folder / f"fake_{n}_{k}.npy"), wanted, scales[k]))
    ours, fake = np.concatenate(ours), np.concatenate(fake)
    for words in lines:
        if words[0] == "value":
            d = differences(np.load(folder / f"{words[1]}.npy"), np.load(folder / f"{words[1]}.fake.npy"), float(words[3]))
            print(f"  {words[4]:20} {words[2]:40} {np.count_nonzero(d) / d.size:9.5f} differ, most by {d.max()}")
    equal = np.count_nonzero(ours == 0) / ours.size
    good = equal >= EQUAL and ours.max() <= 1
    return f"{ours.size:7} elements  equal {equal:8.4%}  most {ours.max()} steps   fake: equal {np.count_nonzero(fake == 0) / fake.size:8.4%}  most {fake.max()}", good


def main():
    binary, words = sys.argv[1], sys.argv[2:]
    names = [w for w in words if w != "--values"] or list(MODELS)
    if not SHARED.is_dir():
        print("skipped: no ../shared")
        return 77
    failed = 0
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            text, good = compare(binary, name, Path(folder), "--values" in words)
        failed += not good
        print(f"{name:36} {'ok  ' if good else 'FAIL'} {text}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
