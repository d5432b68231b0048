#!/usr/bin/env python3
"""The recipes of examples/recipes feed what ../shared/MODELS.md says: `narrow run -c RECIPE` on files as users have them (pictures, .npy,
raw) must answer what ONNX Runtime answers on the same data prepared by numpy and Pillow. Where the data of a network are not
redistributable, files of the same form stand in for them. The anomaly score of a recording, and the area under its ROC curve,
must be those of ONNX Runtime's outputs.

usage: recipes.py NARROW_BINARY [RECIPE...]
"""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import agree
from agree import MODELS, SAMPLES, SHARED

RECIPES = Path(__file__).resolve().parents[2] / "examples/recipes"
DATA = SHARED / "data"
# recipe: (model, data as a user has them, or what makes them in a folder)
CASES = {
    "cifar10_resnet20": ("cifar10_resnet20", DATA / "cifar10/test1000_u8_nhwc.npy"),
    "fastestdet": ("FastestDet", DATA / "voc100/images"),
    "lenet": ("caffe_lenet_mnist", DATA / "mnist/test2000_u8.npy"),
    "mlperf_tiny_ad01": ("mlperf_tiny_ad01_autoencoder", "recordings"),
    "mlperf_tiny_ic01": ("mlperf_tiny_ic01_resnet8", DATA / "cifar10/test1000_u8_nhwc.npy"),
    "mlperf_tiny_kws01": ("mlperf_tiny_kws01_dscnn", DATA / "kws01/test_int8_nhwc.npy"),
    "mlperf_tiny_vww01": ("mlperf_tiny_vww01_mobilenetv1_025_96", "raw pictures"),
    "mnist_8": ("mnist_8_model", DATA / "mnist/test2000_u8.npy"),
    "mobilenet_v2": ("mobilenet_v2_1.0_224_dequant_float", DATA / "imagenet_sample"),
    "rfb320": ("version-RFB-320", DATA / "faces"),
    "tflm_mnist_lstm": ("tflm_mnist_lstm", DATA / "mnist/test2000_u8.npy"),
    "vit_ibp": ("vit_ibp_3_3_8", DATA / "cifar10/test1000_u8_nhwc.npy"),
    "yolox_nano": ("yolox_nano", DATA / "voc100/images"),
}
MODELS["caffe_lenet_mnist"] = lambda: agree.each(np.load(DATA / "mnist/test2000_u8.npy")[:SAMPLES, None].astype(np.float32) / 256)


