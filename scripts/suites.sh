#!/bin/sh
# suites.sh SUITES OUT EXECUTIONS ITERATIONS: the warm-up study of the published suites in SUITES
# (pyperformance, ruby-bench, are-we-fast-yet: directories, or archives, which it unpacks into
# OUT). It builds what are-we-fast-yet needs for Java and C++, measures each suite with krund into
# OUT, writes a report of each, and prints OUT/tables.md (suites.pl). What is in OUT goes on.
set -eu
suites=$(cd "$1" && pwd) out=$2 executions=$3 iterations=$4
build=$(cd "$(dirname "$0")/../build" && pwd) here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$out"
cd "$out"
measured=
for suite in pyperformance ruby-bench are-we-fast-yet; do
  at=$suites/$suite
  if [ -f "$at.tar.gz" ]; then
    [ -d $suite ] || tar -xzf "$at.tar.gz"
    at=$PWD/$suite
  fi
  [ -d "$at" ] || { echo "no $at" >&2; continue; }
  if [ $suite = are-we-fast-yet ]; then
    # What Ant makes of its build.xml, and the command of docs/suites.md.
    [ -f "$at/benchmarks/Java/benchmarks.jar" ] || (cd "$at/benchmarks/Java" &&
      find src -name '*.java' -exec javac -nowarn -d build {} + && jar cf benchmarks.jar -C build .) >&2 ||
      echo "$suite is not built in Java" >&2
    [ -f "$at/benchmarks/C++/krun.so" ] || (cd "$at/benchmarks/C++" &&
      g++ -O3 -march=native -ffp-contract=off -std=c++17 -fPIC -shared -Isrc -I"$build/include" \
        "$build/libexec/krund/suites/awfy.cpp" src/deltablue.cpp src/memory/object_tracker.cpp \
        src/richards.cpp "$build/lib/libkrun.so" -Wl,-rpath,"$build/lib" -o krun.so) >&2 ||
      echo "$suite is not built in C++" >&2
  fi
  if [ ! -e $suite.toml ]; then
    "$build/bin/krunctl" init --suite $suite "$at" >&2
    sed -i "s/^executions = 5 /executions = $executions /" $suite.toml
    sed -i "s/^iterations = 20 /iterations = $iterations /" $suite.toml
    if [ $suite = ruby-bench ] && ruby --yjit -e 1 2>/dev/null; then
      printf '[vms.YJIT]\nrunner = "ruby"\npath = "ruby"\nargs = ["--yjit"]\n' >>$suite.toml
      echo 'variants = ["ruby-bench"]' >>$suite.toml
    fi
  fi
  "$build/bin/krund" run $suite.toml >$suite.log 2>&1 || [ $? = 4 ] || { tail -3 $suite.log >&2; exit 1; }
  "$build/bin/krunctl" report $suite.krun >&2
  measured="$measured $suite"
done
# shellcheck disable=SC2086 # names of suites
perl "$here/suites.pl" "$build/bin/krunctl" $measured >tables.md
cat tables.md
