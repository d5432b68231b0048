#!/bin/sh
# Installs the Debian 12 packages that narrow needs and that are missing. Does nothing, and needs no rights, when all are there.
#   setup.sh          what the build and the tests need
#   setup.sh --fuzz   and clang with its sanitizers, for the preset `fuzz`
set -eu
packages="g++ cmake ninja-build libprotobuf-dev protobuf-compiler libonnx-dev libdnnl-dev libyaml-cpp-dev nlohmann-json3-dev
libcli11-dev libfmt-dev libexpected-dev libturbojpeg0-dev libstb-dev libxxhash-dev zlib1g-dev libgtest-dev libbenchmark-dev python3"
case "${1:-}" in
  "") ;;
  --fuzz) packages="$packages clang-14 libclang-rt-14-dev libomp-14-dev" ;;
  *) echo "error: unknown option '$1'" >&2; echo "  help: setup.sh [--fuzz]" >&2; exit 2 ;;
esac
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
