#!/bin/bash
# run.sh runs suites of the rig: it finds or builds the image, measures how fast this host boots a
# machine, passes that to the suites, and prints their costs.
#
#   rig/run.sh -image          only the image
#   rig/run.sh [GO TEST ARGUMENTS]
#
# KRUND_RIG_TIME=480 limits the run to that many seconds, not counting the build of the image: tests
# that could not end in time are skipped and listed, and every wait ends with the run.
#
# Exit status: that of go test; 0 with the reason on stderr if no machine can be booted, or 1 with
# KRUND_RIG_REQUIRED=1. Consoles, the summary and the log of a power cut campaign (campaign.md) are
# kept in build/rig, or in $KRUND_RIG_LOGS.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export PATH=$PATH:/usr/sbin:/sbin # debugfs

skip() {
  if [ "${KRUND_RIG_REQUIRED:-0}" = 1 ]; then echo "rig: $*, and KRUND_RIG_REQUIRED=1 is set" >&2; exit 1; fi
  echo "rig: SKIPPED: $*" >&2
  exit 0
}

image=$(timeout -k 10 20m rig/build-image.sh)
case $? in
0) ;;
77) skip "no image; the reason is above" ;;
*) echo "rig: the image could not be built" >&2; exit 1 ;;
esac
[ "${1:-}" = -image ] && exit 0

for tool in qemu-system-x86_64:qemu-system-x86 debugfs:e2fsprogs; do
  command -v "${tool%%:*}" >/dev/null || skip "${tool%%:*} is not installed; run: apt-get install ${tool##*:}"
done

export KRUND_RIG=$image
export KRUND_RIG_LOGS=${KRUND_RIG_LOGS:-$PWD/build/rig}
export KRUND_RIG_SUMMARY=$KRUND_RIG_LOGS/summary.tsv
mkdir -p "$KRUND_RIG_LOGS"
exec 9>"$KRUND_RIG_LOGS/lock"
flock -n 9 || {
  echo "rig: another run is in progress here; waiting for its end" >&2
  flock -w 7200 9 || exit 1
}
rm -rf "$KRUND_RIG_LOGS"/*.console "$KRUND_RIG_LOGS"/*.disk "$KRUND_RIG_LOGS"/{campaign.md,pace} \
  "$KRUND_RIG_SUMMARY"
start=$SECONDS
go=${GO:-go}
export CGO_ENABLED=0 # as in make test, so that compiled packages serve both
# Compiling the test programs does not count toward the time of the run.
test=("$go" test -trimpath -vet=off -count=1)
"${test[@]}" -run '^$' ./rig/... ./internal/msr >/dev/null || exit 1
[ -z "${KRUND_RIG_TIME:-}" ] || export KRUND_RIG_DEADLINE=$(($(date +%s) + KRUND_RIG_TIME))
if [ -z "${KRUND_RIG_PACE:-}" ]; then
  "${test[@]}" -v -timeout 10m -run '^TestPace$' ./rig/selftest >"$KRUND_RIG_LOGS/pace.log" 2>&1 ||
    { cat "$KRUND_RIG_LOGS/pace.log" >&2; echo "rig: the first machine did not boot" >&2; exit 1; }
  sed -n 's/.*rig: \(.*the reference.*\)/rig: this host takes \1/p' "$KRUND_RIG_LOGS/pace.log"
  KRUND_RIG_PACE=$(cat "$KRUND_RIG_LOGS/pace") && export KRUND_RIG_PACE || exit 1
  rm -f "$KRUND_RIG_SUMMARY"
fi
# A limited run ends by its deadline; the limit of go test is for a rig that hangs.
limit=2h
[ -z "${KRUND_RIG_TIME:-}" ] || limit=$((KRUND_RIG_TIME + 240))s
"${test[@]}" -p 1 -timeout "$limit" "$@"
status=$?
if [ -e "$KRUND_RIG_SUMMARY" ]; then
  awk -F'\t' -v wall=$((SECONDS - start)) '
    BEGIN {
      row = "%-60s %-8s %6s %7s %6s %9s %9s %7s  %s\n"
      printf row, "test", "result", "seed", "starts", "cuts", "wall s", "CPU s", "wait s", "longest wait for"
    }
    { printf row, $1, $2, $3, $4, $5, $6, $7, $8, $9; starts += $4; cuts += $5; cpu += $7 }
    END { printf row, "all", "", "", starts, cuts, wall, cpu, "", "" }' "$KRUND_RIG_SUMMARY"
  sort -t$'\t' -k6,6nr "$KRUND_RIG_SUMMARY" | awk -F'\t' '
    $2 == "no time" { late = late " " $1 }
    n < 3 && $6 > 0 { slow = slow sprintf("%s %s (%.0f s)", n ? "," : "", $1, $6); n++ }
    END {
      if (slow) print "rig: slowest:" slow
      if (late) print "rig: NOT RUN, for lack of time (KRUND_RIG_TIME):" late
    }'
fi
[ -e "$KRUND_RIG_LOGS/campaign.md" ] && { echo; cat "$KRUND_RIG_LOGS/campaign.md"; }
[ $status = 0 ] || echo "rig: the consoles are in $KRUND_RIG_LOGS" >&2
exit $status
