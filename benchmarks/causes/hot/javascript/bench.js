// A function that becomes hot in a known iteration; ../../README.md explains which.
"use strict";

let iterations = 0;

/* work is the usual work of an iteration. */
function work() {
  let x = 1;
  for (let i = 0; i < 1000000; i++)
    x = (Math.imul(x, 69069) + 1) ^ (x >>> 7);
  return x;
}

/* fresh is half as much work again. */
function fresh() {
  let x = 1;
  for (let i = 0; i < 1500000; i++)
    x = (Math.imul(x, 69069) + 1) ^ (x >>> 7);
  return x;
}

function run_iter(n) {
  if (iterations++ < 100 + 37 * n % 100)
    work();
  else
    fresh();
}
