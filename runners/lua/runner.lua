--[[
Iteration runner for Lua: LuaJIT 2.0 and later, whose ffi library it needs.

usage: runner.lua BENCHMARK_FILE PARAMETER

Runs the benchmark's file and calls the global function run_iter(PARAMETER) until
libkrun says stop. libkrun is the file that the environment variable KRUN_LIBRARY
names, or libkrun.so beside this file, or ../../lib/libkrun.so. With KRUN_INSTRUMENT
it also runs instrument.lua, which asks LuaJIT what it did in each iteration.

exit status: 0 measured; 64 usage; 65 the benchmark has no function run_iter;
66 the benchmark cannot be loaded; 69 libkrun cannot be loaded; 70 the benchmark
raised an exception; 71 krun_init failed; 76 krun_begin or krun_end failed; 78
instrument.lua cannot be loaded. If the benchmark exits by itself, its status is kept.
]]

local EXIT_USAGE = 64
local EXIT_NO_ENTRY = 65
local EXIT_BENCHMARK = 66
local EXIT_LIBRARY = 69
local EXIT_EXCEPTION = 70
local EXIT_INIT = 71
local EXIT_MEASURE = 76
local EXIT_INSTRUMENT = 78

local VERSION = 1 -- KRUN_VERSION of krun.h
local EXACT = 2 ^ 53 -- integers up to here are represented exactly

-- The benchmark shares the global variables, so everything that is needed after loading it is kept
-- in locals.
local exit, getenv, stderr, traceback = os.exit, os.getenv, io.stderr, debug.traceback
local collectgarbage, pcall, xpcall, tostring, type = collectgarbage, pcall, xpcall, tostring, type
local globals, rawget = _G, rawget

-- fail prints the reason to stderr, in pieces because memory may be short, and exits.
local function fail(status, ...)
  stderr:write("runner.lua: ", ...)
  stderr:write("\n")
  exit(status)
end

local function one_line(err)
  return (tostring(err):gsub("%s+", " "))
end

-- text returns an error value, which need not be a string, as one line.
local function text(err)
  local fine, s = pcall(one_line, err)
  return fine and s or type(err) == "string" and err or type(err)
end

-- trace is the handler of a protected call: it prints the traceback to stderr.
local function trace(err)
  stderr:write(traceback(text(err), 2), "\n")
  return err
end

-- fail_in_benchmark is fail after an error that trace has handled. The message ends with the error,
-- because krund quotes the last line.
local function fail_in_benchmark(status, path, stage, err)
  collectgarbage() -- the error may be that memory is exhausted
  fail(status, path, " raised an exception ", stage, ": ", text(err))
end

-- parse returns the integer in a text, or nil.
local function parse(s)
  local n = s:match("^%-?%d+$") and tonumber(s)
  return n and n >= -EXACT and n <= EXACT and n + 0 or nil
end

-- directory returns the directory of a file, including the slash.
local function directory(path)
  local dir = path:match("^(.*)/[^/]*$")
  if dir == "" then
    return "/"
  end
  return dir and (dir:find("/", 1, true) and dir or "./" .. dir) or "./"
end

-- library_path returns the path of libkrun.
local function library_path()
  local path = getenv("KRUN_LIBRARY")
  if path and path ~= "" then
    return path
  end
  local here = directory(arg[0])
  local beside = io.open(here .. "/libkrun.so", "rb")
  if beside then
    beside:close()
    return here .. "/libkrun.so"
  end
  return here .. "/../../lib/libkrun.so"
end

local DECLARATIONS = [[
  int krun_version(void);
  const char *krun_strerror(int error);
  int krun_init(void **out);
  int krun_should_stop(void *k);
  int krun_begin(void *k);
  int krun_end(void *k);
  int krun_done(void *k);
  int krun_column(void *k, const char *name, const char *unit);
  int krun_set(void *k, int column, int64_t value);
]]

-- bind returns libkrun's functions. They are looked up only here.
local function bind(ffi, path)
  ffi.cdef(DECLARATIONS)
  local lib = ffi.load(path)
  return {
    library = lib, -- keeps the library loaded as long as the functions
    version = lib.krun_version(),
    strerror = function(code) return ffi.string(lib.krun_strerror(code)) end,
    init = lib.krun_init,
    should_stop = lib.krun_should_stop,
    begin = lib.krun_begin,
    finish = lib.krun_end,
    done = lib.krun_done,
  }
end

-- open_library returns the ffi library and libkrun's functions.
local function open_library()
  local has, ffi = pcall(require, "ffi")
  if not has then
    fail(EXIT_LIBRARY, "cannot load libkrun: ", _VERSION, " has no library ffi; use LuaJIT")
  end
  local path = library_path()
  local bound, krun = pcall(bind, ffi, path)
  if not bound then
    fail(EXIT_LIBRARY, "cannot load libkrun: ", text(krun), "; set KRUN_LIBRARY to the path of libkrun.so")
  end
  if krun.version ~= VERSION then
    fail(EXIT_LIBRARY, path, " has interface version ", krun.version, ", this runner needs ", VERSION,
      "; install both together")
  end
  return ffi, krun
