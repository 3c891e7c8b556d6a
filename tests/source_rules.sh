#!/usr/bin/env bash
# Rules of the source tree that a compiler does not check:
#   - a file includes only from modules below its own (docs/ARCHITECTURE.md)
#   - what serves tests lies in folders named testing, and only tests include it
#   - only engine/llama includes the engine's own headers
#   - a folder is a namespace
#   - coroutines avoid what GCC 12 compiles wrongly (CONTRIBUTING.md)
set -euo pipefail
cd "$(dirname "$0")/.."

declare -A may_include=(
  [base]="base"
  [env]="base env"
  [state]="base state"
  [tree]="base state tree"
  [plan]="base state tree plan"
  [tier]="base env state tier"
  [engine]="base state engine"
  [engine/llama]="base state engine engine/llama"
  [cache]="base env state tree plan tier engine cache"
  [record]="base env state tree plan tier engine cache record"
  [serve]="base env state tree plan tier engine cache record serve"
  [api]="base env state tree plan tier engine cache record serve api"
  [cli]="base env state tree plan tier engine engine/llama cache record serve api cli"
  # A measuring tool, bench/policy: nothing in src may include from it.
  [policy]="base env state tree plan engine cache record cli policy"
)
modules="${!may_include[*]}"

module_of() {  # the deepest known folder of a path
  case $1 in engine/llama/*) echo engine/llama ;; *) echo "${1%%/*}" ;; esac
}

failures=0
while IFS=: read -r file line include; do
  target=${include#*\"} target=${target%%\"*}
  from=$(module_of "${file#*/}") to=$(module_of "$target")
  [[ " $modules " == *" $to "* ]] || continue   # not a module of ours
  if [[ " ${may_include[$from]} " != *" $to "* ]]; then
    echo "$file:$line: $from must not include from $to ($target)"
    failures=$((failures + 1))
  fi
  if [[ $target == */testing/* && $file != */testing/* && $file != *_test.cc ]]; then
    echo "$file:$line: only tests may include what serves them ($target)"
    failures=$((failures + 1))
  fi
done < <(grep -rnE '^#include "' --include='*.h' --include='*.cc' src bench/policy)

if grep -rnE '#include [<"](llama|ggml|gguf|chat|sampling|common|json-schema)[a-z-]*\.h[>"]' \
     --include='*.h' --include='*.cc' src bench/policy | grep -v '^src/engine/llama/'; then
  echo "only src/engine/llama may include the engine's headers"
  failures=$((failures + 1))
fi
for folder in src/*/; do
  [[ " $modules " == *" $(basename "$folder") "* ]] || { echo "$folder has no place in the layering"; failures=1; }
done
# A folder is a namespace: src/tree is holdfast::tree, src/engine/llama is holdfast::llama. The words
# that all layers speak (src/base, src/state) are holdfast itself.
namespace_of() {
  case $1 in
    src/base/*|src/state/*) echo holdfast ;;
    src/engine/llama/*) echo holdfast::llama ;;
    *) local module=${1#*/}; echo "holdfast::${module%%/*}" ;;
  esac
}
while IFS= read -r file; do
  expected=$(namespace_of "$file")
  while IFS= read -r opened; do
    [[ $opened == "$expected" || $opened == "$expected"::* ]] && continue
    echo "$file: opens namespace $opened; its folder is $expected"
    failures=$((failures + 1))
  done < <(sed -nE 's/^namespace (holdfast[a-z_:]*) \{.*/\1/p' "$file")
done < <(find src bench/policy -name '*.h' -o -name '*.cc' | sort)
# A condition that awaits may be resumed at the wrong place; a braced temporary
# in an awaiting expression is destroyed twice.
if grep -rnE '(if|while) \(!?co_await|co_await [^;]*[({] *\{|co_await [^;]*[A-Za-z]\{\.' \
     --include='*.h' --include='*.cc' src bench/policy | grep -vE ':[0-9]+: *//'; then
  echo "give the awaited value, or the temporary, a name first"
  failures=$((failures + 1))
fi
[[ $failures -eq 0 ]] && echo "the rules hold"
exit $((failures > 0))
