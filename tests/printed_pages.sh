#!/usr/bin/env bash
# Man pages and completions as their readers take them: groff without a warning, a real bash that
# completes, zsh and fish where they are installed.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "FAILED: $*"; exit 1; }
"$here/scripts/printed_pages.sh" "$HOLDFAST_BIN" "$work"

# --- man ----------------------------------------------------------------------------------------
[[ $(find "$work/man1" -name '*.1' | wc -l) -eq 9 ]] || fail "there are not nine pages: $(ls "$work/man1")"
if command -v groff >/dev/null; then
  for page in "$work"/man1/*.1; do
    warnings=$(groff -man -Tutf8 -ww -b -z "$page" 2>&1) || fail "$page: $warnings"
    [[ -z $warnings ]] || fail "$page: $warnings"
  done
  groff -man -Tutf8 "$work/man1/holdfast-serve.1" >"$work/text"
  grep -q 'HOLDFAST_CTX_SIZE' "$work/text" || fail "the page of serve names no variables"
fi

# --- bash ---------------------------------------------------------------------------------------
# completes LINE EXPECTED...: what the Tab key offers at the end of LINE holds each of these.
completes() {
  local line=$1 word found
  shift
  found=$(bash --norc -c '
    source "$1"
    read -ra COMP_WORDS <<<"$2"
    [[ $2 == *" " ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _holdfast
    printf "%s\n" "${COMPREPLY[@]}"' bash "$work/completion/holdfast" "$line")
  for word in "$@"; do
    grep -qxF -- "$word" <<<"$found" || fail "'$line' is not completed to '$word', but to: $found"
  done
  offered=$found
}
completes "holdfast ser" serve
completes "holdfast " serve chat launch explain doctor cache replay completion manual version
completes "holdfast serve --ctx" --ctx-size
completes "holdfast serve --log-level " debug info warn error
[[ $(wc -l <<<"$offered") -eq 4 ]] || fail "more than the four levels: $offered"
completes "holdfast serve -ctk q8" q8_0
completes "holdfast cache " ls show verify gc rm export import
completes "holdfast launch cl" claude cline
completes "holdfast launch claude --par" --parallel
completes "holdfast manual " serve cache
completes "holdfast serve --model "
[[ -z $offered ]] || fail "files are the shell's own business: $offered"

# --- zsh and fish -------------------------------------------------------------------------------
if command -v zsh >/dev/null; then
  zsh -f -n "$work/completion/_holdfast" || fail "zsh does not read its script"
  zsh -f -c 'autoload -Uz compinit; compinit -u -D; fpath=("$1" $fpath); source "$1/_holdfast"
    [[ $_comps[holdfast] == _holdfast ]]' zsh "$work/completion" || fail "zsh does not take its script"
fi
if command -v fish >/dev/null; then
  export HOME=$work
  fish --no-execute "$work/completion/holdfast.fish" || fail "fish does not read its script"
  offered=$(fish -c "source $work/completion/holdfast.fish; complete -C'holdfast serve --ctx-s'")
  [[ $offered == --ctx-size* ]] || fail "fish offers: $offered"
  offered=$(fish -c "source $work/completion/holdfast.fish; complete -C'holdfast serve --log-level w'")
  [[ $offered == warn* ]] || fail "fish offers: $offered"
fi
# --- the version stands in one place --------------------------------------------------------------
version=$(sed -nE 's/^project\(holdfast VERSION ([0-9.]+).*/\1/p' "$here/CMakeLists.txt")
"$HOLDFAST_BIN" --version | grep -qF "holdfast $version (" || fail "--version does not say $version"
grep -q "^## ${version//./\\.}\b" "$here/CHANGELOG.md" || fail "CHANGELOG.md has no section about $version"

echo "pages and completions are as their readers want them"
