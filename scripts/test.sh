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
# A server's reports are seen by nobody if its test passes: they go to files, which must not be there.
reports=$folder/thread_reports
rm -rf "$reports"; mkdir -p "$reports"
export TSAN_OPTIONS=${TSAN_OPTIONS:+$TSAN_OPTIONS:}log_path=$PWD/$reports/report
failed=0
ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$(nproc)" || failed=$?
if compgen -G "$reports/*" >/dev/null; then
  echo "the sanitizer for threads reports:" >&2
  cat "$reports"/* >&2
  failed=1
fi
exit "$failed"
