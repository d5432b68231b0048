#!/bin/sh
# Finds a Python that has the modules a script of the tests needs, and runs it; 77 = skipped.
#   with_python.sh SCRIPT MODULES ARGUMENTS...
script=$1 modules=$2
shift 2
for python in "$NARROW_PYTHON" "$(dirname "$0")/../.venv/bin/python" python3; do
  if [ -n "$python" ] && "$python" -c "import $modules" 2>/dev/null; then
    exec "$python" "$script" "$@"
  fi
done
echo "skipped: no Python with $modules (set NARROW_PYTHON)"
exit 77
