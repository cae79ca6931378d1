"""What the Python VM reports about itself, for runner.py with KRUN_INSTRUMENT.

CPython from 3.4 on: garbage collections and allocated blocks. PyPy: garbage
collections, its JIT compiler, memory. CPython 2.7 has nothing to ask.

Collections and compilations call a function here, inside the iteration that
causes them. Everything else is read between two iterations. What is created
there, some numbers and in PyPy an object per iteration, is not kept.
"""

import gc
import os
import sys

# enum krun_event_kind of krun.h
GC = 1
COMPILE = 2
DEOPT = 3
NONE = -2 ** 63  # KRUN_MISSING: no argument


def with_ctypes(lib, ctypes):
    """krun_now_ns, krun_column, krun_set and krun_event as functions."""
    handle, number = ctypes.c_void_p, ctypes.c_int64
    lib.krun_now_ns.restype = number
    lib.krun_column.argtypes = [handle, ctypes.c_char_p, ctypes.c_char_p]
    lib.krun_set.argtypes = [handle, ctypes.c_int, number]
    lib.krun_event.argtypes = [handle, ctypes.c_int, number, number, number, ctypes.c_char_p]
    return lib.krun_now_ns, lib.krun_column, lib.krun_set, lib.krun_event


def with_rawffi(lib, _):
    """The same in PyPy, whose ctypes is written in Python: its JIT compiler would compile that
    while the benchmark runs."""
    from _rawffi.alt import CDLL, types
    lib = CDLL(lib._name)
    handle, number, text = types.void_p, types.slonglong, types.char_p
    return (lib.getfunc("krun_now_ns", [], number),
            lib.getfunc("krun_column", [handle, text, text], types.sint),
            lib.getfunc("krun_set", [handle, types.sint, number], types.sint),
            lib.getfunc("krun_event", [handle, types.sint, number, number, number, text], types.sint))


class VM(object):
    """Base of the VMs: libkrun's functions, and what was counted in this iteration."""

    bind = staticmethod(with_ctypes)

    def __init__(self, lib, handle, ctypes, events):
        self.handle, self.events = handle.value, events
        self.now, self.add_column, self.set, self.event = self.bind(lib, ctypes)
        self.gc_time = self.gc_count = 0
        self.gc_time_column = self.column(b"gc_time", b"ns")
        self.gc_count_column = self.column(b"gc_count", b"")

    def column(self, name, unit):
        """The index of a new column. krun_set ignores the index of one that there is no room for."""
        return self.add_column(self.handle, name, unit)

    def ended(self):
        """Set the columns of the iteration that ended."""
        handle, set_column = self.handle, self.set
        set_column(handle, self.gc_time_column, self.gc_time)
        set_column(handle, self.gc_count_column, self.gc_count)
        self.gc_time = self.gc_count = 0


GENERATIONS = [b"generation 0", b"generation 1", b"generation 2"]


class CPython(VM):
    """CPython calls gc.callbacks at the start and the end of each collection."""

    def __init__(self, *args):
        VM.__init__(self, *args)
        self.started = 0
        self.blocks_column = self.column(b"alloc_blocks", b"")
        gc.callbacks.append(self.collected)
        self.blocks = sys.getallocatedblocks()

    def collected(self, phase, info):
        now = self.now()
        if phase == "start":
            self.started = now
            return
        duration = now - self.started
        self.gc_time += duration
        self.gc_count += 1
        if self.events:
            self.event(self.handle, GC, self.started, duration, NONE, GENERATIONS[info["generation"]])

    def ended(self):
        VM.ended(self)
        blocks = sys.getallocatedblocks()
        self.set(self.handle, self.blocks_column, blocks - self.blocks)
        self.blocks = blocks


