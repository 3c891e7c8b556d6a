#!/usr/bin/env bash
# Installs coding agents for tests/agents when they are missing or a lock file has changed:
# Claude Code and Codex, and with `all` the others too. No install script of a package is run: the
# tests start the programs that the packages bring.
set -euo pipefail
cd "$(dirname "$0")/../tests/agents"

install_in() {  # FOLDER NPM_COMMAND...
  local folder=$1 stamp=$1/node_modules/.installed-from wanted log reason
  shift
  wanted=$(cat "$folder/package.json" "$folder/package-lock.json" | sha256sum)
  if [[ -f $stamp && $(<"$stamp") == "$wanted" ]]; then return; fi
  log=$(mktemp)
  if ! (cd "$folder" && npm "$@" --ignore-scripts --no-audit --no-fund) >"$log" 2>&1; then
    reason=$(sed -n 's/^npm \(error\|ERR!\) code //p' "$log" | head -n 1)
    rm -f "$log"
    echo "npm could not install the coding agents (${reason:-see its log}); run 'npm $*' in" \
         "tests/agents/$folder to see why." >&2
    exit 1
  fi
  rm -f "$log"
  printf '%s\n' "$wanted" > "$stamp"
}

install_in . ci
# Not `ci`: it refuses a lock file that lacks an optional part for another kind of machine.
if [[ ${1:-} == all ]]; then install_in more install --no-save; fi
