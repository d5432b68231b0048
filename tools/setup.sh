#!/bin/sh
# Installs the Debian 12 packages that narrow needs and that are missing. Does nothing, and needs no rights, when all are there.
set -eu
packages="g++ cmake ninja-build pkg-config libprotobuf-dev protobuf-compiler libonnx-dev libdnnl-dev libyaml-cpp-dev nlohmann-json3-dev
libcli11-dev libfmt-dev libexpected-dev libturbojpeg0-dev libstb-dev libxxhash-dev zlib1g-dev libgtest-dev libbenchmark-dev python3"
missing=""
for p in $packages; do
  dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -n "$missing" ] || exit 0
sudo=""
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null || { echo "error: these packages are missing and you are not root:$missing" >&2; echo "  help: as root: apt-get install$missing" >&2; exit 1; }
  sudo="sudo"
fi
echo "installing:$missing" >&2
export DEBIAN_FRONTEND=noninteractive
$sudo apt-get update -qq >&2
# shellcheck disable=SC2086 # a list of words
$sudo apt-get install -y -qq --no-install-recommends $missing >&2
