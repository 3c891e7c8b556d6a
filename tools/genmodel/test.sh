#!/usr/bin/env bash
# What the command line of holdfast-genmodel promises: $1 is the program.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

expect_refusal() {  # what the last line says, then the arguments
  local says=$1
  shift
  if "$program" "$@" >"$folder/log" 2>&1; then
    echo "not refused: $*"
    exit 1
  fi
  grep -q -- "$says" "$folder/log" || { echo "$* does not say '$says'"; cat "$folder/log"; exit 1; }
}

program=$1
model=$folder/model.gguf
"$program" --help | grep -q qwen35-0.8b
"$program" --shape tiny-250k --out "$model" 2>"$folder/log"
grep -q '100%' "$folder/log"
first=$(sha256sum <"$model")
expect_refusal 'Give --force' --shape tiny-250k --out "$model"
"$program" --shape tiny-250k --out "$model" --force --seed 2 2>/dev/null
[[ $(sha256sum <"$model") != "$first" ]]
"$program" --shape tiny-250k --out "$model" --force 2>/dev/null
[[ $(sha256sum <"$model") == "$first" ]]  # a pure function of its arguments
"$program" --tiny bert --out "$folder/bert.gguf"
grep -q 'general.architecture' "$folder/bert.gguf" && rm "$folder/bert.gguf"
expect_refusal 'no tiny model of abacus' --tiny abacus --out "$folder/x"
expect_refusal 'Give --out' --tiny bert
expect_refusal 'one of: qwen35-0.8b' --shape qwen --out "$folder/x"
expect_refusal 'Give --out' --shape tiny-250k
expect_refusal 'Leave --mtp out' --shape attention-1b --mtp --out "$folder/x"
expect_refusal 'Is the folder there' --shape tiny-250k --out "$folder/none/x"
expect_refusal 'lists the options' --shapes
[[ $(ls "$folder") == $'log\nmodel.gguf' ]]  # nothing half-written is left
