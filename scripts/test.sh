#!/usr/bin/env bash
# Runs every test of a build folder: scripts/test.sh BUILD_FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
scripts/client_packages.sh
scripts/agent_packages.sh
# Some tests plant faults with LD_PRELOAD, before the sanitizer's own library.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
# Under a sanitizer everything takes several times as long.
[[ $folder == build ]] || export HOLDFAST_TEST_TIMEOUT_MS=1200000
ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$(nproc)"
