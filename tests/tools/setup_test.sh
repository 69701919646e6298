#!/usr/bin/env bash
# On a machine without apt and dpkg, set-up names what is missing and changes nothing.
set -euo pipefail
source=$1
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/tools" "$tree/bin"
cp "$source"/tools/setup "$source"/tools/requirements*.txt "$tree/tools/"
for program in bash env dirname cat sha256sum id; do ln -s "$(command -v $program)" "$tree/bin/"; done
if output=$(PATH="$tree/bin" bash "$tree/tools/setup" 2>&1); then echo "set-up claims success: $output"; exit 1; fi
for package in g++ cmake ninja-build gnuplot-nox; do
  grep -q -- "$package" <<<"$output" || { echo "$package is not named in: $output"; exit 1; }
done
[ ! -e "$tree/.venv" ] || { echo "a .venv was made"; exit 1; }
