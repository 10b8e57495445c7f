#!/usr/bin/env bash
# Sets the machine up (scripts/setup.sh), builds, and runs the tests.
#
#   ./test.sh [--full] [FILTER]
#
#   release   the whole suite; with --full every case of the matrix (tests/matrix), not a sample
#   asan      the whole suite under AddressSanitizer and UndefinedBehaviorSanitizer
#   tsan      what has threads in it, under ThreadSanitizer; the whole suite with --full
#
# FILTER is a regular expression of test names (ctest -R); all three are built all the same. The last line is the sum over
# the three. For one test while at work: scripts/setup.sh, then ctest --preset release -R FILTER.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

full=0
filter=""
for argument in "$@"; do
  case "$argument" in
    --full) full=1 ;;
    -h | --help) sed -n '2,/^set /{/^#/s/^# \{0,1\}//p}' test.sh; exit 0 ;;
    -*) echo "error: unknown flag '$argument'; valid: --full, --help" >&2; exit 2 ;;
    *)
      if [[ -n "$filter" ]]; then
        echo "error: two filters, '$filter' and '$argument'; a regular expression can say both: 'a|b'" >&2
        exit 2
      fi
      filter="$argument"
      ;;
  esac
done

passed=0
failed=0
skipped=0
broken=()

# count ATTRIBUTE FILE: the number in ctest's JUnit report.
count() { grep -o -m1 " *$1=\"[0-9]*\"" "$2" | head -1 | tr -dc 0-9; }

# run_preset PRESET "TARGETS" [ctest arguments]: builds (everything, if no targets are named) and runs the tests. A failure
# is noted; the next preset still runs.
run_preset() {
  local preset="$1" targets="$2" report="$PWD/build/$1/ctest.xml"
  shift 2
  echo "=== $preset ==="
  # shellcheck disable=SC2086  # the targets are words
  if ! scripts/setup.sh "$preset" $targets; then
    broken+=("$preset: did not build")
    return 0
  fi
  rm -f "$report"
  ctest --preset "$preset" --no-tests=ignore -j "$cores" \
    --output-junit "$report" ${filter:+-R "$filter"} "$@" || broken+=("$preset: tests failed")
  if [[ ! -s "$report" ]]; then
    broken+=("$preset: no report of its tests")
    return 0
  fi
  local total failures not_run
  total="$(count tests "$report")"
  failures="$(count failures "$report")"
  not_run=$(($(count skipped "$report") + $(count disabled "$report")))
  passed=$((passed + total - failures - not_run))
  failed=$((failed + failures))
  skipped=$((skipped + not_run))
}

# Tests at a time.
cores="$(scripts/cores.sh)"

# oneDNN's OpenMP runtime is not instrumented; Hotrow calls it with one OpenMP thread anyway.
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}"

scripts/setup.sh --packages-only
[[ "$full" -eq 0 ]] || export HOTROW_FULL_MATRIX=1
run_preset release ""
unset HOTROW_FULL_MATRIX
run_preset asan "" -LE house
if [[ "$full" -eq 1 ]]; then
  run_preset tsan "" -LE house
else
  run_preset tsan hotrow_thread_tests -L '^(base|machine|comm|trace|embed|dist|sharded|train|property)$'
fi

for line in "${broken[@]}"; do echo "$line"; done
if [[ $((passed + failed)) -eq 0 ]]; then
  echo "error: no test ran${filter:+; none matches '$filter'}" >&2
  exit 1
fi
echo "$passed passed, $failed failed$([[ $skipped -eq 0 ]] || echo ", $skipped skipped")"
[[ "$failed" -eq 0 && ${#broken[@]} -eq 0 ]]
