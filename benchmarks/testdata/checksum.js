// checksum.js FILE N... - what testdata/checksum.c does, for JavaScript and WebAssembly.
"use strict";
const fs = require("fs");
const vm = require("vm");

global.print = (text) => process.stdout.write(`${text}\n`);
global.quit = process.exit;
const file = process.argv[2];
if (file.endsWith(".wasm")) {
  const { WASI } = require("wasi");
  const wasi = new WASI({ version: "preview1", returnOnExit: false });
  const instance = new WebAssembly.Instance(new WebAssembly.Module(fs.readFileSync(file)),
    { wasi_snapshot_preview1: wasi.wasiImport });
  wasi.initialize(instance);
  Object.assign(global, instance.exports);
} else {
  new vm.Script(fs.readFileSync(file, "utf8"), { filename: file }).runInThisContext();
}
for (const n of process.argv.slice(3).map(Number)) {
  print(checksum(n).toPrecision(17).replace(/\.?0*$/, ""));
  run_iter(n);
  run_iter(n);
}
