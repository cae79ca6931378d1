--[[
What LuaJIT reports about itself, for runner.lua with KRUN_INSTRUMENT: the
traces of its JIT compiler, and the size of its heap. A garbage collection is
noticed when it calls the finalizer of an object; its duration is not known.

LuaJIT calls functions here for traces and collections, inside the iteration.
They create garbage: an object in each collection, and in each compilation the
name of the place, its machine code as a string, and some numbers of 64 bits.
LuaJIT compiles functions here, too: such traces are not reported.
]]

-- enum krun_event_kind of krun.h
local GC, COMPILE, DEOPT, CODE = 1, 2, 3, 4

local DECLARATIONS = [[
  int64_t krun_now_ns(void);
  int krun_column(void *k, const char *name, const char *unit);
  int krun_set(void *k, int column, int64_t value);
  int krun_event(void *k, int kind, int64_t time, int64_t duration, int64_t argument, const char *name);
]]
local NONE = -2 ^ 63 -- KRUN_MISSING: no argument

-- The benchmark shares the global variables.
local collectgarbage, getmetatable, newproxy = collectgarbage, getmetatable, newproxy
local attach, util = jit.attach, require("jit.util")

-- What the names of the runner's files are in debugging information.
local OWN, RUNNER = debug.getinfo(1, "S").source, "@" .. arg[0]

-- watch_collections makes each garbage collection call a function, which returns whether to go on.
local function watch_collections(collected)
  local canary = newproxy(true)
  getmetatable(canary).__gc = function()
    if collected() then
      newproxy(canary) -- has the same finalizer, and dies in the next collection
    end
  end
end

-- place returns the file and line of an instruction, or nil for one of this file. A trace that
-- begins in the runner's loop contains calls of the benchmark, and its name says so.
local function place(func, pc)
  local info = util.funcinfo(func, pc)
  if info.source == OWN then
    return nil
  end
  return info.source == RUNNER and "the runner's loop" or info.loc or "C"
end

-- watch_traces counts traces, and calls event for each unless it is nil.
local function watch_traces(counts, now, event)
  local name -- of the trace that is being recorded
  attach(function(what, trace, func, pc, other, exit)
    if what == "start" then
      counts.started = now()
      name = place(func, pc)
      if not name then
        return
      end
      -- An exit was taken often, so a side trace is recorded for it. A trace after a function that
      -- cannot be compiled has exit -1.
      if other and exit >= 0 then
        counts.exits = counts.exits + 1
        if event then
          event(DEOPT, counts.started, 0, NONE, name)
        end
      end
    elseif what == "flush" then
      counts.code = 0
      if event then
        event(CODE, now(), 0, NONE, "flush")
      end
    elseif name then
      local duration, size = now() - counts.started, 0
      counts.compiling = counts.compiling + duration
      if what == "stop" then
        size = #util.tracemc(trace)
        counts.traces = counts.traces + 1
        counts.code = counts.code + size
      end
      if event then
        event(COMPILE, counts.started, duration, size, name)
      end
    end
  end, "trace")
end

-- start returns the function to call after each iteration.
return function(ffi, library, handle, events)
  ffi.cdef(DECLARATIONS)
  local now, set, krun_event = library.krun_now_ns, library.krun_set, events and library.krun_event
  local event = events and function(...)
    krun_event(handle, ...)
  end

  -- The code is that of all traces, the rest of this iteration.
  local counts = ffi.new("struct { int64_t started, compiling, code; int collections, traces, exits; }")
  watch_collections(function()
    if library.krun_should_stop(handle) ~= 0 then
      return false -- LuaJIT is about to close the library
    end
    counts.collections = counts.collections + 1
    if event then
      event(GC, now(), 0, NONE, nil)
    end
    return true
  end)
  watch_traces(counts, now, event)

  -- krun_set ignores the index of a column that there is no room for.
  local function column(name, unit)
    return library.krun_column(handle, name, unit)
  end
  local gc_count, heap_used = column("gc_count", ""), column("heap_used", "bytes")
  local jit_time, jit_count = column("jit_time", "ns"), column("jit_count", "")
  local deopt_count, code_size = column("deopt_count", ""), column("code_size", "bytes")
  return function()
    set(handle, gc_count, counts.collections)
    set(handle, heap_used, collectgarbage("count") * 1024)
    set(handle, jit_time, counts.compiling)
    set(handle, jit_count, counts.traces)
    set(handle, deopt_count, counts.exits)
    set(handle, code_size, counts.code)
    counts.compiling, counts.collections, counts.traces, counts.exits = 0, 0, 0, 0
  end
end
