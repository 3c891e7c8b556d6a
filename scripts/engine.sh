#!/usr/bin/env bash
# Provides llama.cpp and prints the folder it lies in: include/, lib/, src/, KIND.
#
#   scripts/engine.sh prebuilt|cuda|vulkan   the release's own libraries, from npm
#   scripts/engine.sh source                 built here for this machine's CPU
#   LLAMA_DIR=DIR scripts/engine.sh source   built from the user's own checkout
#   scripts/engine.sh tree                   its source, not built (CMakeLists.txt, src/, ...)
#
# GGML_* variables of the environment become CMake flags of a source build. OpenMP
# is off unless GGML_OPENMP=ON: ggml's own threads are as fast on an idle machine
# and far faster on a shared one (bench/DEAD_ENDS.md).
# What is made once is kept in a cache folder, keyed by all that shaped it.
set -euo pipefail

version=v0.5.0                # of llama.cpp
package_version=3.22.1        # of the npm packages that carry it
declare -A integrity=(
  [node-llama-cpp]=bltIipuWmc123H7tMIgDGKSsSrhmhlQYeVUC48XTjVW7XGJJiJJyCdlTMzQ/LiWoPkGDpcL4FviDpgw7qfTiDw==
  [@node-llama-cpp/linux-x64]=5uCCDNqWCNfaAm8aR/Uzxbo4HBpKgNF91kCHPepKhgMgV2OAmatoefbOlMihsqCiH2Od35E/eUHQCFbfRBJuOg==
  [@node-llama-cpp/linux-x64-cuda]=8rQCjyNNLZJUFit+YpjwlC4hwkKgOMIkB2wuycKBf8NU2O3ySKbiWZQ8aw9ku2nUTXjSnUIrE6KB88itduTBuA==
  [@node-llama-cpp/linux-x64-vulkan]=bBxqU+JOcBu1nb5Qj2zcMci+JByT1E8EajHvYodyNfVIPkEhXh+/HMwR1/BT7xP08YK0hks+kM8fglER0P8JEg==
  [@node-llama-cpp/linux-arm64]=W+7naKCXX9/eEjjFmRS8vvx91QyLXDbeFxexZc3bh/PtQABZgmRL3C0AtYYXn4YGTj/3Qor4lWZn2tpjZFPLdQ==
)

kind=${1:-prebuilt}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/holdfast
say() { echo "engine: $*" >&2; }
fail() { say "$*"; exit 1; }

# Fetches an npm package into $2 and verifies it against the pinned hash.
fetch_package() {
  local name=$1 into=$2 file actual
  mkdir -p "$into"
  file=$into/$(cd "$into" && npm pack --silent "$name@$package_version" 2>/dev/null | tail -n 1) ||
    return 1
  [[ -f $file ]] || return 1
  actual=$(openssl dgst -sha512 -binary "$file" | openssl base64 -A)
  [[ $actual == "${integrity[$name]}" ]] ||
    fail "$name@$package_version is not the package that was pinned (its SHA-512 differs); nothing was installed."
  tar -xzf "$file" -C "$into" && rm -f "$file"
}

# Puts llama.cpp's source tree at $cache/llama.cpp-VERSION, once.
fetch_source() {
  local tree=$cache/llama.cpp-$version
  [[ -f $tree/include/llama.h ]] && return
  local work
  work=$(mktemp -d "$cache/tmp.XXXXXX")
  say "fetching the source of llama.cpp $version"
  if fetch_package node-llama-cpp "$work"; then
    git clone --quiet "$work/package/llama/gitRelease.bundle" "$work/tree" 2>/dev/null ||
      fail "the source bundle of llama.cpp could not be unpacked."
  else
    say "npm gave nothing; trying git"
    git clone --quiet --depth 1 --branch "$version" \
      https://github.com/ggml-org/llama.cpp "$work/tree" 2>/dev/null ||
      fail "llama.cpp $version could not be fetched from npm or git; with a checkout of your own, set LLAMA_DIR."
  fi
  rm -rf "$tree" && mv "$work/tree" "$tree"
  rm -rf "$work"
}