end

-- open_handle calls krun_init.
local function open_handle(ffi, krun)
  local out = ffi.new("void *[1]")
  local code = krun.init(out)
  if code ~= 0 then
    fail(EXIT_INIT, "krun_init: ", krun.strerror(code))
  end
  return out[0]
end

local measured -- the code of a suite's measurement: its hook has measured, and needs no run_iter

-- load_benchmark returns the function run_iter of the file at path. require searches the file's
-- directory first.
local function load_benchmark(path)
  local dir = directory(path)
  package.path = dir .. "/?.lua;" .. dir .. "/?/init.lua;" .. package.path
  package.cpath = dir .. "/?.so;" .. package.cpath
  local chunk, err = loadfile(path)
  if not chunk then
    fail(EXIT_BENCHMARK, "cannot load the benchmark: ", text(err))
  end
  local done
  done, err = xpcall(chunk, trace)
  if not done then
    fail_in_benchmark(EXIT_BENCHMARK, path, "while it was loaded", err)
  end
  local run_iter = rawget(globals, "run_iter")
  if type(run_iter) ~= "function" and not measured then
    fail(EXIT_NO_ENTRY, path, " has no function run_iter")
  end
  return run_iter
end

-- measure iterates until libkrun says stop and returns the code of the call that failed, or 0.
--
-- Everything that it calls is in local variables, and calls of C functions are compiled: a trace
-- continues from one iteration into the next. The result of krun_begin is not checked, because the
-- check would be measured, and krun_end reports the same error.
local function measure(krun, handle, run_iter, parameter)
  local should_stop, begin, finish = krun.should_stop, krun.begin, krun.finish
  while should_stop(handle) == 0 do
    begin(handle)
    run_iter(parameter)
    local code = finish(handle)
    if code ~= 0 then
      return code
    end
  end
  return krun.done(handle)
end

-- measure_suite measures for the hook of a suite, which is loaded in the place of a benchmark:
-- iterate returns the seconds that the suite itself measured for the iteration, which become a
-- column. It returns the code of the call that failed, or 0.
local function measure_suite(krun, handle, iterate, ended)
  local should_stop, begin, finish, set = krun.should_stop, krun.begin, krun.finish, krun.library.krun_set
  local column = krun.library.krun_column(handle, "suite_time", "ns")
  while should_stop(handle) == 0 do
    begin(handle)
    local seconds = iterate()
    local code = finish(handle)
    if code ~= 0 then
      return code
    end
    set(handle, column, seconds * 1e9)
    if ended then
      ended()
    end
  end
  return krun.done(handle)
end

-- load_instrument returns the function that instrument.lua returns.
local function load_instrument()
  local chunk, err = loadfile(directory(arg[0]) .. "/instrument.lua")
  if not chunk then
    fail(EXIT_INSTRUMENT, "KRUN_INSTRUMENT needs instrument.lua: ", text(err), "; install it beside runner.lua")
  end
  return chunk()
end

-- measure_instrumented is measure, and calls a function after each iteration.
local function measure_instrumented(krun, handle, run_iter, parameter, ended)
  local should_stop, begin, finish = krun.should_stop, krun.begin, krun.finish
  while should_stop(handle) == 0 do
    begin(handle)
    run_iter(parameter)
    local code = finish(handle)
    if code ~= 0 then
      return code
    end
    ended()
  end
  return krun.done(handle)
end

local function main(path, parameter)
  if #arg ~= 2 or not parameter then
    stderr:write("usage: runner.lua BENCHMARK_FILE PARAMETER (an integer)\n")
    exit(EXIT_USAGE)
  end
  local ffi, krun = open_library()
  local handle = open_handle(ffi, krun)
  local instrument, ended = getenv("KRUN_INSTRUMENT"), nil
  local function load_ended()
    if instrument then
      ended = load_instrument()(ffi, krun.library, handle, instrument == "events")
    end
  end
  if getenv("KRUN_SUITE") then
    globals.krun_parameter = parameter
    globals.krun_suite = function(iterate)
      load_ended()
      measured = measure_suite(krun, handle, iterate, ended)
    end
  end
  local run_iter = load_benchmark(path)
  if measured then
    measure = function() return measured end
  else
    load_ended()
    measure = instrument and measure_instrumented or measure
  end
  local done, code = xpcall(function() return measure(krun, handle, run_iter, parameter, ended) end, trace)
  if not done then
    fail_in_benchmark(EXIT_EXCEPTION, path, "in run_iter", code)
  end
  if code ~= 0 then
    fail(EXIT_MEASURE, "krun_begin or krun_end: ", krun.strerror(code))
  end
end

main(arg[1], arg[2] and parse(arg[2]))
