#!/bin/bash
# run.sh runs suites of the rig: it finds or builds the image, tells the suites where it is, and prints what they cost.
#
#   rig/run.sh -image          only the image
#   rig/run.sh [GO TEST ARGUMENTS]
#
# Exit status: that of go test; 0 with the reason on stderr where no machine can be booted, 1 then when KRUND_RIG_REQUIRED=1.
# Consoles and the summary stay in build/rig, or in $KRUND_RIG_LOGS; what a campaign of power cuts has shown, too: campaign.md.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
export PATH=$PATH:/usr/sbin:/sbin # debugfs

skip() {
  if [ "${KRUND_RIG_REQUIRED:-0}" = 1 ]; then echo "rig: $*, and KRUND_RIG_REQUIRED=1 asks for it" >&2; exit 1; fi
  echo "rig: SKIPPED: $*" >&2
  exit 0
}

image=$(rig/build-image.sh)
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
flock -n 9 || { echo "rig: another run is under way here; waiting for its end" >&2; flock 9; }
rm -rf "$KRUND_RIG_LOGS"/*.console "$KRUND_RIG_LOGS"/*.disk "$KRUND_RIG_LOGS/campaign.md" "$KRUND_RIG_SUMMARY"
start=$SECONDS
"${GO:-go}" test -count=1 -p 1 -timeout 2h "$@"
status=$?
[ -e "$KRUND_RIG_SUMMARY" ] && awk -F'\t' -v wall=$((SECONDS - start)) '
  BEGIN { row = "%-60s %-8s %6s %7s %6s %9s %9s\n"; printf row, "test", "result", "seed", "starts", "cuts", "wall s", "CPU s" }
  { printf row, $1, $2, $3, $4, $5, $6, $7; starts += $4; cuts += $5; cpu += $7 }
  END { printf row, "all", "", "", starts, cuts, wall, cpu }' "$KRUND_RIG_SUMMARY"
[ -e "$KRUND_RIG_LOGS/campaign.md" ] && { echo; cat "$KRUND_RIG_LOGS/campaign.md"; }
[ $status = 0 ] || echo "rig: the consoles are in $KRUND_RIG_LOGS" >&2
exit $status
