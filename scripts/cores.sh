#!/usr/bin/env bash
# How many jobs can run at a time here: the CPUs of nproc, or as many as the CPU quota of this process's cgroups fills,
# as hotrow/machine/cores.h has it. nproc knows no quotas, and believes OMP_NUM_THREADS, which is not about builds.
set -euo pipefail

cores="$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc)"

limit_to() {  # QUOTA PERIOD, in microseconds; a quota of "max" or -1 is none
  [[ "$1" =~ ^[1-9][0-9]*$ && "$2" =~ ^[1-9][0-9]*$ ]] || return 0
  local filled=$((($1 + $2 - 1) / $2))
  cores=$((filled < cores ? filled : cores))
}

limit_to_group() {  # DIRECTORY, of either version
  local quota period
  if [[ -r "$1/cpu.max" ]]; then
    read -r quota period < "$1/cpu.max" && limit_to "$quota" "$period"
  elif [[ -r "$1/cpu.cfs_quota_us" && -r "$1/cpu.cfs_period_us" ]]; then
    limit_to "$(< "$1/cpu.cfs_quota_us")" "$(< "$1/cpu.cfs_period_us")"
  fi
}

if [[ -r /proc/self/cgroup ]]; then
  while IFS=: read -r _ controllers group; do
    case ",$controllers," in
      ,,) mount=/sys/fs/cgroup ;;
      *,cpu,*) mount=/sys/fs/cgroup/cpu ;;
      *) continue ;;
    esac
    group="${group%/}"
    while limit_to_group "$mount$group" && [[ -n "$group" ]]; do group="${group%/*}"; done
  done < /proc/self/cgroup
fi
echo "$cores"
