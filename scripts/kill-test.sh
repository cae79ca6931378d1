#!/bin/bash
# Kills krund with SIGKILL at random moments of a demo, starts it again each time, and checks that the experiment ends complete: every slot done
# once, no duplicates, nothing lost, the schedule of the same size.
#
#   scripts/kill-test.sh [KILLS [SEED]]     50 kills by default; the seed makes the moments repeatable
set -euo pipefail
cd "$(dirname "$0")/.."

kills=${1:-50}
RANDOM=${2:-2026}
krund=build/bin/krund krunctl=build/bin/krunctl
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed "s,\"\.\./benchmarks\",\"$PWD/benchmarks\"," configs/demo.toml >"$work/demo.toml"
folder=$work/demo.krun

starts=0 killed=0 size=
while [ "$killed" -lt "$kills" ]; do
	"$krund" run --quiet "$work/demo.toml" &
	pid=$!
	starts=$((starts + 1))
	sleep "$(printf '0.%03d' $((RANDOM % 700)))"
	if kill -KILL "$pid" 2>/dev/null; then killed=$((killed + 1)); fi
	wait "$pid" 2>/dev/null || true
	if [ -f "$folder/schedule" ]; then
		now=$(stat -c %s "$folder/schedule")
		[ -z "$size" ] || [ "$size" = "$now" ] || { echo "the schedule changed its size from $size to $now"; exit 1; }
		size=$now
		if [ "$("$krunctl" status --json "$folder" | grep -c '"state": "finished"')" = 1 ] && [ "$killed" -lt "$kills" ]; then
			# All done before all kills were spent: check, and start anew.
			"$krunctl" check-data "$folder" >/dev/null
			rm -rf "$folder" && size=
		fi
	fi
done
"$krund" run --quiet "$work/demo.toml"
"$krunctl" check-data "$folder"
rows=$("$krunctl" export --csv --long "$folder" | tail -n +2)
want=$((2 * 3 * 60 + 2 * 3 * 25))
have=$(wc -l <<<"$rows")
unique=$(cut -d, -f1-4,7 <<<"$rows" | sort -u | wc -l) # key, execution and iteration
echo "$starts starts, $killed kills; the export has $have iterations, $unique of them different, $want expected"
[ "$have" = "$want" ] && [ "$unique" = "$want" ]
if pgrep -f "$work" >/dev/null; then echo "a benchmark outlived krund" && exit 1; fi
echo "nothing lost, nothing twice"
