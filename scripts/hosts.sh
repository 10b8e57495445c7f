#!/usr/bin/env bash
# Runs a command under mpirun on several "hosts": network namespaces joined by a bridge, over TCP. For trying on one
# machine what a cluster does.
#
#   scripts/hosts.sh [--hosts N] [--ranks N] [--] [COMMAND [ARGUMENT...]]
#
#   --hosts N   1 to 64 hosts, 10.77.0.1 to 10.77.0.N (4)
#   --ranks N   ranks on each (8)
#   COMMAND     what every rank runs; without it a short `hotrow bench` of the release build: dim 128, column-wise, 32
#               reduction units, small tables and a small tower. After --, options of mpirun may stand before it
#
# Needs root, ip (Debian: iproute2) and mpirun (Debian: openmpi-bin). Exit code: mpirun's; 2 for a mistake in the flags; 77,
# and a line that says why, where namespaces cannot be made. Everything it makes is gone when it ends. Runs do not meet:
# each has namespaces of its own, named after its process, and what a run that was killed has left, the next one removes.
set -euo pipefail

hosts=4
ranks=8
fail() { echo "error: $*" >&2; exit 2; }
cannot() { echo "hosts: cannot make hosts here: $*" >&2; exit 77; }

while [[ $# -gt 0 ]]; do
  case "$1" in
    -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    --hosts | --ranks)
      [[ "${2:-}" =~ ^[1-9][0-9]?$ && "$2" -le 64 ]] || fail "$1 '${2:-}': valid: 1 to 64"
      if [[ "$1" == --hosts ]]; then hosts="$2"; else ranks="$2"; fi
      shift 2
      ;;
    --) shift; break ;;
    -*) fail "unknown flag '$1'; valid: --hosts, --ranks, --help" ;;
    *) break ;;
  esac
done
if [[ $# -eq 0 ]]; then
  hotrow="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/build/release/hotrow"
  [[ -x "$hotrow" ]] || fail "there is no $hotrow; build it with scripts/setup.sh"
  set -- "$hotrow" bench --part step --embedding-dim 128 --sharding column_wise --reduction-units 32 --max-rows 1000 \
    --multi-hot one --per-chip-batch 16 --dense-arch 32,128 --over-arch 32,1 --dcn-num-layers 1 --dcn-low-rank 16 \
    --threads 1 --steps 5 --warmup 1 --limits off
fi

[[ "$(id -u)" -eq 0 ]] || cannot "this is not root"
command -v ip >/dev/null || cannot "there is no ip (Debian: iproute2)"
command -v mpirun >/dev/null || cannot "there is no mpirun (Debian: openmpi-bin)"

# Namespaces are named hotrow-PROCESS-HOST; host 0 is the switch, and has the bridge.
# No match is no failure: a run may have made none yet.
namespaces_of() { ip netns list 2>/dev/null | grep -oE "^hotrow-$1-[0-9]+" || true; }

# A run holds the lock of its number for as long as its script lives.
lock_of() { echo "/run/hotrow_hosts.$1.lock"; }

# What is being removed may be gone already: its processes end, and another run may be removing the same leftovers.
remove_run() {
  local name pids
  for name in $(namespaces_of "$1"); do
    pids="$(ip netns pids "$name" 2>/dev/null || true)"
    # shellcheck disable=SC2086  # the pids are words
    [[ -z "$pids" ]] || kill -KILL $pids 2>/dev/null || true
    ip netns delete "$name" 2>/dev/null || true
  done
  rm -rf "${TMPDIR:-/tmp}/hotrow_hosts.$1".* "$(lock_of "$1")"
}

remove_leftovers() {
  local process
  for process in $(namespaces_of '[0-9]+' | cut -d- -f2 | sort -u); do
    [[ "$process" -ne $$ ]] || continue
    # Nobody holds a lock that can be taken; a missing one is made by asking.
    ! flock --nonblock "$(lock_of "$process")" true || remove_run "$process"
  done
}

remove_run "$$"  # a killed run's that had this number
exec {lock}>"$(lock_of "$$")"
flock --nonblock "$lock" || cannot "another process holds $(lock_of "$$")"

mpirun_process=""
files="$(mktemp -d "${TMPDIR:-/tmp}/hotrow_hosts.$$.XXXXXX")"
cleanup() {
  trap - EXIT INT TERM HUP
  if [[ -n "$mpirun_process" ]] && kill -TERM "$mpirun_process" 2>/dev/null; then
    for _ in {1..30}; do  # mpirun ends its ranks, and then itself
      kill -0 "$mpirun_process" 2>/dev/null || break
      sleep 0.1
    done
  fi
  remove_run "$$"
}
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

remove_leftovers
host() { echo "hotrow-$$-$1"; }
make_hosts() {
  local h
  ip netns add "$(host 0)" &&
    ip -n "$(host 0)" link add bridge type bridge &&
    ip -n "$(host 0)" link set bridge up || return 1
  for ((h = 1; h <= hosts; ++h)); do
    ip netns add "$(host "$h")" &&
      ip -n "$(host 0)" link add "port$h" type veth peer name eth0 netns "$(host "$h")" &&
      ip -n "$(host 0)" link set "port$h" master bridge up &&
      ip -n "$(host "$h")" address add "10.77.0.$h/24" dev eth0 &&
      ip -n "$(host "$h")" link set eth0 up &&
      ip -n "$(host "$h")" link set lo up || return 1
    echo "10.77.0.$h slots=$ranks" >>"$files/hostfile"
  done
}
make_hosts 2>"$files/why" || cannot "$(tr '\n' ' ' <"$files/why")"

# ENTER HOST COMMAND...: on that host, which has a name of its own too: MPI takes equal names for one machine.
cat >"$files/enter" <<EOF
#!/bin/sh
host="\$1"
shift
exec ip netns exec "hotrow-$$-\$host" unshare --uts sh -c 'hostname "\$0" && exec "\$@"' "host\$host" "\$@"
EOF
# What mpirun calls instead of ssh: AGENT ADDRESS COMMAND, the command a line for a shell.
cat >"$files/agent" <<EOF
#!/bin/sh
address="\$1"
shift
exec "$files/enter" "\${address##*.}" sh -c "\$*"
EOF
chmod +x "$files/enter" "$files/agent"

# In the background, so that a signal to this script is heard at once. Ranks outnumber cores, so they yield while they wait.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$files/enter" 1 \
  mpirun --hostfile "$files/hostfile" -n "$((hosts * ranks))" --bind-to none --mca plm_rsh_agent "$files/agent" \
  --mca btl tcp,self --mca oob_tcp_if_include eth0 --mca btl_tcp_if_include eth0 --mca mpi_yield_when_idle 1 "$@" {lock}>&- &
mpirun_process=$!
code=0
wait "$mpirun_process" || code=$?
mpirun_process=""
exit "$code"
