#!/usr/bin/env bash
# The packages of dist/ in a Debian that holds nothing else: `make package-test`. It needs root, for
# debootstrap, chroot and mounts; so it is not a part of `make test`.
#
#   1  lintian finds no error
#   2  the .deb is installed into a fresh root; its pages, completions and unit are where they belong
#   3  the unit's command runs as an unprivileged user without capabilities, on a root that is
#      read-only but for the state folder, as systemd would run it
#   4  a conversation; kill -9; a start; the conversation goes on from the disk
#   5  an upgrade while the server runs: it answers on; after a restart the states are there, and
#      changed settings are kept
#   6  removal keeps settings and states, purging takes them
#   7  the archive, unpacked anywhere by anybody in a root of another release, moved, and run
#
# SUITE and OTHER_SUITE are the releases, MIRROR is where they come from, PORT is the server's.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/package/lib.sh
OTHER_SUITE=${OTHER_SUITE:-trixie}

# shellcheck disable=SC2012
deb=$(ls -t dist/holdfast_*.deb | head -n 1)
# shellcheck disable=SC2012
archive=$(ls -t dist/holdfast-*-linux-"$(uname -m)".tar.gz | head -n 1)
package=$(dpkg-deb -f "$deb" Package)
version=$(dpkg-deb -f "$deb" Version)

# What stands in the unit under a name.
unit() { sed -n "s/^$1=//p" "$root/lib/systemd/system/holdfast.service"; }

# The unit's ExecStart, in the world that the unit describes.
start() {
  local exec environment state=$root/var/lib/private/holdfast
  exec=$(unit ExecStart)
  environment=$(unit Environment)
  mkdir -p "$state" && chmod 0700 "$state" && chown "$uid:$uid" "$state"
  ln -sfn private/holdfast "$root/var/lib/holdfast"
  chmod 0755 "$root/var/lib/private"
  log=$work/server.log
  # shellcheck disable=SC2046,SC2086
  confined "$uid" "$state" /var/lib/private/holdfast env -i PATH=/usr/bin:/bin "${environment//%S//var/lib}" \
    $(grep -v '^#' "$root/etc/holdfast/environment") $exec >>"$log" 2>&1 &
  await_ready
  server=$(server_pid "$uid")
}

rm -f "$work/server.log"
new_talk
root=$work/root

# --- 1 ----------------------------------------------------------------------------------------------
say "lintian on $deb"
lintian --fail-on error --suppress-tags initial-upload-closes-no-bugs --allow-root "$deb" || fail "lintian"

# --- 2 ----------------------------------------------------------------------------------------------
say "a fresh $SUITE"
fresh "$SUITE" "$root"
before=$(du -s --apparent-size -B1 --exclude=proc --exclude=dev -x "$root" | cut -f 1)
cp "$deb" "$root/tmp/holdfast.deb"
say "installing"
began=$SECONDS
inside apt-get update -q >"$work/apt.log" 2>&1 || { tail "$work/apt.log" >&2; fail "apt-get update"; }
inside apt-get install -y -q --no-install-recommends /tmp/holdfast.deb >>"$work/apt.log" 2>&1 ||
  { tail -n 20 "$work/apt.log" >&2; fail "apt-get install"; }
inside apt-get clean
after=$(du -s --apparent-size -B1 --exclude=proc --exclude=dev -x "$root" | cut -f 1)
say "installed in $((SECONDS - began)) s; the root grew by $(((after - before) / 1000000)) MB"
inside holdfast --version | sed 's/^/        /' | cut -c 1-100
inside ldd /usr/bin/holdfast | grep 'not found' && fail "libraries are missing"
for file in usr/share/man/man1/holdfast-serve.1.gz usr/share/bash-completion/completions/holdfast \
    usr/share/zsh/vendor-completions/_holdfast usr/share/fish/vendor_completions.d/holdfast.fish \
    etc/holdfast/environment lib/systemd/system/holdfast.service usr/share/doc/"$package"/copyright \
    etc/systemd/system/multi-user.target.wants/holdfast.service; do
  [[ -e $root/$file || -L $root/$file ]] || fail "$file was not installed"
