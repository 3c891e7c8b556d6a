#!/usr/bin/env bash
# Clang reads every source file of ours: thread safety, then clang-tidy. scripts/lint.sh ENGINE JOBS
# Nothing is built: a folder of its own says how each file is compiled, without GCC's compiled headers,
# which clang cannot read. Clang 19, because Debian's own, 14, does not know the ranges of GCC 12's library.
set -euo pipefail
cd "$(dirname "$0")/.."
engine=$1 jobs=$2

HOLDFAST_ENGINE_DIR=$(scripts/engine.sh "$engine")
export HOLDFAST_ENGINE_DIR
cmake --preset lint >/dev/null
python3 scripts/thread_safety.py build/lint "$jobs"
git ls-files 'src/*.cc' 'bench/policy/*.cc' |
  xargs -P "$jobs" -n 4 clang-tidy-19 -p build/lint --quiet --extra-arg=-Wno-unknown-warning-option
