#!/usr/bin/env bash
# Compares Holdfast with llama-server of the same engine, on this machine.
#
#   make bench             writes docs/benchmarks.md (about 20 minutes)
#   QUICK=1 make bench     a few minutes; writes build/bench/benchmarks.md
#   ENGINES=1 make bench   also compares forms of the engine under Holdfast
#
# Also: ROUNDS, SEED, MODEL, MTP_MODEL (a larger one with an MTP head, for drafts),
# ATTENTION_MODEL, SWA_MODEL (for restarts), BENCH_DISK (a folder on the disk to measure),
# THREADS, CONTEXT, SCENARIOS=parity,decode,prefill,speculation,
# interference,memory,connections,engines,reuse,restart,disk. The machine should do nothing else.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)

# Builds Holdfast in $2 on the engine that lies in $1.
build_on() {
  local engine=$1 folder=$2 log
  log=$(mktemp)
  echo "bench: building $folder on the engine $(basename "$engine")" >&2
  if ! { HOLDFAST_ENGINE_DIR=$engine cmake --preset release -B "$folder" -DHOLDFAST_TESTS=OFF &&
         cmake --build "$folder" --target holdfast -j "$jobs"; } >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    echo "bench: Holdfast did not build on $engine; the end of the log is above." >&2
    rm -f "$log"
    exit 1
  fi
  rm -f "$log"
}

# Thousands of connections need as many files.
ulimit -n "$(ulimit -Hn)" 2>/dev/null || true

engine=$(ENGINE_WITH_PEER=1 scripts/engine.sh source)
build_on "$engine" build/bench
forms=
if [[ -n ${ENGINES:-} ]]; then
  prebuilt=$(LLAMA_DIR='' scripts/engine.sh prebuilt)
  build_on "$prebuilt" build/bench-prebuilt
  openmp=$(GGML_OPENMP=ON scripts/engine.sh source)
  build_on "$openmp" build/bench-openmp
  forms='{"name":"prebuilt","program":"build/bench-prebuilt/holdfast"},
         {"name":"source","program":"build/bench/holdfast"},
         {"name":"source, OpenMP","program":"build/bench-openmp/holdfast"}'
fi

exec node bench/run.mjs "{\"holdfast\":\"build/bench/holdfast\",\"engine\":\"$engine\",\"engines\":[$forms]}"
