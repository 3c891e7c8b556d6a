#!/usr/bin/env bash
# Runs every test of a build folder: scripts/test.sh BUILD_FOLDER
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$1
scripts/client_packages.sh
scripts/agent_packages.sh
ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$(nproc)"
