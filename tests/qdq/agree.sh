#!/bin/sh
# Finds a Python that has onnxruntime and runs agree.py with it; 77 = skipped.
here=$(dirname "$0")
for python in "$NARROW_PYTHON" "$here/../../.venv/bin/python" python3; do
  if [ -n "$python" ] && "$python" -c 'import onnxruntime, numpy' 2>/dev/null; then
    exec "$python" "$here/agree.py" "$@"
  fi
done
echo "skipped: no Python with onnxruntime and numpy (set NARROW_PYTHON)"
exit 77
