#!/usr/bin/env bash
# Runs client tests: tests/clients/run.sh FILE.test.mjs ...
# The SDK needs Node 22; the packages bring one, unless they were installed for
# another kind of machine.
set -euo pipefail
cd "$(dirname "$0")"

node=$(ls node_modules/node-linux-*/bin/node 2>/dev/null | head -n 1 || true)
if [[ -z $node ]] || ! "$node" --version >/dev/null 2>&1; then
  node=$(command -v node || true)
  major=$("${node:-false}" -p 'process.versions.node.split(".")[0]' 2>/dev/null || echo 0)
  if (( major < 22 )); then
    echo "The client tests need Node 22 or newer; run scripts/client_packages.sh to get it." >&2
    exit 1
  fi
fi
exec "$node" --test --test-reporter=spec --test-concurrency=1 --test-timeout="${HOLDFAST_TEST_TIMEOUT_MS:-240000}" "$@"
