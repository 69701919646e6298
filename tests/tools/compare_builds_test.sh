#!/usr/bin/env bash
# compare-builds must print the ratio of every figure, and fail when one is more than 2 % slower.
set -euo pipefail
compare=$1/tools/compare-builds
trees=$(mktemp -d)
trap 'rm -rf "$trees"' EXIT

fake_build() {  # name, microseconds of every step
  mkdir -p "$trees/$1/build"
  cat >"$trees/$1/build/stoker" <<FAKE
#!/usr/bin/env bash
[ "\$1" = bench ] || exit 0
workload=\$2
say() {  # workload, batch, models
  echo "{\"workload\": \"\$1\", \"engine\": \"fused\", \"batch\": \$2, \"models\": \$3, \"us_per_step\": $2}"
}
[ "\$workload" != w6 ] || say w6 1 1
while [ \$# -gt 0 ]; do
  case \$1 in
    --models) say "\$workload" 32 132 ;;
    --batch) say "\$workload" "\$2" 1 ;;
    --experts) say "\$workload, \$2 experts" 128 1 ;;
  esac
  shift
done
FAKE
  chmod +x "$trees/$1/build/stoker"
}
fake_build earlier 100
fake_build faster 80
fake_build slower 103

# The time of a whole run is that of a shell here, and says nothing.
ratios() { "$compare" "$trees/$1/build" "$trees/$2/build" --rounds 1 | grep -v flagship || true; }
faster=$(ratios earlier faster)
slower=$(ratios earlier slower)
[ "$(grep -c ' 0\.800  ' <<<"$faster")" = 13 ] || { echo "not thirteen figures that are faster: $faster"; exit 1; }
grep -q SLOWER <<<"$faster" && { echo "faster was taken for slower: $faster"; exit 1; }
[ "$(grep -c 'SLOWER$' <<<"$slower")" = 13 ] || { echo "not thirteen figures that are slower: $slower"; exit 1; }
if "$compare" "$trees/earlier/build" "$trees/slower/build" --rounds 1 >/dev/null; then
  echo "3 % slower was let pass"
  exit 1
fi
