/*
 * Iteration runner for JavaScript: Node 12 and later.
 *
 *   usage: runner.js BENCHMARK_FILE PARAMETER
 *
 * Runs the benchmark's file as a script in the global scope, as a browser or V8's
 * shell d8 would, and calls its run_iter(PARAMETER) until libkrun says stop. A file
 * NAME.wasm is a WebAssembly module, which exports run_iter. libkrun is in the addon
 * krun.node beside this file. With KRUN_INSTRUMENT, instrument.js reports about V8.
 *
 * exit status: 0 measured; 64 usage; 65 the benchmark has no function run_iter;
 * 66 the benchmark cannot be loaded; 69 krun.node cannot be loaded; 70 the
 * benchmark raised an exception; 71 krun_init failed; 76 krun_begin or krun_end
 * failed; 78 V8 cannot report what KRUN_INSTRUMENT asks for. If the benchmark exits by
 * itself, its status is kept.
 */
"use strict";

const fs = require("fs");
const { Module } = require("module");
const path = require("path");
const process = require("process"); // a benchmark may define a global with this name
const vm = require("vm");

const EXIT_USAGE = 64;
const EXIT_NO_ENTRY = 65;
const EXIT_BENCHMARK = 66;
const EXIT_LIBRARY = 69;
const EXIT_EXCEPTION = 70;
const EXIT_INIT = 71;
const EXIT_MEASURE = 76;
const EXIT_INSTRUMENT = 78;

const VERSION = 1; // KRUN_VERSION of krun.h

/* complain prints the reason to stderr and exits. */
function complain(status, message) {
  process.stderr.write(`runner.js: ${message}\n`);
  process.exit(status);
}

/*
 * summary returns an exception as one line, such as "TypeError: x is not a function".
 * A thrown value need not be an Error, and its conversion to a string may fail.
 */
function summary(exception) {
  try {
    return String(exception).replace(/\s+/g, " ").trim();
  } catch (_) {
    return `a thrown ${typeof exception}`;
  }
}

/* trace returns the stack of an exception, or "" if it has none. */
function trace(exception) {
  try {
    return typeof exception.stack === "string" ? `${exception.stack}\n` : "";
  } catch (_) {
    return "";
  }
}

/*
 * complainOf is complain with the stack of an exception. The message ends with the
 * exception, because krund quotes the last line.
 */
function complainOf(status, message, exception) {
  process.stderr.write(trace(exception));
  complain(status, `${message}: ${summary(exception)}`);
}

/* openLibrary returns the functions of krun.node; krun.c beside this file describes them. */
function openLibrary() {
  const file = path.join(__dirname, "krun.node"), addon = { exports: {} };
  let version;

  try {
    process.dlopen(addon, file);
    version = addon.exports.version();
  } catch (error) {
    complain(EXIT_LIBRARY,
        `cannot load libkrun: ${summary(error)}; install krun.node and runner.js together`);
  }
  if (version !== VERSION)
    complain(EXIT_LIBRARY,
        `${file} has interface version ${version}, this runner needs ${VERSION}; install both together`);
  return addon.exports;
}

/* isModule reports whether a file is a WebAssembly module. */
function isModule(file) {
  return file.endsWith(".wasm");
}

/* runFile runs a file as a script in the global scope. It throws exceptions from reading,
 * compiling and running. */
function runFile(file) {
  return new vm.Script(fs.readFileSync(file, "utf8"), { filename: file }).runInThisContext();
}

/* blockingOutput allows the runner to exit at once without losing output to a pipe. */
function blockingOutput() {
  for (const stream of [process.stdout, process.stderr])
    if (stream._handle && stream._handle.setBlocking)
      stream._handle.setBlocking(true);
}

/*
 * defineGlobals defines the functions of d8 that benchmarks use, and Node's require.
 * load and require search the directory of the benchmark at the given path; load
 * also searches the working directory, like d8.
 */
function defineGlobals(benchmark) {
  const directory = path.dirname(path.resolve(benchmark));
  const functions = {
    load(file) {
      const beside = path.resolve(directory, String(file));
      return runFile(fs.existsSync(beside) ? beside : path.resolve(String(file)));
    },
    print(...values) {
      process.stdout.write(`${values.map(String).join(" ")}\n`);
    },
    quit(status) {
      process.exit(status === undefined ? 0 : Number(status));
    },
    require: (Module.createRequire || Module.createRequireFromPath)(path.resolve(benchmark)),
  };
  for (const name of Object.keys(functions))
    if (typeof global[name] !== "function")
      Object.defineProperty(global, name, { value: functions[name], configurable: true, writable: true });
}

/* openWASI returns Node's implementation of the system interface, without the warning that it is
 * experimental. */
function openWASI() {
  const warn = process.emitWarning;

  process.emitWarning = () => {};
  try {
    return new (require("wasi").WASI)({ version: "preview1", returnOnExit: false });
  } finally {
    process.emitWarning = warn;
  }
}

/* runModule returns what a WebAssembly module exports, after its initialization. It throws
 * exceptions. */
function runModule(file) {
  const name = "wasi_snapshot_preview1";
  const module = new WebAssembly.Module(fs.readFileSync(file));
  const wasi = WebAssembly.Module.imports(module).some((needed) => needed.module === name)
      ? openWASI() : undefined;
  const instance = new WebAssembly.Instance(module, wasi ? { [name]: wasi.wasiImport } : {});

  if (wasi)
    wasi.initialize(instance);
  else if (instance.exports._initialize)
    instance.exports._initialize();
  return instance.exports;
}

