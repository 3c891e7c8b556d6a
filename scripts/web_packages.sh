#!/usr/bin/env bash
# Installs the packages that the web page is built from when they are missing or the lock file has
# changed: scripts/web_packages.sh [test]   (test: with those that its tests need)
# Without them everything else is built, and GET / says that the page is missing.
set -euo pipefail
cd "$(dirname "$0")/../web"

extent=${1:-build}
stamp=node_modules/.installed-from
lock=$(cat package.json package-lock.json | sha256sum)
have=$(cat "$stamp" 2>/dev/null || true)
if [[ $have == "$lock $extent" || $have == "$lock test" ]]; then exit 0; fi

omit=()
[[ $extent == test ]] || omit=(--omit=dev)
log=$(mktemp)
trap 'rm -f "$log"' EXIT
rm -f "$stamp"
if ! npm ci "${omit[@]}" --ignore-scripts --no-audit --no-fund --fetch-retries=1 \
     --fetch-retry-mintimeout=2000 --fetch-timeout=30000 >"$log" 2>&1; then
  reason=$(sed -n 's/^npm \(error\|ERR!\) code //p' "$log" | head -n 1)
  echo "npm could not install the packages of the web page (${reason:-see its log}); the program is" \
       "built without it. 'npm ci' in web/ shows why." >&2
  rm -rf node_modules
  exit 0
fi
printf '%s\n' "$lock $extent" > "$stamp"
