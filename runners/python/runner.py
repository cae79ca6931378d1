#!/usr/bin/env python
"""Iteration runner for Python: CPython 2.7, 3.6 and later, PyPy, PyPy3.

usage: runner.py BENCHMARK_FILE PARAMETER

Loads the benchmark as a module and calls its run_iter(PARAMETER) until libkrun
says stop. libkrun is the file that the environment variable KRUN_LIBRARY names,
or libkrun.so beside this file, or ../../lib/libkrun.so. With KRUN_INSTRUMENT it
also loads instrument.py, which asks the VM what it did in each iteration.

exit status: 0 measured; 64 usage; 65 the benchmark has no function run_iter;
66 the benchmark cannot be loaded; 69 libkrun cannot be loaded; 70 the benchmark
raised an exception; 71 krun_init failed; 76 krun_begin or krun_end failed; 78
instrument.py cannot be loaded. If the benchmark exits by itself, its status is kept.
"""

import ctypes
import os
import sys
import types

EXIT_USAGE = 64
EXIT_NO_ENTRY = 65
EXIT_BENCHMARK = 66
EXIT_LIBRARY = 69
EXIT_EXCEPTION = 70
EXIT_INIT = 71
EXIT_MEASURE = 76
EXIT_INSTRUMENT = 78

VERSION = 1  # KRUN_VERSION of krun.h


def fail(status, message):
    """Print the reason to stderr and exit."""
    sys.stderr.write("runner.py: %s\n" % message)
    sys.exit(status)


def fail_in_benchmark(status, message):
    """Like fail, with the traceback of the exception being handled. The message
    ends with the exception, because krund quotes the last line."""
    import traceback
    traceback.print_exc()
    what = traceback.format_exception_only(*sys.exc_info()[:2])[-1]
    fail(status, "%s: %s" % (message, " ".join(what.split())))


def library_path():
    """Return the path of libkrun."""
    path = os.environ.get("KRUN_LIBRARY")
    if path:
        return path
    here = os.path.dirname(os.path.abspath(__file__))
    beside = os.path.join(here, "libkrun.so")
    if os.path.exists(beside):
        return beside
    return os.path.normpath(os.path.join(here, "..", "..", "lib", "libkrun.so"))


def open_library():
    """libkrun with its functions' types declared.

    PyDLL keeps the interpreter lock during a call. The calls are shorter than
    giving it up and taking it back, and no other thread of the benchmark can
    take it between the clock and run_iter. PyPy's ctypes has no PyDLL.
    """
    path = library_path()
    try:
        lib = getattr(ctypes, "PyDLL", ctypes.CDLL)(path)
        for function in (lib.krun_should_stop, lib.krun_begin, lib.krun_end, lib.krun_done):
            function.argtypes = [ctypes.c_void_p]
        lib.krun_strerror.restype = ctypes.c_char_p
        version = lib.krun_version()
    except (OSError, AttributeError) as error:
        fail(EXIT_LIBRARY, "cannot load libkrun: %s; set KRUN_LIBRARY to the path of libkrun.so" % error)
    if version != VERSION:
        fail(EXIT_LIBRARY, "%s has interface version %d, this runner needs %d; install both together"
             % (path, version, VERSION))
    return lib


def error_text(lib, code):
    """Return libkrun's explanation of a code."""
    return lib.krun_strerror(code).decode("ascii")


def open_handle(lib):
    """krun_init."""
    handle = ctypes.c_void_p()
    code = lib.krun_init(ctypes.byref(handle))
    if code:
        fail(EXIT_INIT, "krun_init: %s" % error_text(lib, code))
    return handle


def load_benchmark(path):
    """Return the function run_iter of the file at path.

    The file becomes a module named after it, and its directory replaces the
    runner's as the first entry of sys.path. It is compiled each time: a .pyc in its
    directory would make one process execution differ from the next.
    """
    name = os.path.splitext(os.path.basename(path))[0]
    here = os.path.dirname(os.path.abspath(__file__))
    if sys.path and sys.path[0] == here:  # not with the options -I and -P
        del sys.path[0]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    sys.dont_write_bytecode = True
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    try:
        with open(path, "rb") as source:
            code = compile(source.read(), path, "exec", 0, True)
    except (IOError, OSError) as error:
        fail(EXIT_BENCHMARK, "cannot read the benchmark: %s" % error)
    except Exception:
        fail_in_benchmark(EXIT_BENCHMARK, "%s is not a Python program for this interpreter" % path)
    try:
        exec(code, module.__dict__)
    except (SystemExit, KeyboardInterrupt):
        raise
    except:  # in Python 2 an exception need not be an Exception
        fail_in_benchmark(EXIT_BENCHMARK, "%s raised an exception while it was loaded" % path)
    run_iter = getattr(module, "run_iter", None)
    if not callable(run_iter) and not krun_suite.measured:
        fail(EXIT_NO_ENTRY, "%s has no function run_iter" % path)
    return run_iter


def measure(lib, handle, run_iter, parameter):
    """Iterate until libkrun says stop; return the code of the call that failed, or 0.

    The result of krun_begin is not checked, because the check would be measured,
    and krun_end reports the same error.
    """
    should_stop, begin, end = lib.krun_should_stop, lib.krun_begin, lib.krun_end
    while not should_stop(handle):
        begin(handle)
        run_iter(parameter)
        code = end(handle)
        if code:
            return code
    return lib.krun_done(handle)


