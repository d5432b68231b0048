#!/usr/bin/env python3
"""Runs the real models of ../shared through ONNX Runtime and through our float executor, on real inputs preprocessed as
../shared/MODELS.md says, and compares: max |difference| <= 1e-4 of the range of each output. The graph after all passes, written as ONNX and run by ONNX
Runtime, must agree too. Prints what operators the passes left.

usage: agree.py FLOAT_OUTPUTS_BINARY [MODEL...]
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from PIL import Image

onnxruntime.set_default_logger_severity(3)
SHARED = Path(__file__).resolve().parents[3] / "shared"
TOLERANCE = 1e-4
SAMPLES = 4


def cifar(scale, mean, std, channels_first=True):
    x = np.load(SHARED / "data/cifar10/test1000_u8_nhwc.npy")[:SAMPLES].astype(np.float32)
    x = (x / scale - np.float32(mean)) / np.float32(std)
    return x.transpose(0, 3, 1, 2) if channels_first else x


def images(folder, size, channels_first, bgr=False, letterbox=False, crop=False):
    for path in sorted(p for p in (SHARED / "data" / folder).iterdir() if p.suffix.lower() in (".jpg", ".jpeg"))[:SAMPLES]:
        image = Image.open(path).convert("RGB")
        if crop:
            side = 0.875 * min(image.size)  # Pillow cuts at the nearest pixel edges
            left, top = (image.width - side) / 2, (image.height - side) / 2
            image = image.crop((left, top, left + side, top + side))
        if letterbox:
            ratio = min(size[0] / image.width, size[1] / image.height)
            image = image.resize((int(image.width * ratio), int(image.height * ratio)), Image.BILINEAR)
            x = np.full((size[1], size[0], 3), 114, np.uint8)
            x[: image.height, : image.width] = np.asarray(image)
        else:
            x = np.asarray(image.resize(size, Image.BILINEAR))
        x = x.astype(np.float32)
        if bgr:
            x = x[:, :, ::-1]
        yield (x.transpose(2, 0, 1) if channels_first else x)[None]


def each(batch):
    return (x[None] for x in batch)


def ad01():
    rng = np.random.default_rng(1)  # log-mel windows are not redistributable: smooth curves in their range
    return each(np.cumsum(rng.normal(0, 0.3, (SAMPLES, 640)), axis=1).astype(np.float32) - 20)


MODELS = {
    "mnist_8_model": lambda: each(np.load(SHARED / "data/mnist/test2000_u8.npy")[:SAMPLES, None].astype(np.float32)),
    "tflm_mnist_lstm": lambda: each(np.load(SHARED / "data/mnist/test2000_u8.npy")[:SAMPLES].astype(np.float32) / np.float32(255)),
    "cifar10_resnet20": lambda: each(cifar(255, [0.485, 0.456, 0.406], [0.229, 0.224, 0.225])),
    "mlperf_tiny_ic01_resnet8": lambda: each(cifar(1, 0, 1, channels_first=False)),
    "mlperf_tiny_kws01_dscnn": lambda: each((np.load(SHARED / "data/kws01/test_int8_nhwc.npy")[:SAMPLES].astype(np.float32) - 83) * np.float32(0.5847029)),
    "mlperf_tiny_vww01_mobilenetv1_025_96": lambda: (x / 255 for x in images("imagenet_sample", (96, 96), False)),
    "mlperf_tiny_ad01_autoencoder": ad01,
    "mobilenet_v2_1.0_224_dequant_float": lambda: ((x - 128) / 128 for x in images("imagenet_sample", (224, 224), False, crop=True)),
    "yolox_nano": lambda: images("voc100/images", (416, 416), True, bgr=True, letterbox=True),
    "FastestDet": lambda: (x / 255 for x in images("voc100/images", (352, 352), True, bgr=True)),
    "version-RFB-320": lambda: ((x - 127) / 128 for x in images("faces", (320, 240), True)),
    "vit_ibp_3_3_8": lambda: each(cifar(255, [0.4914, 0.4822, 0.4465], [0.2023, 0.1994, 0.2010])),
}


def session_of(path):
    # Without graph optimizations: version 1.20 merges the Pad of FastestDet into an AveragePool that then no longer counts
    # the padding, which changes its outputs by 0.48.
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def compare(binary, name, folder):
    """Largest difference relative to the range of its output, over all samples and outputs; and what the binary printed."""
    path = SHARED / "models" / f"{name}.onnx"
    session = session_of(path)
    again = None
    worst, printed = 0.0, ""
    for sample in MODELS[name]():
        sample = np.ascontiguousarray(sample, dtype=np.float32)
        expected = session.run(None, {session.get_inputs()[0].name: sample})
        (folder / "in.bin").write_bytes(sample.tobytes())
        run = subprocess.run([binary, path, folder, "--export", folder / "exported.onnx", folder / "in.bin"], capture_output=True, text=True)
        if run.returncode != 0:
            return float("inf"), run.stderr.strip()
        printed = run.stdout.strip()
        again = again or session_of(folder / "exported.onnx")
        exported = again.run(None, {session.get_inputs()[0].name: sample})
        for i, wanted in enumerate(expected):
            got = np.frombuffer((folder / f"{i}.bin").read_bytes(), np.float32)
            if got.size != wanted.size:
                return float("inf"), f"output {i} has {got.size} elements, wanted {wanted.size}"
            for values in (got, exported[i].ravel()):
                worst = max(worst, float(np.abs(values - wanted.ravel()).max() / (wanted.max() - wanted.min())))
    return worst, printed


def main():
    binary, names = sys.argv[1], sys.argv[2:] or list(MODELS)
    if not SHARED.is_dir():
        print("skipped: no ../shared")
        return 77
    failed = []
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            worst, printed = compare(binary, name, Path(folder))
            if not worst <= TOLERANCE:
                failed.append(name)
            print(f"{name:40} {worst:9.2e}  {printed}", flush=True)
    print(f"{len(names) - len(failed)} of {len(names)} models agree within {TOLERANCE} of the output range")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
