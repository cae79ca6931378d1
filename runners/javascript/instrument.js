/*
 * What V8 reports about itself, for runner.js with KRUN_INSTRUMENT; instrument.c
 * describes the functions of krun.node that this uses.
 *
 * Collections are counted by functions that V8 calls before and after each. Nothing
 * here creates an object while iterations run.
 *
 * With events V8 writes a log of its compilations and deoptimizations, into a
 * temporary file that has no name. The options for that are those of
 * KRUN_INSTRUMENT=events in runners.go. The log is read after the last iteration.
 * Its times are microseconds of V8's clock. Scripts that V8 compiles here, between two
 * stamps of libkrun's clock, relate the two.
 */
"use strict";

const fs = require("fs");
const os = require("os");
const path = require("path");
const process = require("process");
const v8 = require("v8");
const vm = require("vm");

const COMPILE = 2; // enum krun_event_kind of krun.h
const DEOPT = 3;
const MARK = 7;

const MOST_LOG = 256 << 20; // bytes of the log that are read
const MOST_LINE = 64 << 10; // a line that is longer is source text
const BURST = 16; // scripts at the start and the end, of which the narrowest counts
const MARK_NAME = "krun-stamp-";

/* The letter in the log for the compiler, and its tier: Sparkplug, Maglev, TurboFan. */
const TIERS = { "^": 1, "+": 2, "*": 3 };

/* openLog returns a descriptor of V8's log, a file without a name, or undefined. */
function openLog() {
  const start = Buffer.alloc(11);
  for (const name of fs.readdirSync("/proc/self/fd")) {
    const file = `/proc/self/fd/${name}`;
    try {
      const status = fs.statSync(file);
      if (!status.isFile() || status.nlink > 0)
        continue;
      const fd = fs.openSync(file, "r");
      if (fs.readSync(fd, start, 0, start.length, 0) === start.length && start.toString() === "v8-version,")
        return fd;
      fs.closeSync(fd);
    } catch (_) {
      continue; // the descriptor of the directory itself, which is closed by now
    }
  }
  return undefined;
}

/*
 * logDeoptimizations makes V8 log deoptimizations. It then traces them on stdout, too, unless that
 * goes to a regular file: one without a name.
 */
function logDeoptimizations() {
  const name = path.join(os.tmpdir(), `krun-traces-${process.pid}`);
  const fd = fs.openSync(name, "wx", 0o600);
  fs.unlinkSync(name);
  v8.setFlagsFromString("--redirect-code-traces");
  v8.setFlagsFromString(`--redirect-code-traces-to=/proc/self/fd/${fd}`);
  v8.setFlagsFromString("--log-deopt");
}

// readLines calls f with each line of the log about code, split at its commas; it returns false if
// there is more.
function readLines(fd, f) {
  const chunk = Buffer.alloc(1 << 20);
  let rest = "", at = 0, n;
  while ((n = fs.readSync(fd, chunk, 0, chunk.length, at)) > 0) {
    at += n;
    if (at > MOST_LOG)
      return false;
    const lines = (rest + chunk.toString("latin1", 0, n)).split("\n");
    rest = lines.pop();
    if (rest.length > MOST_LINE)
      rest = rest.slice(0, 64); // not a line about code, and still not after this
    for (const line of lines)
      if (line.startsWith("code-creation,") || line.startsWith("code-deopt,"))
        f(line.split(","));
  }
  return true;
}

