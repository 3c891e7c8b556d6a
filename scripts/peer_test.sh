#!/usr/bin/env bash
# Runs llama-server's own tests, of the source that scripts/engine.sh fetches, against Holdfast with
# the pocket model, and prints a table by file: scripts/peer_test.sh PROGRAM [pytest arguments]
#
#   make peer-test                                       all that apply, in about 5 minutes
#   make peer-test PEER="-k rerank"                      some of them
#   scripts/peer_test.sh build/holdfast unit/test_basic.py
#   PEER_KIND=llama-server scripts/peer_test.sh PATH     llama-server itself, as the control
#
# tests/peer/loosened.patch is all that is changed in the tests: see tests/peer/peer_plugin.py.
# PEER_RESULTS names a folder that keeps what every test printed.
set -euo pipefail
cd "$(dirname "$0")/.."
program=$(realpath "$1")
shift
here=$PWD/tests/peer
source=$(scripts/engine.sh tree)

folder=$(mktemp -d "${TMPDIR:-/tmp}/holdfast-peer-XXXXXX")
trap 'rm -rf "$folder"' EXIT
results=${PEER_RESULTS:-$folder/results}
tests=$folder/llama/tools/server/tests
mkdir -p "$(dirname "$tests")" "$folder/models" "$results"
cp -r "$source/tools/server/tests" "$tests" && mkdir -p "$tests/tmp"
ln -s "$source/models" "$folder/llama/"  # chat templates
ln -s "$source/tools/mtmd" "$folder/llama/tools/"
patch -s -p1 -d "$tests" <"$here/loosened.patch"

export PEER_KIND=${PEER_KIND:-holdfast} PEER_PROGRAM=$program PEER_FOLDER=$folder
export PEER_MODEL=${PEER_MODEL:-$PWD/models/holdfast-pocket-q8_0.gguf}
/usr/bin/python3 "$here/models.py" "$PEER_MODEL" "$folder/models" "$source/gguf-py" >/dev/null
export PEER_FILL_MODEL=$folder/models/fill.gguf PEER_SPLIT_MODEL=$folder/models/split-00001-of-00003.gguf
export LLAMA_SERVER_BIN_PATH=$here/server.py LLAMA_CACHE=$folder/cache
export PYTHONPATH=$here:$here/stubs:$tests PYTHONDONTWRITEBYTECODE=1 PORT=${PORT:-18900}

# Files about what Holdfast does not do, and why: docs/llama-server.md.
out_of_scope=(mcp_servers tools_builtin proxy compat_gcp router sleep stream lora)
ignore=("${out_of_scope[@]/#/--ignore=unit/test_}")
cd "$tests"
/usr/bin/python3 -m pytest -p peer_plugin -p no:cacheprovider -m "not slow" --timeout=150 -q --tb=short \
  -rN --junitxml="$results/junit.xml" "${ignore[@]/%/.py}" "${@:-unit}" \
  >"$results/output.txt" 2>&1 || true
/usr/bin/python3 "$here/table.py" "$results/junit.xml" "$here/valid.txt"
