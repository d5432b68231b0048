#!/usr/bin/env python3
"""The recipes of examples/recipes feed what ../shared/MODELS.md says: `narrow run -c RECIPE` on files as users have them (pictures, .npy,
raw) must answer what ONNX Runtime answers on the same data prepared by numpy and Pillow. Where the data of a network are not
redistributable, files of the same form stand in for them. The anomaly score of a recording, and the area under its ROC curve,
must be those of ONNX Runtime's outputs; rendered lines of text must be read, and files be told apart, as by ONNX Runtime.

usage: recipes.py NARROW_BINARY [RECIPE...]
"""
import json
import random
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

import agree
from agree import MODELS, SAMPLES, SHARED

RECIPES = Path(__file__).resolve().parents[2] / "examples/recipes"
DATA = SHARED / "data"
# recipe: (model, data as a user has them, or what makes them in a folder)
CASES = {
    "cifar10_resnet20": ("cifar10_resnet20", DATA / "cifar10/test1000_u8_nhwc.npy"),
    "fastestdet": ("FastestDet", DATA / "voc100/images"),
    "lenet": ("caffe_lenet_mnist", DATA / "mnist/test2000_u8.npy"),
    "magika": ("magika_standard_v3_3", "bytes of files"),
    "mlperf_tiny_ad01": ("mlperf_tiny_ad01_autoencoder", "recordings"),
    "mlperf_tiny_ic01": ("mlperf_tiny_ic01_resnet8", DATA / "cifar10/test1000_u8_nhwc.npy"),
    "mlperf_tiny_kws01": ("mlperf_tiny_kws01_dscnn", DATA / "kws01/test_int8_nhwc.npy"),
    "mlperf_tiny_vww01": ("mlperf_tiny_vww01_mobilenetv1_025_96", "raw pictures"),
    "mnist_8": ("mnist_8_model", DATA / "mnist/test2000_u8.npy"),
    "mobilenet_v2": ("mobilenet_v2_1.0_224_dequant_float", DATA / "imagenet_sample"),
    "ppocr_rec": ("ch_PP-OCRv4_rec_infer", "lines of text"),
    "rfb320": ("version-RFB-320", DATA / "faces"),
    "tflm_mnist_lstm": ("tflm_mnist_lstm", DATA / "mnist/test2000_u8.npy"),
    "vit_ibp": ("vit_ibp_3_3_8", DATA / "cifar10/test1000_u8_nhwc.npy"),
    "yolox_nano": ("yolox_nano", DATA / "voc100/images"),
}
SHAPES = {"ch_PP-OCRv4_rec_infer": ["--input-shape", "x=1x3x48x320"], "magika_standard_v3_3": ["--input-shape", "bytes=1x2048"]}
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
    rows = [session.run(None, {name: np.ascontiguousarray(x, x.dtype if x.dtype == np.int32 else np.float32)}) for x in feeds]
    return [np.stack([row[k] for row in rows]) for k in range(len(rows[0]))]


def worst_of(binary, model, recipe, data, feeds, folder):
    """Largest difference of the first len(feeds) samples, relative to the range of its output."""
    wanted = expected(model, feeds)
    narrow(binary, "run", SHARED / f"models/{model}.onnx", "-c", RECIPES / f"{recipe}.yaml", "--data", data, *SHAPES.get(model, []), "--samples", len(feeds), "-q", "-o", folder / "out.npz")
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


WORDS = ("river stone 2024 window total amount paper Monday light 37.50 garden bridge Order No. 118 invoice green market station north 19:45 "
         "machine letter cloud paint Board week 8080 integer layer scale network").split()


def text_lines(folder):
    """200 lines of one to three words. Returns the folder, what MODELS.md makes of the lines, and the texts."""
    files = folder / "lines"
    files.mkdir()
    pick, font = random.Random(2), ImageFont.load_default(30)
    feeds, texts = [], []
    while len(texts) < 200:
        text = " ".join(pick.choice(WORDS) for _ in range(pick.randint(1, 3)))
        width = int(font.getlength(text)) + 16
        if width > 320:
            continue
        line = Image.new("RGB", (width, 48), "white")
        ImageDraw.Draw(line).text((8, 8), text, font=font, fill="black")
        line.save(files / f"{len(texts):03}.png")
        canvas = np.full((48, 320, 3), 127, np.uint8)
        canvas[:, :width] = np.asarray(line)
        feeds.append(((canvas[..., ::-1] / np.float32(255) - np.float32(0.5)) / np.float32(0.5)).transpose(2, 0, 1)[None])
        texts.append(text)
    (folder / "texts.txt").write_text("".join(f"{i:03}.png\t{text}\n" for i, text in enumerate(texts)))
    return files, feeds, texts