/* shorten returns the name of a function in the log without the directory of its file. */
function shorten(name) {
  return name.replace(/\\x2C/g, ",").replace(/ [^ ]*\//, " ").trim();
}

/* A log of V8 and the relation of its clock to libkrun's. */
class Log {
  constructor(krun, fd) {
    this.krun = krun;
    this.fd = fd;
    this.brackets = []; // stamps before and after the compilation of each script
    this.stamp();
    this.started = krun.now();
  }

  stamp() {
    for (let i = 0; i < BURST; i++) {
      const filename = MARK_NAME + this.brackets.length, before = this.krun.now();
      new vm.Script("0", { filename });
      this.brackets.push([before, this.krun.now()]);
    }
  }

  /* learnClock sets this.from and this.to, times of both clocks at the start and the end. */
  learnClock() {
    const widths = [Infinity, Infinity], best = [];
    readLines(this.fd, (fields) => {
      const name = fields[6] || "";
      if (fields[0] !== "code-creation" || !name.startsWith(` ${MARK_NAME}`))
        return;
      const number = parseInt(name.slice(1 + MARK_NAME.length), 10), end = number < BURST ? 0 : 1;
      // a script of the benchmark with this name
      const [before, after] = this.brackets[number] || [0, Infinity];
      if (after - before < widths[end]) {
        widths[end] = after - before;
        best[end] = { log: Number(fields[3]), stamp: (before + after) / 2 };
      }
    });
    if (!best[0] || !best[1])
      throw new Error("V8's log has no times of the runner's scripts");
    [this.from, this.to] = best;
  }

  /* convert returns libkrun's stamp of a time in the log. */
  convert(text) {
    const rate = (this.to.stamp - this.from.stamp) / (this.to.log - this.from.log);
    return Math.round(this.from.stamp + (Number(text) - this.from.log) * rate);
  }

  /* report gives what V8 logged while iterations ran to libkrun. */
  report() {
    const names = new Map(); // of functions, by the addresses of their code
    const finished = this.krun.now();
    this.krun.close();
    this.stamp();
    this.learnClock();
    const whole = readLines(this.fd, (fields) => {
      const created = fields[0] === "code-creation";
      const tier = created ? TIERS[(fields[8] || "")[0]] : 0;
      if (tier === undefined)
        return;
      if (created)
        names.set(fields[4], shorten(fields[6]));
      const time = this.convert(created ? fields[3] : fields[1]);
      if (!(time >= this.started && time <= finished) || (created && fields[6].includes(__filename)))
        return;
      if (created)
        this.krun.event(COMPILE, time, 0, tier, names.get(fields[4]));
      else
        this.reportDeoptimization(time, fields, names.get(fields[3]));
    });
    if (whole)
      this.krun.countDeopts();
    else
      this.krun.event(MARK, finished, 0, 0, "V8's log is too large: its end was not read");
  }

  reportDeoptimization(time, fields, name) {
    const place = /([^/<]*):([0-9]+):[0-9]+>/.exec(fields[7]) || ["", "", "0"];
    this.krun.event(DEOPT, time, 0, Number(place[2]), `${name || place[1]} (${fields[8]})`);
  }
}

/*
 * start returns the log, or undefined without events. It throws an exception if V8
 * cannot report what KRUN_INSTRUMENT asks for.
 */
function start(krun) {
  const used = krun.start(require("perf_hooks").constants.NODE_PERFORMANCE_GC_MAJOR);
  const known = v8.getHeapStatistics().used_heap_size;
  if (used === undefined || Math.abs(used - known) > known / 2)
    throw new Error("this version of V8 does not have the functions for that");
  let log;
  if (krun.asked() === "events") {
    const fd = openLog();
    if (fd === undefined)
      throw new Error("events need Node 16 and its options --log-code --no-logfile-per-isolate "
        + "--logfile=+, which krund gives");
    logDeoptimizations();
    log = new Log(krun, fd);
  } else {
    new vm.Script("0");
  }
  krun.open(log ? 1 : 0);
  krun.ended(); // libkrun refuses values before the first iteration
  return log;
}

/* measure is the loop of runner.js, with a report after each iteration. */
function measure(krun, run_iter, parameter) {
  const { shouldStop, begin, end, ended } = krun;
  while (!shouldStop()) {
    begin();
    run_iter(parameter);
    const code = end();
    if (code !== undefined)
      return code;
    ended();
  }
  return undefined;
}

module.exports = { start, measure };
