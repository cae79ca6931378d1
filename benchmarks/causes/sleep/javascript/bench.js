// Sleep in known iterations; ../../README.md explains which.
"use strict";

const never = new Int32Array(new SharedArrayBuffer(4));
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
    Atomics.wait(never, 0, 0, 3);
  work();
}
