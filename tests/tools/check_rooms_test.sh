#!/usr/bin/env bash
# check-rooms must name a planted violation of each rule, and pass a clean tree.
set -euo pipefail
check=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/src/{base,data,train,kernels}
echo '#include "base/text.h"' >"$tree/src/train/good.cpp"
"$check" "$tree" >/dev/null || { echo "a clean tree was refused"; exit 1; }

expect() {  # file, include line, text of the complaint
  echo "$2" >"$tree/src/$1"
  if output=$("$check" "$tree"); then echo "$1 was accepted: $2"; exit 1; fi
  grep -q "$3" <<<"$output" || { echo "unexpected complaint: $output"; exit 1; }
  rm "$tree/src/$1"
}
expect base/bad.h '#include "data/table.h"' 'stands below it'
expect data/bad.cpp '#include <torch/torch.h>' 'only src/torch'
expect train/bad.cpp '#include "torch/mlp.h"' 'behind the door'
expect kernels/bad.cu '#include "base/error.h"' 'CUDA alone'
expect data/bad.h '#include "table.h"' 'does not name a room'

echo '#include "data/two.h"' >"$tree/src/data/one.h"
echo '#include "data/one.h"' >"$tree/src/data/two.cpp"
if output=$("$check" "$tree"); then echo "a circle was accepted"; exit 1; fi
grep -q 'data/one needs data/two needs data/one' <<<"$output" || { echo "unexpected complaint: $output"; exit 1; }
