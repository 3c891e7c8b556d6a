#!/usr/bin/env bash
# The container files with the package of dist/, where there is neither a container engine nor a registry:
# buildah follows the Dockerfile, on a base that debootstrap makes, and what comes out is run as its
# configuration says: its user, its environment, its command, on a read-only root with a volume.
set -euo pipefail
cd "$(dirname "$0")/../.."
source tests/package/lib.sh
image=holdfast-test
store=(--root "$work/containers" --runroot "$work/containers-run" --storage-driver vfs)
bud() { buildah "${store[@]}" "$@"; }

say "a base image of $SUITE"
if ! bud inspect localhost/holdfast-base >/dev/null 2>&1; then
  container=$(bud from scratch)
  bud add "$container" "$(kept "$SUITE")" / >/dev/null
  bud commit --quiet --rm "$container" localhost/holdfast-base >/dev/null
fi
say "building"
bud build --isolation chroot --network host --format docker --layers=false --quiet \
  -f packaging/container/Dockerfile --build-arg BASE=localhost/holdfast-base --build-arg PACKAGE=ready \
  -t "localhost/$image" . >"$work/buildah.log" 2>&1 || { tail -n 20 "$work/buildah.log" >&2; fail "buildah"; }

container=$(bud from "localhost/$image")
root=$(bud mount "$container")
config() { bud inspect --format "$1" "$container"; }
user=$(config '{{.OCIv1.Config.User}}')
mapfile -t environment < <(config '{{range .OCIv1.Config.Env}}{{println .}}{{end}}' | sed '/^$/d;/^HOLDFAST_PORT=/d')
mapfile -t command < <(config '{{range .OCIv1.Config.Entrypoint}}{{println .}}{{end}}{{range .OCIv1.Config.Cmd}}{{println .}}{{end}}' |
  sed '/^$/d')
health=$(config '{{index .Docker.Config.Healthcheck.Test 1}}')
say "user $user, command ${command[*]}, $(du -sm "$root" | cut -f 1) MB with the system"
[[ $user != 0* && $user != root* && -n $user ]] || fail "it runs as root"

volume=$work/volume
rm -rf "$volume" && cp -a "$root/states" "$volume"   # as an engine fills a new volume
for place in proc dev; do mount --bind "/$place" "$root/$place"; mounted+=("$root/$place"); done
start() {
  log=$work/container.log
  confined "${user%%:*}" "$volume" /states env -i "${environment[@]}" "HOLDFAST_PORT=$PORT" "${command[@]}" >>"$log" 2>&1 &
  await_ready
  server=$(server_pid "${user%%:*}")
}
rm -f "$work/container.log"
new_talk
start
chroot "$root" env -i "${environment[@]}" "HOLDFAST_PORT=$PORT" sh -c "$health" >/dev/null || fail "the health check: $health"
turn "$facts What is the code of house two?" 0
turn "And that of house five?" 60
written
kill_hard
! chroot "$root" env -i "${environment[@]}" "HOLDFAST_PORT=$PORT" sh -c "$health" >/dev/null 2>&1 || fail "it is healthy without a server"
start
turn "And that of house one?" 60 disk
stop
for place in "${mounted[@]}"; do umount -l "$place"; done
mounted=()
bud umount "$container" >/dev/null
bud rm "$container" >/dev/null
say "the container does what it should"
