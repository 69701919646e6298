#!/usr/bin/env bash
# tools/compile prints the share that is done, passes on what compilers print, and fails if they do.
set -euo pipefail
source=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/tools" "$tree/build"
cp "$source/tools/compile" "$tree/tools/"
{
  printf 'rule touch\n  command = touch $out\nrule warn\n  command = echo a-warning && touch $out\n'
  printf 'rule break\n  command = echo an-error && false\n'
  for i in $(seq 20); do printf 'build file%s: touch\n' "$i"; done
  printf 'build warned: warn\nbuild broken: break\nbuild good: phony warned'
  for i in $(seq 20); do printf ' file%s' "$i"; done
  printf '\n'
} >"$tree/build/build.ninja"
# cmake --build reads these.
ninja_program=$(command -v ninja)
printf 'CMAKE_GENERATOR:INTERNAL=Ninja\nCMAKE_MAKE_PROGRAM:FILEPATH=%s\nCMAKE_PROJECT_NAME:STATIC=test\n' "$ninja_program" >"$tree/build/CMakeCache.txt"
output=$("$tree/tools/compile" good)
grep -qx 'Compiling: 100% (21 of 21)' <<<"$output" || { echo "no share in: $output"; exit 1; }
grep -qx 'a-warning' <<<"$output" || { echo "no warning in: $output"; exit 1; }
! grep -q 'stoker-compile' <<<"$output" || { echo "raw lines in: $output"; exit 1; }
[ -e "$tree/build/file20" ] || { echo "nothing was built"; exit 1; }
[ -z "$("$tree/tools/compile" good)" ] || { echo "it prints something although there is nothing to do"; exit 1; }
if output=$("$tree/tools/compile" broken); then echo "it claims success: $output"; exit 1; fi
grep -qx 'an-error' <<<"$output" || { echo "no error in: $output"; exit 1; }