def checksum(result):
    """63 bits of what run_iter returned: of its text, which is the same in each process for numbers,
    strings and lists of them."""
    import hashlib
    text = result if isinstance(result, bytes) else repr(result).encode("utf-8", "backslashreplace")
    return int(hashlib.sha256(text).hexdigest()[:16], 16) >> 1


def takes_input(run_iter):
    """Whether run_iter has a second argument without a default: the iteration's input."""
    code = getattr(run_iter, "__code__", None)
    if code is None:
        return False
    bound = getattr(run_iter, "__self__", None) is not None
    return code.co_argcount - bound - len(run_iter.__defaults__ or ()) == 2


def measure_input(lib, handle, run_iter, parameter, ended):
    """Like measure, for a benchmark whose run_iter takes an input, and may return a result, whose
    checksum is kept."""
    lib.krun_input.argtypes = [ctypes.c_void_p]
    lib.krun_column.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    lib.krun_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int64]
    inputs, checksums = lib.krun_column(handle, b"input", b""), lib.krun_column(handle, b"checksum", b"")
    should_stop, begin, end, set_column = lib.krun_should_stop, lib.krun_begin, lib.krun_end, lib.krun_set
    while not should_stop(handle):
        value = lib.krun_input(handle)
        begin(handle)
        result = run_iter(parameter, value)
        code = end(handle)
        if code:
            return code
        set_column(handle, inputs, value)
        if result is not None:
            set_column(handle, checksums, checksum(result))
        if ended:
            ended()
    return lib.krun_done(handle)


def measure_suite(lib, handle, iterate, ended):
    """Like measure, for the hook of a suite: iterate() returns the seconds that the suite itself
    measured for the iteration, which become a column. It returns the code of the call that failed, or
    0."""
    lib.krun_column.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p]
    lib.krun_set.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int64]
    column = lib.krun_column(handle, b"suite_time", b"ns")
    should_stop, begin, end, set_column = lib.krun_should_stop, lib.krun_begin, lib.krun_end, lib.krun_set
    while not should_stop(handle):
        begin(handle)
        seconds = iterate()
        code = end(handle)
        if code:
            return code
        set_column(handle, column, int(seconds * 1e9))
        if ended:
            ended()
    return lib.krun_done(handle)


class Suite(object):
    """What the hook of a suite, which is loaded in the place of a benchmark, has as
    sys.modules["__main__"].krun_suite: it measures while the suite's own program runs."""

    def __init__(self, lib, handle):
        self.lib, self.handle, self.code, self.measured = lib, handle, 0, False

    def __call__(self, iterate):
        """Call iterate() until libkrun says stop. Only once in a process."""
        instrument = os.environ.get("KRUN_INSTRUMENT")
        ended = None
        if instrument:
            ended = load_instrument()["start"](self.lib, self.handle, ctypes, instrument == "events")
        self.measured = True
        self.code = measure_suite(self.lib, self.handle, iterate, ended)


def load_instrument():
    """The functions of instrument.py, which is not among the modules: a benchmark may have one
    of that name."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "instrument.py")
    names = {"__name__": "krun_instrument"}
    try:
        with open(path, "rb") as source:
            exec(compile(source.read(), path, "exec", 0, True), names)
    except (IOError, OSError) as error:
        fail(EXIT_INSTRUMENT, "KRUN_INSTRUMENT needs instrument.py: %s; install it beside runner.py" % error)
    return names


def measure_instrumented(lib, handle, run_iter, parameter, events):
    """Like measure, and ask the VM after each iteration."""
    ended = load_instrument()["start"](lib, handle, ctypes, events)
    should_stop, begin, end = lib.krun_should_stop, lib.krun_begin, lib.krun_end
    while not should_stop(handle):
        begin(handle)
        run_iter(parameter)
        code = end(handle)
        if code:
            return code
        ended()
    return lib.krun_done(handle)


def main(argv):
    """Run the benchmark named by argv; a nonzero exit status is raised as SystemExit."""
    if len(argv) != 3 or not argv[2][argv[2].startswith("-"):].isdigit():
        sys.stderr.write("usage: runner.py BENCHMARK_FILE PARAMETER (an integer)\n")
        sys.exit(EXIT_USAGE)
    path, parameter = argv[1], int(argv[2])
    lib = open_library()
    handle = open_handle(lib)
    global krun_suite
    krun_suite = Suite(lib, handle)
    run_iter = load_benchmark(path)
    try:
        instrument = os.environ.get("KRUN_INSTRUMENT")
        if krun_suite.measured:
            code = krun_suite.code
        elif takes_input(run_iter):
            ended = None
            if instrument:
                ended = load_instrument()["start"](lib, handle, ctypes, instrument == "events")
            code = measure_input(lib, handle, run_iter, parameter, ended)
        elif instrument:
            code = measure_instrumented(lib, handle, run_iter, parameter, instrument == "events")
        else:
            code = measure(lib, handle, run_iter, parameter)
    except (SystemExit, KeyboardInterrupt):
        raise
    except:
        fail_in_benchmark(EXIT_EXCEPTION, "%s raised an exception in run_iter" % path)
    if code:
        fail(EXIT_MEASURE, "krun_begin or krun_end: %s" % error_text(lib, code))


if __name__ == "__main__":
    main(sys.argv)
