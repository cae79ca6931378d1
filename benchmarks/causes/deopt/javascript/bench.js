// A new type in a known iteration; ../../README.md explains which.
"use strict";

class First {
  constructor(value) {
    this.value = value;
  }

  get(x) {
    return Math.imul(x, 69069) + this.value | 0;
  }
}

class Second extends First {
  get(x) {
    return (Math.imul(x, 69069) ^ x >>> 7) + this.value | 0;
  }
}

const same = Array.from({ length: 64 }, () => new First(1));
const mixed = Array.from({ length: 64 }, (_, i) => i % 2 ? new Second(1) : new First(1));
let iterations = 0;

/* work is the usual work of an iteration, with one class until another comes. */
function work(objects) {
  let x = 1;
  for (let i = 0; i < 1500000; i++)
    x = objects[i & 63].get(x);
  return x;
}

function run_iter(n) {
  work(iterations++ < 100 + 37 * n % 100 ? same : mixed);
}
