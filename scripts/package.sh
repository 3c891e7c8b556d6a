#!/usr/bin/env bash
# Builds the packages of one engine kind into dist/: scripts/package.sh ENGINE JOBS
#
#   holdfast[-cuda|-vulkan|-native]_VERSION_ARCH.deb     by debhelper, which knows how a service is
#                                                        stopped, upgraded, removed and purged
#   holdfast-VERSION-linux-MACHINE[-KIND].tar.gz         the same tree with the libraries that a
#                                                        small system may lack; unpack and run
#   ...-symbols.tar.gz                                   names of all functions, for `addr2line`
#
# DEBFULLNAME and DEBEMAIL name the maintainer, as for other Debian packages.
set -euo pipefail
cd "$(dirname "$0")/.."
engine=$1 jobs=$2
fail() { echo "package: $*" >&2; exit 1; }

version=$(sed -nE 's/^project\(holdfast VERSION ([0-9.]+).*/\1/p' CMakeLists.txt)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CMakeLists.txt)}
export SOURCE_DATE_EPOCH

scripts/build.sh "$engine" package holdfast "$jobs"
work=build/package/pack
rm -rf "$work" && mkdir -p "$work" dist
stage=$PWD/$work/stage
DESTDIR=$stage cmake --install build/package --prefix /usr >"$work/install.log"
kind=$(sed -n 's#^HOLDFAST_ENGINE_DIR:PATH=\(.*\)#\1/KIND#p' build/package/CMakeCache.txt | xargs cat)

# --- nothing of this machine is in it -------------------------------------------------------------
home=${HOME%/}
while IFS= read -r -d '' file; do
  if strings -a "$file" | grep -qF -e "$PWD" -e "${home:?}/.cache"; then
    fail "${file#"$stage"} names a folder of this machine: $(strings -a "$file" | grep -F -e "$PWD" -e "$home/.cache" | head -n 1)"
  fi
done < <(find "$stage" -type f -print0)

# --- symbols, then without them --------------------------------------------------------------------
# Suffix of names: none for the engine that most have.
suffix='' package=holdfast
case $kind in
  prebuilt) words="one library for each generation of processors" ;;
  source|own) suffix=-native words="built for the processor of the machine that built it" ;;
  *) suffix=-$kind words="for processors and $kind" ;;
esac
package+=$suffix
machine=$(uname -m)
name=holdfast-$version-linux-$machine$suffix
archive() {  # FOLDER FILE: the same bytes each time
  tar -C "$(dirname "$1")" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" \
    -cf - "$(basename "$1")" | gzip -9n >"$2"
}
mkdir -p "$work/$name-symbols"
objcopy --only-keep-debug "$stage/usr/bin/holdfast" "$work/$name-symbols/holdfast.debug"
archive "$work/$name-symbols" "dist/$name-symbols.tar.gz"
find "$stage/usr/bin" "$stage/usr/lib" -type f -exec strip --strip-unneeded {} +

# --- the archive: with all but the libraries that belong to the C and C++ compilers ---------------
cp -a "$stage/usr" "$work/$name"
ours=lib/holdfast
base='^(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s)[.-]'
mkdir -p "$work/$name/share/doc/holdfast/licences"
while read -r library path; do
  [[ $library =~ $base || $path == "$PWD/$work"/* ]] && continue
  cp -L "$path" "$work/$name/$ours/$library"
  owner=$(dpkg-query -S "*/$(basename "$(realpath "$path")")" 2>/dev/null | sed 's/:.*//;q') || true
  [[ -n $owner ]] || fail "no package has $path, so its licence is not known"
  cp "/usr/share/doc/$owner/copyright" "$work/$name/share/doc/holdfast/licences/$owner"
done < <(ldd "$work/$name/bin/holdfast" | sed -nE 's/^\s*(\S+) => (\/\S+).*/\1 \2/p')
cp "$(scripts/engine.sh tree)/LICENSE" "$work/$name/share/doc/holdfast/licences/llama.cpp"
archive "$work/$name" "dist/$name.tar.gz"

# --- the Debian package -----------------------------------------------------------------------------
deb=$work/deb
mkdir -p "$deb"
cp -a packaging/debian "$deb/debian"
maintainer="${DEBFULLNAME:-The Holdfast authors} <${DEBEMAIL:-holdfast@example.org}>"
depends='' relations=''
[[ $kind == vulkan ]] && depends=", libvulkan1"
[[ $package == holdfast ]] || relations=$'Provides: holdfast\nConflicts: holdfast\nReplaces: holdfast\n'
fill() {  # FILE: FILE.in with its @names@ filled in
  local text
  text=$(<"$deb/debian/$1.in")
  text=${text//@maintainer@/$maintainer}
  text=${text//@package@/$package}
  text=${text//@depends@/$depends}
  text=${text//@relations@/$relations}
  text=${text//@kind@/$kind}
  text=${text//@engine@/$words}
  text=${text//@licence@/$(tail -n +4 LICENSE | sed -e 's/^$/./' -e 's/^/ /')}
  printf '%s\n' "$text" >"$deb/debian/$2"
  rm "$deb/debian/$1.in"
}
fill control control
fill copyright copyright
fill lintian-overrides "$package.lintian-overrides"
mv "$deb/debian/postrm" "$deb/debian/$package.postrm"
cat >"$deb/debian/changelog" <<END
holdfast ($version) unstable; urgency=medium

  * See CHANGELOG.md of the source.

 -- $maintainer  $(date -R -u -d "@$SOURCE_DATE_EPOCH")
END
(cd "$deb" && STAGE=$stage dpkg-buildpackage -b -uc -us -d >../deb.log 2>&1) ||
  { tail -n 30 "$work/deb.log" >&2; fail "dpkg-buildpackage failed; its log is $work/deb.log"; }
cp "$work"/${package}_*.deb dist/
(cd dist && ls -l "${package}_${version}"_*.deb "$name".tar.gz "$name"-symbols.tar.gz) |
  awk '{ printf "dist/%s  %.1f MB\n", $NF, $5 / 1e6 }'
