#!/bin/sh
# suites.sh SUITES OUT EXECUTIONS ITERATIONS: the warm-up study of the published suites that are
# unpacked in SUITES (pyperformance, ruby-bench, are-we-fast-yet). It measures each with krund into
# OUT, writes a report of each, and prints tables in Markdown (suites.pl). What is in OUT goes on.
set -eu
suites=$(cd "$1" && pwd) out=$2 executions=$3 iterations=$4
bin=$(cd "$(dirname "$0")/../build/bin" && pwd) here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
cd "$out"
for suite in pyperformance ruby-bench are-we-fast-yet; do
  [ -d "$suites/$suite" ] || { echo "no $suites/$suite" >&2; continue; }
  if [ ! -e $suite.toml ]; then
    "$bin/krunctl" init --suite $suite "$suites/$suite" >&2
    sed -i "s/^executions = 5 /executions = $executions /" $suite.toml
    sed -i "s/^iterations = 20 /iterations = $iterations /" $suite.toml
    if [ $suite = ruby-bench ] && ruby --yjit -e 1 2>/dev/null; then
      printf '[vms.YJIT]\nrunner = "ruby"\npath = "ruby"\nargs = ["--yjit"]\n' >>$suite.toml
      echo 'variants = ["ruby-bench"]' >>$suite.toml
    fi
  fi
  "$bin/krund" run $suite.toml >$suite.log 2>&1 || [ $? = 4 ] || { tail -3 $suite.log >&2; exit 1; }
  "$bin/krunctl" report $suite.krun >&2
done
for suite in pyperformance ruby-bench are-we-fast-yet; do
  [ ! -d $suite.krun ] || perl "$here/suites.pl" "$bin/krunctl" $suite
done
