#!/usr/bin/env bash
# plot-performance --check must pass what it has drawn, and name the picture whose table has changed since.
set -euo pipefail
source=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/docs/images"
cp "$source/docs/performance.md" "$tree/docs"
plot=$source/tools/plot-performance
if "$plot" --check "$tree" 2>/dev/null; then echo "missing pictures were accepted"; exit 1; fi
"$plot" "$tree"
"$plot" --check "$tree" || { echo "its own pictures were refused"; exit 1; }

sed -i 's/^| \([0-9.]*\) | [0-9.]* \(|.*scikit-learn MLPRegressor |\)$/| \1 | 123.45 \2/' "$tree/docs/performance.md"
if output=$("$plot" --check "$tree" 2>&1); then echo "another figure was accepted"; exit 1; fi
grep -q 'performance-cpu-step.svg: out of step with the tables' <<<"$output" || { echo "unexpected complaint: $output"; exit 1; }
if grep -q 'h200-step' <<<"$output"; then echo "a picture of other tables was named: $output"; exit 1; fi

sed -i 's/^| version |/| form |/' "$tree/docs/performance.md"
if output=$("$plot" "$tree" 2>&1); then echo "a missing table was accepted"; exit 1; fi
grep -q 'no table with the columns version' <<<"$output" || { echo "unexpected complaint: $output"; exit 1; }