copy_headers() {
  local tree=$1 into=$2
  mkdir -p "$into/include" "$into/include/src"
  cp "$tree"/include/*.h "$tree"/ggml/include/*.h "$into/include/"
  cp "$tree"/src/*.h "$into/include/src/"
  (cd "$tree" && find common -name '*.h' | tar -cf - -T - | tar -xf - -C "$into/include")
}

# The release's own libraries, with the headers of the same source.
make_prebuilt() {
  local into=$1 package=@node-llama-cpp/$2 work
  work=$(mktemp -d "$cache/tmp.XXXXXX")
  say "fetching llama.cpp $version, prebuilt ($2)"
  fetch_package "$package" "$work/pkg" ||
    fail "$package@$package_version could not be fetched from npm; try ENGINE=source."
  mkdir -p "$work/out/lib"
  cp "$work/pkg/package/bins/$2"/lib*.so "$work/out/lib/"
  # One name for each library, whatever the package calls it.
  (cd "$work/out/lib" && ln -sf libllama.*.so libllama.so && ln -sf libggml.*.so libggml.so)
  copy_headers "$cache/llama.cpp-$version" "$work/out"
  echo "$kind" > "$work/out/KIND"
  mv "$work/out" "$into" && rm -rf "$work"
}

# Shows one line that moves on a terminal, and every tenth part in a log.
show_progress() {
  local last=-1 done total part line
  while read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\] ]] || continue
    done=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]} part=$((done * 10 / total))
    if [[ -t 2 ]]; then
      printf '\rengine: building llama.cpp %s: %d of %d ' "$version" "$done" "$total" >&2
    elif [[ $part -ne $last ]]; then
      say "building llama.cpp $version: $((done * 100 / total))%"
      last=$part
    fi
  done
  if [[ -t 2 ]]; then echo >&2; fi
}

make_source() {
  local into=$1 tree=$2 targets=$3
  local log=$cache/build.log build=$into.build
  mkdir -p "$build"
  say "building llama.cpp from source for this machine, once (about 5 minutes on 2 cores)"
  if ! cmake -S "$tree" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=ON \
      -DLLAMA_BUILD_TESTS=OFF -DLLAMA_BUILD_EXAMPLES=OFF -DLLAMA_BUILD_APP=OFF \
      -DLLAMA_BUILD_TOOLS=ON -DLLAMA_BUILD_SERVER=ON -DLLAMA_USE_PREBUILT_UI=OFF \
      -DLLAMA_OPENSSL=OFF -DLLAMA_BUILD_COMMON=ON \
      -DCMAKE_BUILD_WITH_INSTALL_RPATH=ON "-DCMAKE_INSTALL_RPATH=\$ORIGIN;\$ORIGIN/../lib" \
      "${cmake_flags[@]}" >"$log" 2>&1; then
    fail "llama.cpp could not be configured; the reason stands in ${log/#$HOME/\~}."
  fi
  # shellcheck disable=SC2086
  if ! cmake --build "$build" -t $targets 2>&1 | tee -a "$log" | show_progress; then
    fail "llama.cpp did not build; the reason stands in ${log/#$HOME/\~}."
  fi
  rm -rf "$into.new" && mkdir -p "$into.new/lib" "$into.new/bin"
  cp -P "$build"/bin/lib*.so* "$into.new/lib/"
  find "$build/bin" -maxdepth 1 -type f -perm -u+x ! -name 'lib*' -exec cp {} "$into.new/bin/" \;
  copy_headers "$tree" "$into.new"
  echo "$kind" > "$into.new/KIND"
  rm -rf "$into" && mv "$into.new" "$into"
}

# The native flags compile AMX in where the processor has it. Its kernels in v0.5.0 compute only the
# first of several sequences (src/engine/llama/llama_backends.cc), and die where the system does not
# permit tiles. So such a processor gets all the rest of what it has, by name.
without_amx() {
  [[ -z ${GGML_NATIVE:-} ]] && grep -qsw amx_tile "${CPUINFO:-/proc/cpuinfo}" || return 0
  echo -DGGML_NATIVE=OFF
  local flag
  for flag in AVX512:avx512f AVX512_VBMI:avx512vbmi AVX512_VNNI:avx512_vnni AVX512_BF16:avx512_bf16; do
    grep -qsw "${flag#*:}" "${CPUINFO:-/proc/cpuinfo}" && echo "-DGGML_${flag%:*}=ON"
  done
  return 0
}

source_key() {
  { echo "$version"; printf '%s\n' "${cmake_flags[@]}"; ${CXX:-c++} --version | head -n 1
    grep -m 2 -E '^(model name|flags|Features)' /proc/cpuinfo 2>/dev/null; } | sha256sum | cut -c 1-12
}

check_user_tree() {
  [[ -f $1/include/llama.h ]] || fail "LLAMA_DIR=$1 is not a checkout of llama.cpp (it has no include/llama.h)."
  local found
  found=v$(sed -n -E 's/^set\(LLAMA_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)\)/\2/p' "$1/CMakeLists.txt" | paste -sd.)
  [[ $found == "$version" ]] ||
    fail "LLAMA_DIR=$1 is llama.cpp ${found/#v/version }; Holdfast is written against $version. Check out that tag there."
}

platform() {
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) echo linux-x64 ;;
    Linux-aarch64) echo linux-arm64 ;;
    *) fail "there is no pinned prebuilt engine for $(uname -s) $(uname -m); use ENGINE=source." ;;
  esac
}

# Two makes at once fetch and build a thing once; different things do not wait
# for one another.
locked() {
  local lock=$cache/$1.lock
  shift
  (flock 9; "$@") 9>"$lock"
}
once_prebuilt() { [[ -f $prefix/KIND ]] || make_prebuilt "$prefix" "$name"; }
once_source() {
  [[ -f $prefix/KIND && ( -z ${ENGINE_WITH_PEER:-} || -x $prefix/bin/llama-server ) ]] ||
    make_source "$prefix" "$cache/llama.cpp-$version" "$targets"
}

mkdir -p "$cache"
export GGML_OPENMP=${GGML_OPENMP:-OFF}
mapfile -t cmake_flags < <(env | sed -n -E 's/^(GGML_[A-Z0-9_]+=.*)/-D\1/p' | sort; without_amx)
targets="llama llama-common"
[[ -n ${ENGINE_WITH_PEER:-} ]] && targets+=" llama-server llama-bench llama-quantize"

if [[ $kind == tree ]]; then
  locked source fetch_source
  echo "$cache/llama.cpp-$version"
  exit
fi
if [[ -n ${LLAMA_DIR:-} ]]; then
  check_user_tree "$LLAMA_DIR"
  kind=own
  prefix=$cache/engine-own-$(echo "$LLAMA_DIR" | sha256sum | cut -c 1-8)-$(source_key)
  locked "$(basename "$prefix")" make_source "$prefix" "$LLAMA_DIR" "$targets"  # ninja knows what is old
  echo "$prefix"
  exit
fi

case $kind in
  prebuilt|cuda|vulkan)
    name=$(platform)
    [[ $kind == prebuilt ]] || name+=-$kind
    [[ -n ${integrity[@node-llama-cpp/$name]:-} ]] || fail "there is no prebuilt $kind engine for this platform; use ENGINE=source."
    prefix=$cache/engine-$version-$name-$package_version
    if [[ ! -f $prefix/KIND ]]; then
      locked source fetch_source
      locked "$(basename "$prefix")" once_prebuilt
    fi ;;
  source)
    prefix=$cache/engine-$version-source-$(source_key)
    if [[ ! -f $prefix/KIND || ( -n ${ENGINE_WITH_PEER:-} && ! -x $prefix/bin/llama-server ) ]]; then
      locked source fetch_source
      locked "$(basename "$prefix")" once_source
    fi ;;
  *) fail "ENGINE=$kind is unknown; it is one of prebuilt, source, cuda, vulkan, tree." ;;
esac
echo "$prefix"
