#!/usr/bin/env bash
# Installs the Debian packages that the named groups need and that are missing.
# Usage: scripts/setup.sh build [test] [lint]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)

missing=()
while read -r group package command; do
  [[ -z $group || $group == \#* ]] && continue
  [[ " $* " == *" $group "* ]] || continue
  [[ -n $command ]] && command -v "$command" >/dev/null && continue
  if command -v dpkg-query >/dev/null; then
    dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^ii' && continue
  fi
  missing+=("$package")
done < "$here/packages.txt"
[[ ${#missing[@]} -eq 0 ]] && exit 0

if ! command -v apt-get >/dev/null; then
  if [[ -n ${HOLDFAST_SKIP_SETUP:-} ]]; then exit 0; fi
  echo "This is not a Debian system. Install what these Debian packages provide, then run make" \
       "again with HOLDFAST_SKIP_SETUP=1: ${missing[*]}" >&2
  exit 1
fi
as_root=()
if [[ $(id -u) -ne 0 ]]; then
  if ! command -v sudo >/dev/null; then
    echo "These packages are missing, and neither root nor sudo is at hand:" \
         "apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "Installing ${#missing[@]} packages: ${missing[*]}" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
if ! { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q &&
       "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
         apt-get install -y -q --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
  tail -n 15 "$log" >&2
  echo "The package manager failed (its last lines are above). Install by hand:" \
       "apt-get install ${missing[*]}" >&2
  exit 1
fi