def check_reading(binary, model, folder, files, feeds, texts):
    """'' when narrow in float reads every line, as ONNX Runtime does, and counts what the integers read."""
    path, recipe, keys = SHARED / f"models/{model}.onnx", RECIPES / "ppocr_rec.yaml", SHARED / "models/ppocr_keys_v1.txt"
    alphabet = ["", *keys.read_text(encoding="utf-8").split("\n"), " "]

    def read(scores):
        best = scores.argmax(-1)
        return "".join(alphabet[c] for k, c in enumerate(best) if c and (k == 0 or c != best[k - 1])).strip()

    reference = [read(row) for row in expected(model, feeds)[0].reshape(len(feeds), -1, len(alphabet))]
    narrow(binary, "compile", path, "-c", recipe, *SHAPES[model], "--data", files, "--samples", 32, "-q", "-o", folder / "reader")
    arguments = ["-c", recipe, "--data", files, "-q"]  # the artifact says what the model leaves open
    scores = json.loads(narrow(binary, "eval", path, folder / "reader.narrow", *arguments, "--dictionary", keys, "--labels", folder / "texts.txt", "--json"))
    found = [network["lines"] for network in scores["networks"]]
    narrow(binary, "run", folder / "reader.narrow", *arguments, "-o", folder / "read.npy")
    integer = [read(row) for row in np.load(folder / "read.npy").reshape(len(feeds), -1, len(alphabet))]
    share = lambda answers: 100 * float(np.mean([a == b for a, b in zip(answers, texts, strict=True)]))
    print(f"{'ppocr_rec, lines':24} float {found[0]:.1f} % (ONNX Runtime {share(reference):.1f}), integer {found[1]:.1f} % of {scores['samples']}")
    wanted = [share(reference), share(integer)]
    return "" if np.allclose(found, wanted, 0, 1e-9) and found[0] == 100 else f"lines read {found}, wanted {wanted}"


def file_bytes(folder):
    """The 129 files of this project and ../shared that come first, as Magika wants them. Returns the array's path and its rows."""
    rows = []
    places = [RECIPES.parents[1] / name for name in ("src", "tests", "docs", "bench", "tools", "examples")] + [SHARED / "models", SHARED / "specs", DATA / "faces", DATA / "voc100"]
    groups = [[p for p in sorted(place.rglob("*")) if p.is_file() and p.stat().st_size >= 64 and "__pycache__" not in p.parts][:20] for place in places]
    for path in [p for group in groups for p in group][:129]:
        content = path.read_bytes()
        head, tail = content[:4096].lstrip()[:1024], content[-4096:].rstrip()[-1024:]
        rows.append([*head, *[256] * (1024 - len(head)), *[256] * (1024 - len(tail)), *tail])
    np.save(folder / "bytes.npy", np.array(rows, np.int32))
    return folder / "bytes.npy", list(np.array(rows, np.int32)[:, None])


def check_kinds(binary, model, folder, data, feeds):
    """'' when narrow in float gives every file the label that ONNX Runtime gives."""
    labels = expected(model, feeds)[0].reshape(len(feeds), -1).argmax(1)
    np.save(folder / "kinds.npy", labels)
    scores = json.loads(narrow(binary, "eval", SHARED / f"models/{model}.onnx", *SHAPES[model], "-c", RECIPES / "magika.yaml", "--data", data, "-q", "--labels", folder / "kinds.npy", "--json"))
    print(f"{'magika, labels':24} float {scores['networks'][0]['top-1']:.1f} % of {scores['samples']}, {len(set(labels))} kinds")
    return "" if len(set(labels)) > 4 and scores["samples"] == 129 and scores["networks"][0]["top-1"] == 100 else f"labels agree on {scores['networks'][0]['top-1']} %"


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
            check = None
            if data == "raw pictures":
                data, feeds = raw_pictures(folder)
            elif data == "recordings":
                data, windows, labels = recordings(folder)
                feeds = list(windows[0][:SAMPLES, None])
                check = partial(check_area, binary, model, folder, data, windows, labels)
            elif data == "lines of text":
                data, feeds, texts = text_lines(folder)
                check = partial(check_reading, binary, model, folder, data, feeds, texts)
            elif data == "bytes of files":
                data, feeds = file_bytes(folder)
                check = partial(check_kinds, binary, model, folder, data, feeds)
            else:
                feeds = list(MODELS[model]())
            worst = worst_of(binary, model, recipe, data, feeds[:SAMPLES], folder)
            print(f"{recipe:24} {worst:9.2e}", flush=True)
            if not worst <= agree.TOLERANCE:
                problems.append(f"{recipe} is off by {worst:.2g} of the output range")
            if check is not None and (problem := check()):
                problems.append(problem)
    print("\n".join(problems) or f"{len(names)} recipes feed what they should")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
