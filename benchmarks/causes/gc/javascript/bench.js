// Garbage collections in known iterations; ../../README.md explains which.
"use strict";

require("v8").setFlagsFromString("--expose-gc");
const collect = require("vm").runInNewContext("gc");
const live = Array.from({ length: 200000 }, (_, i) => [i]);
let iterations = 0;

/* work is the usual work of an iteration. */
function work() {
  let x = 1;
  for (let i = 0; i < 1000000; i++)
    x = (Math.imul(x, 69069) + 1) ^ (x >>> 7);
  return x;
}

function run_iter(n) {
  if (iterations++ % 50 === n % 50)
    collect();
  live[iterations][0] = work();
}
