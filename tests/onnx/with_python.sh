#!/bin/sh
# Finds a Python that has the modules a script of this folder needs, and runs it; 77 = skipped.
#   with_python.sh SCRIPT MODULES ARGUMENTS...
here=$(dirname "$0")
script=$1 modules=$2
shift 2
for python in "$NARROW_PYTHON" "$here/../../.venv/bin/python" python3; do
  if [ -n "$python" ] && "$python" -c "import $modules" 2>/dev/null; then
    exec "$python" "$here/$script" "$@"
  fi
done
echo "skipped: no Python with $modules (set NARROW_PYTHON)"
exit 77
