#!/usr/bin/env bash
# The service under a real systemd: a Debian that is booted in a container (systemd-nspawn), with a
# network of its own, into which the package of dist/ is installed. It starts by itself; it is killed
# and crashes, and systemd starts it again; it is upgraded, stopped, removed and purged.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/package/lib.sh
url=http://127.0.0.1:8080   # nobody else is in there
# shellcheck disable=SC2012
deb=$(ls -t dist/holdfast_*.deb | head -n 1)
package=$(dpkg-deb -f "$deb" Package)
root=$work/booted

say "a $SUITE with systemd"
fresh "$SUITE" "$root"
inside apt-get update -q >"$work/apt.log" 2>&1
inside apt-get install -y -q --no-install-recommends systemd systemd-sysv dbus >>"$work/apt.log" 2>&1 ||
  { tail "$work/apt.log" >&2; fail "apt-get"; }
mkdir -p "$root/packages"
cp "$deb" "$root/packages/holdfast.deb"
rm -rf "$work/next" && dpkg-deb -R "$deb" "$work/next"
sed -i 's/^Version: .*/&+upgrade/' "$work/next/DEBIAN/control"
dpkg-deb --root-owner-group -Znone -b "$work/next" "$root/packages/next.deb" >/dev/null
inside apt-get install -y -q --no-install-recommends --download-only /packages/holdfast.deb >>"$work/apt.log" 2>&1
for place in "${mounted[@]}"; do umount -l "$place"; done
mounted=()

say "booting"
systemd-nspawn --quiet --register=no --keep-unit --private-network --machine=holdfast-test -D "$root" --boot \
  >"$work/boot.log" 2>&1 &
machine=$!
leave() { kill -TERM "$machine" 2>/dev/null && wait "$machine" 2>/dev/null; finish; }
trap leave EXIT
init=
for ((i = 0; i < 300 && ${init:-0} == 0; i++)); do
  sleep 0.1
  init=$(pgrep -P "$machine" -x systemd | head -n 1) || init=
done
[[ -n $init ]] || fail "it did not boot"
net=(nsenter -t "$init" -n)
booted() { nsenter -t "$init" -m -u -i -n -p -r -w env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
log=$work/boot.log
for ((i = 0; i < 300; i++)); do
  case $(booted systemctl is-system-running 2>/dev/null) in running|degraded) break ;; esac
  sleep 0.2
done

shown() { booted systemctl show holdfast -p "$1" --value; }
await_active() {
  await_ready
  [[ $(booted systemctl is-active holdfast) == active ]] || fail "the service is not active"
}
# killed SIGNAL: its process gets it, and systemd starts another.
killed() {
  local before
  before=$(shown MainPID)
  booted systemctl kill --kill-who=main --signal="$1" holdfast
  for ((i = 0; i < 300; i++)); do
    [[ $(shown MainPID) != "$before" && $(shown MainPID) != 0 ]] && break
    sleep 0.1
  done
  await_active
}

say "installing"
booted apt-get install -y -q --no-install-recommends /packages/holdfast.deb >"$work/apt.log" 2>&1 ||
  { tail -n 20 "$work/apt.log" >&2; fail "apt-get install"; }
await_active
pid=$(shown MainPID)
say "it runs as $(booted ps -o user= -p "$pid" 2>/dev/null || booted stat -c %U "/proc/$pid"), started by its installation"
[[ $(booted stat -c %u "/proc/$pid") -ge 61184 ]] || fail "it has no user of its own"
[[ $(booted stat -c '%a' /var/lib/private/holdfast) == 700 ]] || fail "others can look into the states"
booted cat "/proc/$pid/status" | grep -q '^Seccomp:[[:space:]]*2' || fail "its system calls are not filtered"
new_talk
turn "$facts What is the code of house two?" 0
turn "And that of house five?" 60
written

say "kill -9"
killed KILL
turn "And that of house one?" 60 disk
written
say "SIGSEGV"
killed SEGV
booted journalctl -u holdfast --no-pager -o cat | grep -q '^holdfast: crash: SIGSEGV' || fail "the journal has no report"
turn "And that of house three?" 60 disk
written

say "an upgrade"
before=$(shown MainPID)
booted dpkg -i /packages/next.deb >"$work/dpkg.log" 2>&1 || { cat "$work/dpkg.log" >&2; fail "the upgrade"; }
await_active
[[ $(shown MainPID) != "$before" ]] || fail "the old program still runs"
turn "And that of house four?" 60 disk

say "stop, removal, purge"
began=$(date +%s%N)
booted systemctl stop holdfast
say "stopped in $((($(date +%s%N) - began) / 1000000)) ms"
booted systemctl start holdfast
await_active
booted apt-get remove -y -q "$package" >"$work/apt.log" 2>&1 || { cat "$work/apt.log" >&2; fail "removal"; }
[[ $(booted systemctl is-active holdfast) != active ]] || fail "it runs after its removal"
[[ -n $(find "$root/var/lib/private/holdfast/states/blobs" -type f) ]] || fail "removal took the states"
booted apt-get purge -y -q "$package" >"$work/apt.log" 2>&1 || { cat "$work/apt.log" >&2; fail "purge"; }
[[ ! -e $root/var/lib/private/holdfast && ! -e $root/etc/holdfast ]] || fail "purging left something"
say "the service does what it should"
