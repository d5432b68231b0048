#!/usr/bin/env python3
"""Accuracy of the sample networks, float beside integer, with default settings.

    bench/accuracy.py --narrow build/release/narrow --shared ../shared [--only resnet20] [--float] [--with "calibration: {method: kl}"] [--full FOLDER]

Compiles each network on at most 128 calibration samples, evaluates on samples that calibration did not see, and prints the
table of bench/RESULTS.md. --with adds lines to every recipe. With --full, CIFAR-10 and MNIST are the whole test sets that bench/full_sets.py has put into FOLDER. Exit code 1 when a
row misses its bound. Needs nothing but the Python standard library.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

# name, model, recipe, calibration data and options, evaluation data and options, labels, metric, float reference, lowest integer score
CIFAR = ("cifar10/calib512_u8_nhwc.npy", [], "cifar10/test1000_u8_nhwc.npy", [], "cifar10/test1000_labels_u8.npy")
IMAGENET = ("imagenet_calib", [], "imagenet_sample", [], "imagenet_sample/labels.txt")
VOC = ("imagenet_calib", [], "voc100/images", [], "voc100/annotations")
MNIST = ("mnist/calib256_u8.npy", [], "mnist/test2000_u8.npy", [], "mnist/test2000_labels_u8.npy")
ROWS = [
    ("cifar10_resnet20", "cifar10_resnet20.onnx", "cifar10_resnet20", *CIFAR, "top-1", 91.5, -0.4),
    ("mlperf_tiny_ic01", "mlperf_tiny_ic01_resnet8.onnx", "mlperf_tiny_ic01", *CIFAR, "top-1", 88.1, -0.4),
    ("mlperf_tiny_kws01", "mlperf_tiny_kws01_dscnn.onnx", "mlperf_tiny_kws01", "kws01/test_int8_nhwc.npy", ["--samples", "100"],
     "kws01/test_int8_nhwc.npy", ["--first", "100"], "kws01/test_labels_u8.npy", "top-1", 91.0, -0.4),
    ("mobilenet_v2", "mobilenet_v2_1.0_224_dequant_float.onnx", "mobilenet_v2", *IMAGENET, "top-1", 87.5, -1.0),
    ("vit_ibp", "vit_ibp_3_3_8.onnx", "vit_ibp", *CIFAR, "top-1", 62.2, -1.0),
    ("FastestDet", "FastestDet.onnx", "fastestdet", *VOC, "mAP@.5", 0.4935, 0.475),
    ("yolox_nano", "yolox_nano.onnx", "yolox_nano", *VOC, "mAP@.5", 0.7615, 0.60),
    ("mnist_8", "mnist_8_model.onnx", "mnist_8", *MNIST, "top-1", 98.4, -0.2),
    ("lenet", "caffe_lenet_mnist.onnx", "lenet", *MNIST, "top-1", 98.65, -0.2),
    ("tflm_mnist_lstm", "tflm_mnist_lstm.onnx", "tflm_mnist_lstm", *MNIST, "top-1", 97.5, -0.2),
]
# The float references of the whole test sets.
FULL = {"cifar10_resnet20": 91.73, "mlperf_tiny_ic01": 87.19, "vit_ibp": 62.21, "mnist_8": 98.91, "lenet": 99.16, "tflm_mnist_lstm": 98.53}


def run(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\n{done.stderr}")
    return json.loads(done.stdout)


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--narrow", default=os.path.join(root, "build/release/narrow"))
    parser.add_argument("--shared", default=os.path.join(root, "../shared"))
    parser.add_argument("--only", default="", help="rows whose name contains this")
    parser.add_argument("--float", action="store_true", help="the float column only")
    parser.add_argument("--target", default="generic-int8")
    parser.add_argument("--with", dest="more", action="append", default=[], help="a line more in every recipe, for other than the default settings; can be repeated")
    parser.add_argument("--full", default="", help="folder of bench/full_sets.py: only the rows whose whole test sets are there")
    parser.add_argument("--keep", default="", help="folder for the products")
    options = parser.parse_args()
    data = lambda name: os.path.join(options.shared, "data", name)

    missed = 0
    print(f"| model | metric | float | reference | integer | at least | output SQNR dB | worst layer alone |\n|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name, model, recipe, calibration, calibration_options, samples, sample_options, labels, metric, reference, bound in ROWS:
            if options.only not in name or (options.full and name not in FULL):
                continue
            samples, labels = data(samples), data(labels)
            if options.full:
                which = "cifar10" if "cifar10" in samples else "mnist"
                samples, labels, reference = os.path.join(options.full, which + "_test.npy"), os.path.join(options.full, which + "_labels.npy"), FULL[name]
            model = os.path.join(options.shared, "models", model)
            recipe = os.path.join(root, "examples/recipes", recipe + ".yaml")
            if options.more:
                with open(recipe) as file, open(os.path.join(scratch, "recipe.yaml"), "w") as changed:
                    changed.write("\n".join([file.read(), *options.more, ""]))
                recipe = os.path.join(scratch, "recipe.yaml")
            networks, report, output = [model], None, os.path.join(options.keep or scratch, name)
            if not options.float:
                report = run([options.narrow, "compile", model, "-q", "--json", "-c", recipe, "--target", options.target, "--data", data(calibration), *calibration_options, "-o", output])
                networks.append(output + ".narrow")
            scores = run([options.narrow, "eval", *networks, "-q", "--json", "-c", recipe, "--data", samples, *sample_options, "--labels", labels])["networks"]
            digits = 4 if metric == "mAP@.5" else 2
            at_least = bound if bound > 0 else scores[0][metric] + bound
            row = [name, metric, f"{scores[0][metric]:.{digits}f}", f"{reference}"]
            if report:
                worst = next(layer for layer in report["layers"] if layer["name"] == report["worst"])
                good = scores[1][metric] >= at_least - 1e-9
                missed += not good
                row += [f"{scores[1][metric]:.{digits}f}{'' if good else ' (misses)'}", f"{at_least:.{digits}f}", ", ".join(f"{o['sqnr_db']:.1f}" for o in report["accuracy"]["outputs"]),
                        f"{report['worst']} {worst['isolated']['sqnr_db']:.1f}"]
            else:
                row += ["", "", "", ""]
            print("| " + " | ".join(row) + " |", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
