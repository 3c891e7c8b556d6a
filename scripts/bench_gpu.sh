#!/usr/bin/env bash
# Compares Holdfast with llama-server on this machine's card: scripts/bench_gpu.sh [MODEL.gguf ...]
# Both run on the same libraries, built here with CUDA (or with what GGML_* variables ask for).
# Without a model, random ones with the sizes of Qwen3.5 0.8B and 9B are made once, in the user's
# cache folder (8 GB). ROUNDS (3), ONLY=cold,deep,... and OUT=FILE are passed on; see
# `python3 bench/gpu/run.py --help`.
set -euo pipefail
cd "$(dirname "$0")/.."
export GGML_CUDA=${GGML_CUDA:-ON}
engine=$(ENGINE_WITH_PEER=1 scripts/engine.sh source)
HOLDFAST_ENGINE_DIR=$engine cmake --preset release -B build/bench-gpu -DHOLDFAST_TESTS=ON >/dev/null
cmake --build build/bench-gpu --target holdfast holdfast-genmodel -j "$(nproc)" >/dev/null
models=("$@")
if [[ ${#models[@]} -eq 0 ]]; then
  folder=${XDG_CACHE_HOME:-$HOME/.cache}/holdfast/models
  mkdir -p "$folder"
  for shape in qwen35-0.8b qwen35-9b; do
    [[ -f $folder/$shape.gguf ]] ||
      build/bench-gpu/holdfast-genmodel --shape "$shape" --out "$folder/$shape.gguf"
    models+=("$folder/$shape.gguf")
  done
fi
arguments=()
for model in "${models[@]}"; do arguments+=(--model "$model"); done
exec python3 bench/gpu/run.py --holdfast build/bench-gpu/holdfast \
  --llama-server "$engine/bin/llama-server" --rounds "${ROUNDS:-3}" ${ONLY:+--only "$ONLY"} \
  --out "${OUT:-build/bench-gpu.json}" "${arguments[@]}"
