#!/usr/bin/env bash
# The documents as a site in build/site, with a page of all commands from the program itself if it is built.
set -euo pipefail
cd "$(dirname "$0")/.."
source=build/docs
rm -rf "$source" && mkdir -p "$source/docs"
git ls-files --cached --others --exclude-standard '*.md' docs LICENSE | while read -r file; do
  [[ -f $file ]] && cp --parents "$file" "$source/"
done
{
  echo "# Commands and options"
  echo
  if [[ -x build/holdfast ]]; then
    for command in "" serve chat launch explain doctor cache replay; do
      printf '## holdfast %s\n\n```\n' "$command"
      # shellcheck disable=SC2086
      build/holdfast $command --help
      printf '```\n\n'
    done
  else
    echo '`make build` first: this page is what the program says of itself.'
  fi
} >"$source/docs/commands.md"
mkdocs build --quiet --clean
echo "build/site/index.html" >&2