/* loadBenchmark returns the function run_iter of the file,
 * which may be a global variable or a constant of the script. */
function loadBenchmark(file, isSuite) {
  let entry;

  try {
    if (isModule(file)) {
      entry = runModule(file).run_iter;
    } else {
      runFile(file);
      entry = vm.runInThisContext('typeof run_iter === "function" ? run_iter : undefined');
    }
  } catch (error) {
    complainOf(EXIT_BENCHMARK, `cannot load ${file}`, error);
  }
  if (isSuite())
    return undefined;
  if (typeof entry !== "function")
    complain(EXIT_NO_ENTRY, `${file} has no function run_iter`);
  if (/^\[object (Async|Generator|AsyncGenerator)Function\]$/.test(Object.prototype.toString.call(entry)))
    complain(EXIT_NO_ENTRY,
        `run_iter of ${file} is an async function or a generator: `
        + "an iteration must be over when run_iter returns");
  return entry;
}

/*
 * measure iterates until libkrun says stop, and returns the code of the call that
 * failed, or undefined. It is a separate function, so that V8 compiles the loop on
 * its own.
 */
function measure(shouldStop, begin, end, run_iter, parameter) {
  while (!shouldStop()) {
    begin();
    run_iter(parameter);
    const code = end();
    if (code !== undefined)
      return code;
  }
  return undefined;
}

/* checksum returns 48 bits of what run_iter returned: of its text. */
function checksum(result) {
  const text = typeof result === "object" ? JSON.stringify(result) : String(result);

  return require("crypto").createHash("sha256").update(text).digest().readUIntBE(0, 6);
}

/*
 * measureInput is measure, for a benchmark whose run_iter takes the iteration's input as a second
 * argument, and may return a result, whose checksum is kept.
 */
function measureInput(krun, run_iter, parameter) {
  const inputs = krun.column("input", ""), checksums = krun.column("checksum", "");

  while (!krun.shouldStop()) {
    const input = krun.input();
    krun.begin();
    const result = run_iter(parameter, input);
    const code = krun.end();
    if (code !== undefined)
      return code;
    krun.set(inputs, input);
    if (result !== undefined && result !== null)
      krun.set(checksums, checksum(result));
  }
  return undefined;
}

/*
 * suiteCalls returns what the hook of a suite calls, loaded in the place of a benchmark: while
 * again(), one iteration between begin() and end(seconds), where the seconds are what the suite
 * itself measured, and become a column. planned is the number of iterations, at most.
 */
function suiteCalls(krun) {
  const column = krun.column("suite_time", "ns");

  return {
    planned: krun.iterations(),
    again: () => !krun.shouldStop(),
    begin: krun.begin,
    end(seconds) {
      const code = krun.end();
      if (code !== undefined)
        complain(EXIT_MEASURE, `krun_begin or krun_end: ${krun.strerror(code)}`);
      krun.set(column, Math.round(seconds * 1e9));
      if (krun.ended)
        krun.ended();
    },
  };
}

/* instrumented returns what step returns, which instruments V8, or exits. */
function instrumented(step) {
  try {
    return step();
  } catch (error) {
    complain(EXIT_INSTRUMENT, `V8 cannot report what KRUN_INSTRUMENT asks for: ${summary(error)}`);
  }
}

async function main(argv) {
  const parameter = Number(argv[1]) + 0; // not -0, which V8 does not represent as a small integer
  if (argv.length !== 2 || !/^-?[0-9]+$/.test(argv[1]) || !Number.isSafeInteger(parameter) ||
    (isModule(argv[0]) && parameter !== (parameter | 0))) {
    process.stderr.write("usage: runner.js BENCHMARK_FILE PARAMETER (an integer)\n");
    process.exit(EXIT_USAGE);
  }
  const krun = openLibrary();
  let code = krun.init();
  if (code !== undefined)
    complain(EXIT_INIT, `krun_init: ${krun.strerror(code)}`);
  blockingOutput();
  defineGlobals(argv[0]);
  let suite;
  if (process.env.KRUN_SUITE)
    global.krunSuite = (run) => { suite = run; };
  const run_iter = loadBenchmark(argv[0], () => suite);
  // krun.node has asked only with KRUN_INSTRUMENT
  const instrument = krun.asked && instrumented(() => require("./instrument.js"));
  const log = instrument && instrumented(() => instrument.start(krun));
  try {
    if (suite) {
      await suite(suiteCalls(krun));
      if (!krun.shouldStop())
        complain(EXIT_BENCHMARK, "the suite ended before its last iteration");
    } else if (run_iter.length === 2)
      code = measureInput(krun, run_iter, parameter);
    else code = instrument ? instrument.measure(krun, run_iter, parameter) :
      measure(krun.shouldStop, krun.begin, krun.end, run_iter, parameter);
  } catch (error) {
    complainOf(EXIT_EXCEPTION, `${argv[0]} raised an exception in run_iter`, error);
  }
  if (code === undefined && log)
    instrumented(() => log.report());
  if (code === undefined)
    code = krun.done();
  if (code !== undefined)
    complain(EXIT_MEASURE, `krun_begin or krun_end: ${krun.strerror(code)}`);
  // now, regardless of timers and promises; the status is 0 unless the benchmark set another
  process.exit();
}

main(process.argv.slice(2));
