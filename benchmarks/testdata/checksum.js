// checksum.js BENCH_JS N... - what testdata/checksum.c does, for JavaScript.
"use strict";
const fs = require("fs");
const vm = require("vm");

global.print = (text) => process.stdout.write(`${text}\n`);
global.quit = process.exit;
new vm.Script(fs.readFileSync(process.argv[2], "utf8"), { filename: process.argv[2] }).runInThisContext();
for (const n of process.argv.slice(3).map(Number)) {
  print(checksum(n).toPrecision(17).replace(/\.?0*$/, ""));
  run_iter(n);
  run_iter(n);
}
