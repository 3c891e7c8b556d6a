#!/usr/bin/env bash
# `holdfast cache` as people run it: the program, its exit codes, its two outputs and a real
# folder. What its sentences and tables say in each case is tested in src/cli/cache_test.cc.
set -euo pipefail
exports=$(cd "$(dirname "$0")/../fuzz/corpus/blob_archive" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export HOLDFAST_CACHE_DIR=$work/states
cd "$work"

fail() { echo "FAILED: $*"; cat out err; exit 1; }
# expect CODE TEXT ARGS...: the exit code, and a text in either output.
expect() {
  local code=$1 text=$2 got=0
  shift 2
  "$HOLDFAST_BIN" cache "$@" >out 2>err </dev/null || got=$?
  [[ $got -eq $code ]] || fail "cache $*: exit code $got, expected $code"
  grep -qF -- "$text" out err || fail "cache $*: it does not say \"$text\""
}

expect 0 "holdfast cache ls"
expect 2 "did you mean verify?" verfy
expect 1 "There is no cache in $work/states" ls
[[ ! -e states ]] || fail "ls made a folder"

expect 0 "Imported 4 of 4 blobs" import "$exports/all.hfa"
expect 0 "a.gguf" ls
expect 0 '"blobs": 4' ls --json
expect 0 "Everything is intact" verify
expect 0 "Exported 4 blobs" export copy.hfa
expect 1 "is there already" export copy.hfa
[[ $(stat -c %a copy.hfa states states/spaces/*) == $'600\n700\n600' ]] || fail "modes"
HOLDFAST_CACHE_DIR=$work/second expect 0 "Imported 4 of 4 blobs" import copy.hfa
diff <(cd states/blobs && find . -type f | sort) <(cd second/blobs && find . -type f | sort) ||
  fail "the second folder holds other blobs"

# Cut off, damaged, and something else altogether.
head -c -30 copy.hfa >cut.hfa
expect 1 "of at least" import cut.hfa
printf 'HFARCH9\n' | cat - copy.hfa >newer.hfa
expect 1 "another version of Holdfast" import newer.hfa
expect 1 "it is no file of exported states" import states/lock

# Another process has the folder.
exec 9<>states/lock
flock 9
expect 0 "a.gguf" ls
expect 1 "in use by a running server" gc
expect 1 "in use by a running server" rm --all --yes
expect 1 "in use by a running server" import copy.hfa
exec 9>&-

blob=$(find states/blobs -name '*.hfb' | sort | head -1)
key=$(basename "$blob" .hfb)
expect 0 "$key" show "${key:0:9}"
printf 'x' | dd of="$blob" bs=1 seek=$(($(stat -c %s "$blob") - 33)) conv=notrunc status=none
expect 1 "DAMAGED" show "$key"
expect 1 "moved to quarantine" verify
expect 0 "of the quarantine" gc
expect 1 "say --yes" rm --all
expect 0 "0 blobs, 0 B are left" rm --all --yes
expect 0 "Nothing is kept here yet" ls
echo "the command does what it says"
