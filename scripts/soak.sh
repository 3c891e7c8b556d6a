#!/usr/bin/env bash
# Keeps a server under load and faults for some hours: scripts/soak.sh BUILD_FOLDER HOURS [SEED]
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/client_packages.sh
HOLDFAST_BIN=$(realpath "$1")/holdfast
export HOLDFAST_BIN
node=$(ls tests/clients/node_modules/node-linux-*/bin/node 2>/dev/null | head -n 1 || true)
exec "${node:-node}" tests/soak/soak.mjs "$2" "${3:-1}"
