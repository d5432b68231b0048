#!/usr/bin/env python3
"""Draws the data set of the example: 32x32 RGB pictures of eight shapes on noisy backgrounds.

    make_data.py FOLDER      writes train.npz (not committed), calib64_u8.npy, test256_u8.npy, test256_labels_u8.npy

Only numpy is needed; the same seed gives the same bytes.
"""
import sys

import numpy as np

CLASSES = ["circle", "ring", "square", "frame", "triangle", "cross", "bar", "checker"]
SIZE = 32


def draw(rng, label):
    """One picture, u8 [32,32,3]. Shapes vary in place, size, angle and colour; contrast may be low."""
    y, x = np.mgrid[0:SIZE, 0:SIZE].astype(np.float64)
    cx, cy = rng.uniform(11, 21, 2)
    radius = rng.uniform(5.5, 11)
    angle = rng.uniform(0, np.pi)
    u = ((x - cx) * np.cos(angle) + (y - cy) * np.sin(angle)) / radius
    v = (-(x - cx) * np.sin(angle) + (y - cy) * np.cos(angle)) / radius
    r = np.hypot(u, v)
    box = np.maximum(np.abs(u), np.abs(v))
    mask = {
        "circle": r < 0.9,
        "ring": (r < 1.0) & (r > 0.62),
        "square": box < 0.8,
        "frame": (box < 0.9) & (box > 0.55),
        "triangle": (v > -0.55) & (v < 1.0 - 1.6 * np.abs(u)),
        "cross": (box < 0.95) & ((np.abs(u) < 0.28) | (np.abs(v) < 0.28)),
        "bar": (np.abs(u) < 1.0) & (np.abs(v) < 0.3),
        "checker": (box < 0.95) & ((np.floor(u * 2) + np.floor(v * 2)) % 2 == 0),
    }[CLASSES[label]]
    background = rng.uniform(20, 235, 3)
    colour = background + rng.choice([-1, 1], 3) * rng.uniform(28, 90, 3)
    gradient = (x * rng.uniform(-1, 1) + y * rng.uniform(-1, 1))[..., None]
    image = np.where(mask[..., None], colour, background) + gradient + rng.normal(0, rng.uniform(4, 24), (SIZE, SIZE, 3))
    return np.clip(np.rint(image), 0, 255).astype(np.uint8)


def make(seed, count):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(CLASSES), count).astype(np.uint8)
    return np.stack([draw(rng, label) for label in labels]), labels


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "."
    images, labels = make(1, 16000)
    np.savez_compressed(f"{folder}/train.npz", images=images, labels=labels)
    images, labels = make(2, 64)
    np.save(f"{folder}/calib64_u8.npy", images)
    images, labels = make(3, 256)
    np.save(f"{folder}/test256_u8.npy", images)
    np.save(f"{folder}/test256_labels_u8.npy", labels)


if __name__ == "__main__":
    main()
