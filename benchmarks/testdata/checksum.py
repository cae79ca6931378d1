"""checksum.py BENCH_PY N... - what testdata/checksum.c does, for Python."""
import sys

namespace = {"__name__": "bench"}
with open(sys.argv[1]) as source:
    exec(compile(source.read(), sys.argv[1], "exec", 0, True), namespace)
for argument in sys.argv[2:]:
    n = int(argument)
    sys.stdout.write("%.17g\n" % namespace["checksum"](n))
    sys.stdout.flush()
    namespace["run_iter"](n)
    namespace["run_iter"](n)
