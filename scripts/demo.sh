#!/bin/sh
# demo.sh IN.toml OUT.toml [VM...]: IN with a section for each further VM that this machine has, and
# whose runner and benchmarks were built; only the VMs that are named, if any are.
set -eu
in=$1 out=$2
shift 2
only=" $* "
here=$(dirname "$0")/..
sed 's|^\(description = .*\)"$|\1 (with the VMs of this machine)"|' "$in" > "$out"

# section NAME PROGRAM RUNNER ENTRY ITERATIONS [ARGUMENTS]
section() {
	case $only in "  " | *" $1 "*) ;; *) return 0 ;; esac
	path=$(command -v "$2") || return 0
	[ -e "$here/benchmarks/fannkuch_redux/$3/$4" ] || return 0
	cat >> "$out" <<END

[vms.$1]
runner = "$3"
path = "$path"
args = [${6-}]
iterations = $5
variants = ["default-$3"]
END
	grep -q "^\[variants.default-$3\]" "$out" || cat >> "$out" <<END

[variants.default-$3]
entry = "$4"
subfolder = "$3"
END
}

section PyPy pypy3 python bench.py 300
section LuaJIT luajit lua bench.lua 300
section Node node javascript bench.js 300
section HotSpot java java KrunEntry.class 300
section Ruby ruby ruby bench.rb 100
section PHP php php bench.php 100
