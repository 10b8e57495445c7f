#!/usr/bin/env bash
# Sets the machine up (scripts/setup.sh), builds Hotrow, and runs it.
#
#   ./run.sh          a demonstration of about a minute, once it is built (some minutes)
#   ./run.sh ARGS     hotrow ARGS
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"

"$root/scripts/setup.sh" release hotrow_cli
hotrow="$root/build/release/hotrow"
if [[ $# -gt 0 ]]; then
  exec "$hotrow" "$@"  # from the caller's folder: relative paths are the caller's
fi

cd "$root"
demo=build/demo
mkdir -p "$demo"

title() { printf '\n== %s ==\n' "$*"; }
show() {
  printf '$ hotrow %s\n' "$*"
  "$hotrow" "$@"
}

title "A click log whose labels come from a known model, so the best possible AUC is known"
show data generate --out "$demo/train.tsv" --samples 300000 --test-out "$demo/test.tsv" --test-samples 50000 \
  --json "$demo/data.json"

title "Train on one part, evaluate on the other"
show train --config examples/planted.toml --data "$demo/train.tsv" --eval-data "$demo/test.tsv" \
  --save "$demo/model.safetensors"

title "Evaluate the saved model"
show eval --model "$demo/model.safetensors" --data "$demo/test.tsv" --json "$demo/eval.json"
# The last number of that name in a JSON file: the test part comes after the train part.
number() { sed -n "s/.*\"$1\": *\([0-9.]*\).*/\1/p" "$2" | tail -1; }
awk -v auc="$(number auc "$demo/eval.json")" -v best="$(number best_auc "$demo/data.json")" 'BEGIN {
  printf "test AUC %.4f; the best anyone can reach is %.4f: %.1f %% of it\n", auc, best, 100 * auc / best }'
echo "the model is in $demo/model.safetensors"

title "The speed of a training step of the MLPerf model, tables capped at 100,000 rows"
show bench --part step --cardinality tiny --steps 5 --warmup 2