done

# --- 3, 4 -------------------------------------------------------------------------------------------
echo "HOLDFAST_PORT=$PORT" >>"$root/etc/holdfast/environment"
say "the unit's command: $(unit ExecStart)"
start
[[ $(ps -o uid= -p "$server" | tr -d ' ') -eq $uid ]] || fail "it does not run as user $uid"
grep -q '^CapBnd:[[:space:]]*0*$' "/proc/$server/status" || fail "it has capabilities"
turn "$facts What is the code of house two?" 0
turn "And that of house five?" 60
written
say "kill -9"
kill_hard
began=$(date +%s%N)
start
say "started again in $((($(date +%s%N) - began) / 1000000)) ms"
turn "And that of house one?" 60 disk

# --- 5 ----------------------------------------------------------------------------------------------
say "an upgrade while it runs"
next=$version+upgrade
rm -rf "$work/next" && dpkg-deb -R "$deb" "$work/next"
sed -i "s/^Version: .*/Version: $next/" "$work/next/DEBIAN/control"
dpkg-deb --root-owner-group -Znone -b "$work/next" "$root/tmp/next.deb" >/dev/null
turn "And that of house four?" 60
inside dpkg --force-confold -i /tmp/next.deb >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log" >&2; fail "the upgrade"; }
[[ $(inside dpkg-query -W -f '${Version}' "$package") == "$next" ]] || fail "the version is not $next"
turn "And that of house three?" 60
stop
start
turn "And once more that of house two?" 60 disk
grep -q "^HOLDFAST_PORT=$PORT" "$root/etc/holdfast/environment" || fail "the upgrade changed settings"

# --- 6 ----------------------------------------------------------------------------------------------
say "removal"
stop
inside apt-get remove -y -q "$package" >"$work/apt.log" 2>&1 || { cat "$work/apt.log" >&2; fail "removal"; }
[[ ! -e $root/usr/bin/holdfast && ! -e $root/usr/lib/holdfast ]] || fail "the program is still there"
[[ -f $root/etc/holdfast/environment ]] || fail "removal took the settings"
[[ -n $(find "$root/var/lib/private/holdfast/states/blobs" -type f) ]] || fail "removal took the states"
inside apt-get purge -y -q "$package" >"$work/apt.log" 2>&1 || { cat "$work/apt.log" >&2; fail "purge"; }
for rest in etc/holdfast var/lib/private/holdfast var/lib/holdfast usr/share/holdfast \
    etc/systemd/system/multi-user.target.wants/holdfast.service; do
  [[ ! -e $root/$rest && ! -L $root/$rest ]] || fail "purging left $rest"
done

# --- 7 ----------------------------------------------------------------------------------------------
say "the archive in a fresh $OTHER_SUITE"
root=$work/other
fresh "$OTHER_SUITE" "$root"
place="$root/srv/a folder"
mkdir -p "$place"
tar -C "$place" -xzf "$archive"
name=$(basename "$archive" .tar.gz)
inside ldd "/srv/a folder/$name/bin/holdfast" | grep 'not found' && fail "libraries are missing"
mv "$place/$name" "$place/moved"
mkdir -m 0700 "$root/srv/home" && chown "$uid:$uid" "$root/srv/home"
log=$work/archive.log
chroot --userspec="$uid:$uid" "$root" env -i HOME=/srv/home PATH=/usr/bin:/bin \
  "/srv/a folder/moved/bin/holdfast" serve --port "$PORT" >"$log" 2>&1 &
await_ready
server=$(server_pid "$uid")
new_talk
turn "$facts What is the code of house two?" 0
turn "And that of house five?" 60
grep -qE "$root/(usr/)?lib/.*lib(ssl|sqlite3|edit)" "/proc/$server/maps" && fail "it uses the system's libraries"
stop
[[ -n $(find "$root/srv/home/.cache/holdfast/states/blobs" -type f) ]] || fail "it kept no states"
for place in "${mounted[@]}"; do umount -l "$place"; done
mounted=()
say "the packages do what they should"
