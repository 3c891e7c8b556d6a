#!/usr/bin/env bash
# Configures and builds one preset: scripts/build.sh ENGINE PRESET TARGET JOBS
set -euo pipefail
cd "$(dirname "$0")/.."
engine=$1 preset=$2 target=$3 jobs=$4

HOLDFAST_ENGINE_DIR=$(scripts/engine.sh "$engine")
export HOLDFAST_ENGINE_DIR
folder=build
[[ $preset == release ]] || folder=build/$preset
tests=OFF
# Tests once configured stay configured: switching would rebuild nothing useful.
if [[ $target == all ]] || grep -qs 'HOLDFAST_TESTS:BOOL=ON' "$folder/CMakeCache.txt"; then tests=ON; fi
if [[ $tests == ON ]]; then scripts/web_packages.sh test; else scripts/web_packages.sh; fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! cmake --preset "$preset" -DHOLDFAST_TESTS=$tests >"$log" 2>&1; then
  cat "$log" >&2
  exit 1
fi
started=$SECONDS
NINJA_STATUS='[%f/%t] ' cmake --build "$folder" --target "$target" -j "$jobs"
echo "built in $((SECONDS - started)) s (engine: $(cat "$HOLDFAST_ENGINE_DIR/KIND"))" >&2
