#!/bin/sh
# The main job on the shipped example: compile, then measure on pictures that calibration did not see.
set -eu
cd "$(dirname "$0")/../.."
narrow="${BUILD:-build/release}/narrow"
mkdir -p out
echo "\$ narrow compile examples/shapes/shapes.onnx -c examples/shapes/recipe.yaml --data examples/shapes/calib64_u8.npy -o out/shapes"
"$narrow" compile examples/shapes/shapes.onnx -c examples/shapes/recipe.yaml --data examples/shapes/calib64_u8.npy -o out/shapes
echo
echo "\$ narrow eval examples/shapes/shapes.onnx out/shapes.narrow --data examples/shapes/test256_u8.npy --labels examples/shapes/test256_labels_u8.npy"
"$narrow" eval examples/shapes/shapes.onnx out/shapes.narrow --data examples/shapes/test256_u8.npy \
  --labels examples/shapes/test256_labels_u8.npy
cat <<TXT

What to look at next:
  out/shapes.html      every layer's numbers, histograms with the chosen ranges (any browser, no network needed)
  out/shapes.qdq.onnx  the same network as QDQ ONNX, for other tools and runtimes
  $narrow explain out/shapes.narrow     who decided each number
  $narrow compile --help                your own network
TXT