class PyPy(VM):
    """PyPy calls its hooks soon after a collection, and at the end of a compilation.

    One call may report several collections. A collection ended at most some
    bytecodes before the call, so its start is the time of the call less its duration.
    """

    bind = staticmethod(with_rawffi)

    def __init__(self, *args):
        VM.__init__(self, *args)
        self.heap_column = self.column(b"heap_used", b"bytes")
        gc.hooks.on_gc_minor = self.minor
        gc.hooks.on_gc_collect_step = self.step
        self.spent = None  # in the JIT compiler so far, in ns
        self.watch_jit()
        self.iteration = self.now()  # about its start
        self.gc_time = self.gc_count = 0

    def watch_jit(self):
        """Add the columns of the JIT compiler, unless it is off.

        PyPy 7.3 crashes when it is asked for statistics before it has compiled anything, so it has
        to compile a loop here.
        """
        import pypyjit
        self.jit = pypyjit
        pypyjit.set_compile_hook(self.remember, operations=False)
        for _ in range(100000):
            pass
        pypyjit.set_compile_hook(None)
        if self.spent is None:
            return
        self.jit_time = self.jit_count = self.bridges = 0
        self.names = {}  # of the loops, by their numbers
        self.jit_time_column = self.column(b"jit_time", b"ns")
        self.jit_count_column = self.column(b"jit_count", b"")
        self.deopt_column = self.column(b"deopt_count", b"")
        self.code_column = self.column(b"code_size", b"bytes")
        pypyjit.set_compile_hook(self.compiled, operations=False)

    def remember(self, _):
        """Remember the time in the compiler so far."""
        times = self.jit.get_stats_snapshot().counter_times
        self.spent = int((times["TRACING"] + times["BACKEND"]) * 1e9)

    def minor(self, stats):
        self.collected(stats, b"minor")

    def step(self, stats):
        self.collected(stats, b"step of a major one")

    def collected(self, stats, name):
        duration = int(stats.duration * 1e9)
        self.gc_time += duration
        self.gc_count += stats.count
        if self.events:
            self.event(self.handle, GC, self.now() - duration, duration, NONE, name)

    def compiled(self, loop):
        """A loop or a bridge was compiled. A bridge is compiled for a guard that failed often."""
        before, now = self.spent, self.now()
        self.remember(loop)
        # The time contains that of compilations which PyPy gave up, maybe in earlier iterations.
        duration = min(self.spent - before, now - self.iteration)
        bridge = loop.type == "bridge"
        self.jit_time += duration
        self.jit_count += 1
        self.bridges += bridge
        if not self.events:
            return
        number = loop.loop_no
        if not bridge:
            self.names[number] = self.name(loop)
        name = self.names.get(number, b"?")
        start = now - duration
        if bridge:
            self.event(self.handle, DEOPT, start, 0, NONE, name)
        self.event(self.handle, COMPILE, start, duration, loop.asmlen, name)

    def name(self, loop):
        """The function that a loop is in, or the name of another interpreter, of regular expressions."""
        key = loop.greenkey
        if loop.jitdriver_name != "pypyjit" or not isinstance(key, tuple):
            return loop.jitdriver_name.encode("ascii", "replace")
        code = key[0]
        name = "%s %s:%d" % (code.co_name, os.path.basename(code.co_filename), code.co_firstlineno)
        return name.encode("ascii", "replace")

    def ended(self):
        VM.ended(self)
        handle, set_column = self.handle, self.set
        set_column(handle, self.heap_column, gc._get_stats().total_gc_memory)
        if self.spent is None:
            return
        set_column(handle, self.jit_time_column, self.jit_time)
        set_column(handle, self.jit_count_column, self.jit_count)
        set_column(handle, self.deopt_column, self.bridges)
        set_column(handle, self.code_column, self.jit.get_stats_asmmemmgr()[1])
        if self.jit_count:
            self.remember(None)  # without what PyPy did after the call, and the call itself
        self.jit_time = self.jit_count = self.bridges = 0
        self.iteration = self.now()


def start(*args):
    """Return the function to call after each iteration."""
    if hasattr(gc, "hooks"):
        return PyPy(*args).ended
    if hasattr(gc, "callbacks"):
        return CPython(*args).ended
    return lambda: None
