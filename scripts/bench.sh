#!/usr/bin/env bash
# Compares Holdfast with llama-server of the same engine, on this machine. It should do
# nothing else meanwhile.
#
#   make bench             about an hour on 2 cores; writes docs/benchmarks-tables.md, benchmarks.json and charts
#   QUICK=1 make bench     about 10 minutes, without drafts; writes the same files to build/bench
#   ITSELF=1 make bench    compares Holdfast with itself: how often the bench sees a difference that is none
#   ENGINES=1 make bench   also compares forms of the engine under Holdfast
#
# Parts, which write to build/bench, too:
#   SCENARIOS=parity,speed,throughput,workloads,sizes,real,restart,speculation,disk,connections,engines
#   VARIANTS=plain,tight,mtp    of the workloads: as they come, with a tenth of the memory, with drafts
#                               (`real` has its own: models with states of real sizes)
#   WORKLOADS='five|branch'     those whose name matches
# Also: ROUNDS, SEED, MODEL, THREADS, CONTEXT, BENCH_DISK (a folder on the disk to measure).
#
# Models of realistic size are made once, in the user's cache folder (holdfast/models, 5 GB).
# `node bench/compare.mjs A.json B.json` says whether two runs agree; `node bench/retell.mjs` writes a
# run's report again, with reasons that were found after it, or one report of several runs;
# `node bench/real_states.mjs` replays the workloads with states of larger models.
set -euo pipefail
cd "$(dirname "$0")/.."
jobs=$(nproc)

# Builds targets of Holdfast in $2 on the engine that lies in $1.
build_on() {
  local engine=$1 folder=$2 log
  shift 2
  log=$(mktemp)
  echo "bench: building $folder on the engine $(basename "$engine")" >&2
  if ! { HOLDFAST_ENGINE_DIR=$engine cmake --preset release -B "$folder" -DHOLDFAST_TESTS=ON &&
         cmake --build "$folder" --target "$@" -j "$jobs"; } >"$log" 2>&1; then
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
build_on "$engine" build/bench holdfast holdfast-genmodel
forms=
if [[ -n ${ENGINES:-} ]]; then
  prebuilt=$(LLAMA_DIR='' scripts/engine.sh prebuilt)
  build_on "$prebuilt" build/bench-prebuilt holdfast
  openmp=$(GGML_OPENMP=ON scripts/engine.sh source)
  build_on "$openmp" build/bench-openmp holdfast
  forms='{"name":"prebuilt","program":"build/bench-prebuilt/holdfast"},
         {"name":"source","program":"build/bench/holdfast"},
         {"name":"source, OpenMP","program":"build/bench-openmp/holdfast"}'
fi

exec node bench/run.mjs "{\"holdfast\":\"build/bench/holdfast\",\"generator\":\"build/bench/holdfast-genmodel\",
  \"engine\":\"$engine\",\"engines\":[$forms]}"