def narrow(binary, *arguments):
    done = subprocess.run([binary, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"narrow {' '.join(map(str, arguments))}\n{done.stderr}")
    if "warning" in done.stderr:  # that the normalisation looks wrong, say
        sys.exit(f"unexpected: narrow {' '.join(map(str, arguments))}\n{done.stderr}")
    return done.stdout


def expected(model, feeds):
    session = agree.session_of(SHARED / f"models/{model}.onnx")
    name = session.get_inputs()[0].name
    rows = [session.run(None, {name: np.ascontiguousarray(x, np.float32)}) for x in feeds]
    return [np.stack([row[k] for row in rows]) for k in range(len(rows[0]))]


def worst_of(binary, model, recipe, data, feeds, folder):
    """Largest difference of the first len(feeds) samples, relative to the range of its output."""
    wanted = expected(model, feeds)
    narrow(binary, "run", SHARED / f"models/{model}.onnx", "-c", RECIPES / f"{recipe}.yaml", "--data", data, "--samples", len(feeds), "-q", "-o", folder / "out.npz")
    with np.load(folder / "out.npz") as file:
        found = [file[key] for key in file.files]
    return max(float(np.abs(f.reshape(w.shape) - w).max() / (w.max() - w.min())) for f, w in zip(found, wanted, strict=True))


def raw_pictures(folder):
    """Pictures of 96 x 96 as raw bytes, and what MODELS.md makes of them."""
    files = folder / "raw"
    files.mkdir()
    feeds = []
    for i, x in enumerate(agree.images("imagenet_sample", (96, 96), False)):
        (files / f"{i}.bin").write_bytes(x.astype(np.uint8).tobytes())
        feeds.append(x / np.float32(255))
    return files, feeds


def recordings(folder):
    """Spectrograms of 200 frames of 128 values: what the network rebuilds of smooth curves, more or less disturbed. Returns the folder,
    the windows of all recordings, and the labels."""
    files = folder / "recordings"
    files.mkdir()
    rng = np.random.default_rng(3)
    windows, labels = [], []
    for i in range(24):
        anomalous = i % 3 == 0
        frame = np.cumsum(rng.normal(0, 0.4, 128)) - 25
        frames = (frame + rng.normal(0, 2.0 + 1.0 * anomalous + rng.random() * 2, (200, 128))).astype(np.float32)
        (files / f"{i:02}.bin").write_bytes(frames.tobytes())
        labels.append(int(anomalous))
        windows.append(np.stack([frames[k : k + 5].ravel() for k in range(196)]))
    (folder / "labels.txt").write_text("".join(f"{i:02}.bin {label}\n" for i, label in enumerate(labels)))
    return files, windows, np.array(labels)


def area(scores, labels):
    normal, anomalous = scores[labels == 0], scores[labels == 1]
    return float(np.mean([(a > normal) + 0.5 * (a == normal) for a in anomalous]))


def check_area(binary, model, folder, files, windows, labels):
    """'' when narrow's areas, float and integer, are those of ONNX Runtime's outputs and of narrow's own integers."""
    path, recipe = SHARED / f"models/{model}.onnx", RECIPES / "mlperf_tiny_ad01.yaml"
    session = agree.session_of(path)
    errors = [np.mean((session.run(None, {session.get_inputs()[0].name: w})[0].astype(np.float64) - w) ** 2) for w in windows]
    wanted = area(np.array(errors), labels)
    narrow(binary, "compile", path, "-c", recipe, "--data", files, "-q", "-o", folder / "net")
    arguments = ["-c", recipe, "--data", files, "-q"]
    scores = json.loads(narrow(binary, "eval", path, folder / "net.narrow", *arguments, "--labels", folder / "labels.txt", "--json"))
    found = [network["AUC"] for network in scores["networks"]]
    narrow(binary, "run", folder / "net.narrow", *arguments, "-o", folder / "rebuilt.npy")
    rebuilt = np.load(folder / "rebuilt.npy").reshape(np.concatenate(windows).shape).astype(np.float64)
    means = np.mean((rebuilt - np.concatenate(windows)) ** 2, axis=1).reshape(len(windows), -1).mean(axis=1)
    print(f"{'mlperf_tiny_ad01, area':24} float {found[0]:.4f} (ONNX Runtime {wanted:.4f}), integer {found[1]:.4f} over {scores['samples']} windows")
    if scores["samples"] != 24 * 196 or not 0.55 < wanted < 0.99:
        return "the recordings do not tell"
    if abs(found[0] - wanted) > 1e-9 or abs(found[1] - area(means, labels)) > 1e-9:
        return f"areas {found}, wanted {wanted} and {area(means, labels)}"
    return ""


def main():
    if not SHARED.is_dir():
        print("skipped: no ../shared")
        return 77
    binary, names = sys.argv[1], sys.argv[2:] or sorted(CASES)
    problems = [f"no case for {path.name}" for path in RECIPES.glob("*.yaml") if path.stem not in CASES]
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for recipe in names:
            model, data = CASES[recipe]
            labels = None
            if data == "raw pictures":
                data, feeds = raw_pictures(folder)
            elif data == "recordings":
                data, windows, labels = recordings(folder)
                feeds = list(windows[0][:SAMPLES, None])
            else:
                feeds = list(MODELS[model]())
            worst = worst_of(binary, model, recipe, data, feeds, folder)
            print(f"{recipe:24} {worst:9.2e}", flush=True)
            if not worst <= agree.TOLERANCE:
                problems.append(f"{recipe} is off by {worst:.2g} of the output range")
            if labels is not None and (problem := check_area(binary, model, folder, data, windows, labels)):
                problems.append(problem)
    print("\n".join(problems) or f"{len(names)} recipes feed what they should")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
