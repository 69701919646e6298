#!/usr/bin/env bash
# tools/format must name a file that is not formatted, mend it, and pass it afterwards.
set -euo pipefail
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree"/{tools,src/base,tests,bench}
cp "$1/tools/format" "$1/tools/requirements.txt" "$tree/tools"
cp "$1/.clang-format" "$tree"
[ -d "$1/.venv" ] && ln -s "$1/.venv" "$tree/.venv"
echo 'int good();' >"$tree/src/base/good.h"
printf 'int  bad( ) ;\n' >"$tree/src/base/bad.h"

status=0
output=$("$tree/tools/format" --check 2>&1) || status=$?
if [ $status = 77 ]; then exit 77; fi
if [ $status != 1 ]; then echo "ended with $status: $output"; exit 1; fi
grep -q 'src/base/bad.h is not formatted' <<<"$output" || { echo "does not name the file: $output"; exit 1; }
if grep -q good.h <<<"$output"; then echo "names a file in order: $output"; exit 1; fi
"$tree/tools/format"
"$tree/tools/format" --check
[ "$(cat "$tree/src/base/bad.h")" = 'int bad();' ]
