// Page faults in known iterations; ../../README.md explains which.
"use strict";

const FRESH = 8 << 20; // bytes
const kept = []; // freed memory would be used again, without faults
let iterations = 0;

/* touch writes to each page of new memory. */
function touch() {
  const memory = new Uint8Array(FRESH);
  for (let i = 0; i < FRESH; i += 4096)
    memory[i] = 1;
  kept.push(memory);
}

/* work is the usual work of an iteration. */
function work() {
  let x = 1;
  for (let i = 0; i < 1000000; i++)
    x = (Math.imul(x, 69069) + 1) ^ (x >>> 7);
  return x;
}

function run_iter(n) {
  if (iterations++ % 50 === n % 50)
    touch();
  work();
}
