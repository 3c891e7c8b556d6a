#!/usr/bin/env bash
# Man pages and completions, as the program prints them: scripts/printed_pages.sh PROGRAM FOLDER
set -euo pipefail
program=$1 folder=$2
rm -rf "$folder"
mkdir -p "$folder/man1" "$folder/completion"
"$program" manual --list | while read -r page; do
  command=${page#holdfast} command=${command#-}
  # shellcheck disable=SC2086
  "$program" manual $command >"$folder/man1/$page.1"
done
"$program" completion bash >"$folder/completion/holdfast"
"$program" completion zsh >"$folder/completion/_holdfast"
"$program" completion fish >"$folder/completion/holdfast.fish"
