# shellcheck shell=bash disable=SC2034,SC2154
# What the tests of packages and container files share: fresh roots, a server in a world as small as that
# of a service, a conversation. To be sourced from the root of the source.
SUITE=${SUITE:-bookworm} PORT=${PORT:-18410}
# Where this system's own packages come from.
MIRROR=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | head -n 1)}
url=http://127.0.0.1:$PORT
work=$PWD/build/package-test
talk=$PWD/tests/package/talk.mjs
uid=61234   # of those that DynamicUser= takes

say() { printf '%4d s  %s\n' "$SECONDS" "$*"; }
fail() { echo "FAILED: $*" >&2; [[ -f ${log:-} ]] && tail -n 20 "$log" >&2; exit 1; }
[[ $(id -u) -eq 0 ]] || { echo "this test needs root: debootstrap, chroot and mounts do." >&2; exit 1; }

server=
mounted=()
net=()      # what a client's command begins with, to be in the server's network
finish() {
  [[ -n $server ]] && kill -9 "$server" 2>/dev/null
  for place in "${mounted[@]}"; do umount -l "$place" 2>/dev/null; done
  return 0
}
trap finish EXIT

# kept SUITE: the archive of a minimal Debian, made once.
kept() {
  local archive=$work/root-$1.tar
  if [[ ! -f $archive ]]; then
    rm -rf "$work/new" && mkdir -p "$work/new"
    debootstrap --variant=minbase "$1" "$work/new" "$MIRROR" >"$work/debootstrap.log" 2>&1 ||
      { tail "$work/debootstrap.log" >&2; fail "debootstrap"; }
    tar -C "$work/new" -cf "$archive.part" . && mv "$archive.part" "$archive"
    rm -rf "$work/new"
  fi
  echo "$archive"
}
# fresh SUITE FOLDER: an unpacked one, in which programs can be run.
fresh() {
  local archive
  archive=$(kept "$1")
  rm -rf --one-file-system "$2"
  mkdir -p "$2"
  tar -C "$2" -xf "$archive"
  for place in proc dev; do
    mount --bind "/$place" "$2/$place"
    mounted+=("$2/$place")
  done
  cp -L /etc/resolv.conf "$2/etc/resolv.conf"
}
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }

# confined USER STATE PLACE COMMAND...: runs it in $root, which is read-only but for the folder STATE at PLACE
# and a /tmp of its own, as that user, without capabilities, as a service or a container would.
confined() {
  # shellcheck disable=SC2016
  unshare --mount --propagation private bash -c '
    set -e
    root=$1 user=$2 state=$3 place=$4
    shift 4
    mount --rbind "$root" "$root"
    mount --bind "$state" "$root$place"
    mount -t tmpfs tmpfs "$root/tmp"
    mount -o remount,bind,ro "$root"
    exec chroot "$root" setpriv --reuid "$user" --regid "$user" --clear-groups --no-new-privs \
      --bounding-set=-all --inh-caps=-all "$@"' confined "$root" "$@"
}
# The server's process: the oldest one of that user.
server_pid() { pgrep -o -u "$1" -x holdfast; }
await_ready() {
  local i
  for ((i = 0; i < 600; i++)); do
    "${net[@]}" curl -sf "$url/health" >/dev/null && return
    sleep 0.1
  done
  fail "the server is not ready"
}
await_end() { while kill -0 "$server" 2>/dev/null; do sleep 0.1; done; server=; }
stop() { kill -TERM "$server"; await_end; }
kill_hard() { kill -9 "$server"; await_end; }

# --- a conversation -----------------------------------------------------------------------------------
facts=$(printf 'The code of house %s is %s. ' one 4711 two 1234 three 8080 four 9999 five 1357)
new_talk() { rm -f "$work/talk.json"; }
# turn QUESTION LEAST [FROM]: at least LEAST percent of the prompt are reused, and from there.
turn() {
  local prompt cached from
  read -r prompt cached from < <("${net[@]}" node "$talk" "$url" "$work/talk.json" "$1")
  say "  $cached of $prompt prompt tokens reused (from: $from)"
  ((cached * 100 >= prompt * $2)) || fail "less than $2% of the prompt was reused"
  [[ -z ${3:-} || $from == "$3" ]] || fail "reused from $from, not from $3"
}
# A conversation rests for two seconds before it is written.
written() {
  local i
  sleep 3
  for ((i = 0; i < 200; i++)); do
    "${net[@]}" curl -sf "$url/cache" | grep -q '"waiting_conversations": *0' && return
    sleep 0.1
  done
  fail "the states are not written"
}
mkdir -p "$work"
