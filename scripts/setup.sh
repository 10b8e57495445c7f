#!/usr/bin/env bash
# Makes a Debian 12 machine able to build Hotrow, then builds it.
#
#   scripts/setup.sh [PRESET [TARGET...]]     (release, everything)
#   scripts/setup.sh --packages-only
#
# Installs the Debian packages that are missing, as root or with sudo, and says so first. Does nothing to a machine that
# has them. Everything it prints goes to stderr: the standard output belongs to the program that is run afterwards.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

preset="${1:-release}"
shift || true
targets=("$@")
case "$preset" in
  -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' scripts/setup.sh; exit 0 ;;
  -*) [[ "$preset" == --packages-only ]] || { echo "error: unknown flag '$preset'; valid: --packages-only, --help" >&2; exit 2; } ;;
esac

# What cmake/Dependencies.cmake looks for, the tools to build it, and what tests run: python3 for the check of the tree's own
# rules, iproute2 for scripts/hosts.sh.
packages=(
  build-essential g++ cmake ninja-build ccache pkg-config python3
  libdnnl-dev libhwy-dev librandom123-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev libfmt-dev
  libxxhash-dev zlib1g-dev libopenmpi-dev openmpi-bin iproute2 libgtest-dev libgmock-dev libbenchmark-dev
)

say() { echo "setup: $*" >&2; }

install_packages() {
  local missing=() package
  for package in "${packages[@]}"; do
    # The status is asked for, not the exit code: a package that was removed but not purged is still known.
    if [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" != installed ]]; then
      missing+=("$package")
    fi
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0

  local as_root=()
  if [[ "$(id -u)" -ne 0 ]]; then
    if ! command -v sudo >/dev/null; then
      say "error: these Debian packages are missing: ${missing[*]}"
      say "Installing them needs root, and there is no sudo. As root, run:"
      say "  apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
      exit 1
    fi
    as_root=(sudo)
  fi
  say "installing Debian packages that are missing: ${missing[*]}"
  "${as_root[@]}" apt-get -q -o DPkg::Lock::Timeout=300 update >&2
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get -q -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}" >&2
}

if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
  install_packages
else
  say "no apt-get here, so nothing is installed; needed, by their Debian names: ${packages[*]}"
fi
if ! command -v cmake >/dev/null; then
  say "error: there is no cmake; version 3.25 or newer is needed"
  exit 1
fi
[[ "$preset" != --packages-only ]] || exit 0

generator=Ninja
build_file=build.ninja
if ! command -v ninja >/dev/null; then
  generator="Unix Makefiles"
  build_file=Makefile
  say "ninja is not installed: building with make instead"
fi

# A compiler wants up to a gigabyte for the SIMD files, which are compiled once for each target.
cores="$(scripts/cores.sh)"
gigabytes="$(awk '/^MemAvailable:/ {print int($2 / 1048576)}' /proc/meminfo)"
jobs=$((gigabytes < cores ? gigabytes : cores))
jobs=$((jobs < 1 ? 1 : jobs))

build="build/$preset"
if [[ ! -f "$build/$build_file" ]]; then  # afterwards the build configures itself again when it has to
  cmake --fresh --preset "$preset" -G "$generator" >&2
fi
if [[ ${#targets[@]} -gt 0 ]]; then
  cmake --build "$build" -j "$jobs" --target "${targets[@]}" >&2
else
  cmake --build "$build" -j "$jobs" >&2
fi
