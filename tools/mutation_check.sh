#!/usr/bin/env bash
# Breaks the engine on purpose, one small mistake at a time (tools/mutations.txt), and expects a test to turn red for each.
#
#   tools/mutation_check.sh            every mutation
#   tools/mutation_check.sh adagrad    those whose name matches a regular expression
#   tools/mutation_check.sh --list     their names
#   tools/mutation_check.sh --stale    builds nothing: names those that no longer change the code, and exits 1 if there are any
#
# Works in build/mutation on a copy of the working tree. Prints "killed" or "SURVIVED" for each, and exits 1 when one survived, does
# not compile, or no longer applies to the code. An hour or so on two cores; run it by hand before closing a change of the engine.
set -euo pipefail
cd "$(dirname "$0")/.."

list=tools/mutations.txt
work=build/mutation
tree=$work/tree
out=$work/build
log=$work/log
seconds_a_test=900

if [[ "${1:-}" == --list ]]; then
  sed -n 's/^name: //p' "$list"
  exit 0
fi
stale_only=0
[[ "${1:-}" != --stale ]] || { stale_only=1; shift; }
filter="${1:-.}"

names=() files=() rooms=() edits=()
while IFS= read -r line; do
  case "$line" in
    "name: "*) names+=("${line#name: }") ;;
    "file: "*) files+=("${line#file: }") ;;
    "tests: "*) rooms+=("${line#tests: }") ;;
    "sed: "*) edits+=("${line#sed: }") ;;
    "" | "#"*) ;;
    *) echo "error: $list: cannot read '$line'" >&2; exit 2 ;;
  esac
done <"$list"
if [[ ${#names[@]} -ne ${#files[@]} || ${#names[@]} -ne ${#rooms[@]} || ${#names[@]} -ne ${#edits[@]} ]]; then
  echo "error: $list: every mutation needs name, file, tests and sed" >&2
  exit 2
fi

chosen=() needed=()
for i in "${!names[@]}"; do
  [[ "${names[$i]}" =~ $filter ]] || continue
  chosen+=("$i")
  needed+=(${rooms[$i]})
done
if [[ ${#chosen[@]} -eq 0 ]]; then
  echo "error: no mutation matches '$filter'" >&2
  exit 2
fi

stale() { sed -E "${edits[$1]}" "${files[$1]}" | cmp -s - "${files[$1]}"; }
bad=0
for i in "${chosen[@]}"; do
  if stale "$i"; then
    echo "STALE     ${names[$i]}: changes nothing in ${files[$i]}"
    bad=1
  fi
done
[[ $stale_only -eq 0 && $bad -eq 0 ]] || exit "$bad"

targets() { printf 'hotrow_%s_test ' "$@"; }
# The first of the rooms whose tests are red; fails when all are green.
first_red() {
  local room
  for room in "$@"; do
    if ! GTEST_FAIL_FAST=1 timeout "$seconds_a_test" "$out/tests/$room/hotrow_${room}_test" >"$log" 2>&1; then
      echo "$room"
      return 0
    fi
  done
  return 1
}

rm -rf "$tree"
mkdir -p "$tree"
git ls-files -coz --exclude-standard | tar --null --no-recursion --ignore-failed-read -T - -cf - | tar -xmf - -C "$tree"
cmake -S "$tree" --preset release -B "$out" >"$log" || { cat "$log"; exit 1; }

mapfile -t needed < <(printf '%s\n' "${needed[@]}" | sort -u)
echo "building and testing the unbroken code: ${needed[*]}"
ninja -C "$out" $(targets "${needed[@]}") >"$log" 2>&1 || { tail -30 "$log"; exit 1; }
if room="$(first_red "${needed[@]}")"; then
  tail -30 "$log"
  echo "error: the tests of $room are red before anything is broken" >&2
  exit 1
fi

for i in "${chosen[@]}"; do
  file="$tree/${files[$i]}"
  cp "$file" "$work/original"
  sed -E "${edits[$i]}" "$work/original" >"$file"
  if ! ninja -C "$out" $(targets ${rooms[$i]}) >"$log" 2>&1; then
    echo "BROKEN    ${names[$i]}: does not compile"
    grep -m3 'error:' "$log" || true
    bad=1
  elif room="$(first_red ${rooms[$i]})"; then
    echo "killed    ${names[$i]} (by $room: $(grep -m1 -o 'FAILED  \] [A-Za-z0-9_./]*' "$log" | cut -d' ' -f4 || echo 'did not end'))"
  else
    echo "SURVIVED  ${names[$i]}"
    bad=1
  fi
  cp "$work/original" "$file"
done
exit "$bad"
