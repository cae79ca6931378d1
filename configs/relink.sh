#!/bin/sh
# Links the object files beside a benchmark's file in a random order, for
#
#     [experiment]
#     layout = "random"
#     relink = ["./relink.sh"]
#
# The order depends only on the seed, so that all arms of a block have the same one
# if their objects have the same names.
set -eu
cd "${KRUN_LAYOUT_ENTRY%/*}"
order=$(printf '%s\n' *.o | awk -v seed="$KRUN_LAYOUT_SEED" \
	'BEGIN { srand(seed) } { printf "%.9f %s\n", rand(), $0 }' | LC_ALL=C sort | cut -d' ' -f2-)
IFS='
'
# shellcheck disable=SC2086 # a name per line
cc -shared -o "$KRUN_LAYOUT_OUTPUT.new" $order
mv "$KRUN_LAYOUT_OUTPUT.new" "$KRUN_LAYOUT_OUTPUT"
