#!/usr/bin/env bash
# Installs the clients of tests/clients (the SDKs of OpenAI and Anthropic, and a Node that is new
# enough for it) when they are missing or the lock file has changed.
set -euo pipefail
cd "$(dirname "$0")/../tests/clients"

stamp=node_modules/.installed-from
wanted=$(cat package.json package-lock.json | sha256sum)
if [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then exit 0; fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! npm ci --ignore-scripts --no-audit --no-fund >"$log" 2>&1; then
  reason=$(sed -n 's/^npm \(error\|ERR!\) code //p' "$log" | head -n 1)
  echo "npm could not install the test clients (${reason:-see its log}); run 'npm ci' in" \
       "tests/clients to see why." >&2
  exit 1
fi
printf '%s\n' "$wanted" > "$stamp"
