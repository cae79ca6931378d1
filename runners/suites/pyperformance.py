"""Hook of krund for pyperformance and for any script that uses pyperf.

The runner for Python loads this file in the place of a benchmark. It runs the suite's script
unchanged, with a module pyperf of its own: Runner's methods give what they are to measure to the
runner, so that each value of pyperf is an iteration. pyperf itself need not be installed.
"""

import os
import sys
import time
import types

perf_counter = time.perf_counter
LOOPS = 1  # inner iterations: what pyperf calls loops; set by krund's parameter


RUNNER = sys.modules["__main__"]
EXIT_BENCHMARK = 66


def cannot_run(why):
    """End: the script needs something that is not here."""
    RUNNER.fail(EXIT_BENCHMARK, "%s cannot run here: %s" % (os.environ["KRUN_SUITE_BENCHMARK"], why))


class Runner(object):
    """pyperf.Runner, as far as scripts use it."""

    def __init__(self, values=None, processes=None, loops=0, min_time=0.1, metadata=None, show_name=True,
                 program_args=None, add_cmdline_args=None, _argparser=None, warmups=1, hooks=None):
        import argparse
        self.argparser = _argparser or argparse.ArgumentParser()
        self.argparser.set_defaults(
            worker=True, worker_task=None, loops=LOOPS, values=1, warmups=0, processes=1, verbose=False,
            quiet=True, fast=False, rigorous=False, debug_single_value=False, min_time=min_time, pipe=None,
            output=None, append=None, timeout=None, affinity=None, inherit_environ=None, copy_env=False,
            python=sys.executable, compare_to=None, profile=None, hook=None, tracemalloc=False,
            track_memory=False)
        self.metadata = dict(metadata or {})
        self.args = None

    def parse_args(self, args=None):
        if self.args is None:
            self.args = self.argparser.parse_args(args)
        return self.args

    def _measure(self, name, iterate):
        """Give one of the script's benchmarks to the runner: the first with the wanted name, or the
        first."""
        self.parse_args()
        if not RUNNER.krun_suite.measured and name == (TASK or name):
            RUNNER.krun_suite(iterate)
        elif not TASK:
            sys.stderr.write("not measured: %s, another benchmark of this script\n" % name)

    def bench_time_func(self, name, time_func, *args, **kwargs):
        self._measure(name, lambda: time_func(LOOPS, *args))

    def bench_func(self, name, func, *args, **kwargs):
        if args:
            import functools
            func = functools.partial(func, *args)

        def iterate(loops=range(LOOPS), timer=perf_counter):
            start = timer()
            for _ in loops:
                func()
            return timer() - start
        self._measure(name, iterate)

    def bench_async_func(self, name, func, *args, **kwargs):
        import asyncio
        factory = kwargs.pop("loop_factory", None) or asyncio.new_event_loop

        async def main(timer=perf_counter):
            start = timer()
            for _ in range(LOOPS):
                await func(*args)
            return timer() - start

        def iterate():
            loop = factory()
            asyncio.set_event_loop(loop)
            try:
                return loop.run_until_complete(main())
            finally:
                asyncio.set_event_loop(None)
                loop.close()
        self._measure(name, iterate)

    def bench_command(self, name, command):
        import subprocess

        def iterate(loops=range(LOOPS), timer=perf_counter):
            start = timer()
            for _ in loops:
                subprocess.check_call(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                      stderr=subprocess.STDOUT)
            return timer() - start
        self._measure(name, iterate)

    def timeit(self, name, stmt=None, setup="pass", teardown="pass", globals=None, **kwargs):
        import timeit
        timer = timeit.Timer(stmt or name, setup, perf_counter, globals)
        self._measure(name, lambda: timer.timeit(LOOPS))


def python_implementation():
    return sys.implementation.name.lower()


def python_has_jit():
    return python_implementation() == "pypy"


def check_version(required):
    """End unless this Python has the version that the suite asks for (">=3.12")."""
    for part in required.split(","):
        part = part.strip()
        if part.startswith(">="):
            wanted = tuple(int(n) for n in part[2:].strip().split(".") if n.isdigit())
            if sys.version_info[:len(wanted)] < wanted:
                cannot_run("it needs Python %s, and this is %d.%d" % ((part,) + sys.version_info[:2]))


def run():
    """Run the script that krund names as the main program."""
    global LOOPS, TASK
    path = os.environ["KRUN_SUITE_FILE"]
    options = os.environ["KRUN_SUITE_OPTIONS"].split("\n")
    TASK = options.pop(0)
    LOOPS = int(sys.argv[2])
    pyperf = types.ModuleType("pyperf")
    for known in (Runner, python_implementation, python_has_jit):
        setattr(pyperf, known.__name__, known)
    pyperf.perf_counter = perf_counter
    pyperf.VERSION, pyperf.__version__ = (2, 0, 0), "2.0.0"
    sys.modules["pyperf"] = pyperf
    sys.argv = [path] + options
    sys.path[0] = os.path.dirname(path)
    check_version(os.environ.get("KRUN_SUITE_REQUIRES", ""))
    main = types.ModuleType("__main__")
    main.__file__ = path
    sys.modules["__main__"] = main  # pickle and multiprocessing look there for what the script defines
    with open(path, "rb") as source:
        code = compile(source.read(), path, "exec", 0, True)
    try:
        exec(code, main.__dict__)
    except ImportError as error:
        cannot_run("it needs what is not installed: %s" % error)
    if not RUNNER.krun_suite.measured:
        cannot_run("%s has no benchmark %s" % (path, TASK))


run()
