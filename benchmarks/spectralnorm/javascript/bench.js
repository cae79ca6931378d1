/*
 * spectralnorm - the spectral norm of the infinite matrix 1, 1/2, 1/4, ...,
 * truncated to n by n, by the power method with ten rounds.
 *
 * parameter  n, 1 to 10000
 * checksum   the norm
 *
 * Based on the description in the Computer Language Benchmarks Game. Every language
 * does the same operations in the same order, so the last bit agrees.
 */
"use strict";

const MOST = 10000;

/* element returns the element in row i and column j: one over its index, counted along the
   diagonals. */
function element(i, j) {
  return 1 / ((i + j) * (i + j + 1) / 2 + i + 1);
}

/* times returns A times the vector. */
function times(vector) {
  const n = vector.length, out = [];

  for (let i = 0; i < n; i++) {
    let sum = 0;
    for (let j = 0; j < n; j++)
      sum += element(i, j) * vector[j];
    out.push(sum);
  }
  return out;
}

/* transposed returns A transposed times the vector. */
function transposed(vector) {
  const n = vector.length, out = [];

  for (let i = 0; i < n; i++) {
    let sum = 0;
    for (let j = 0; j < n; j++)
      sum += element(j, i) * vector[j];
    out.push(sum);
  }
  return out;
}

function checksum(n) {
  if (n < 1 || n > MOST) {
    print(`spectralnorm: parameter ${n} is not within 1 to ${MOST}`);
    quit(1);
  }
  let u = [], v = [];
  for (let i = 0; i < n; i++)
    u.push(1);
  for (let round = 0; round < 10; round++) {
    v = transposed(times(u));
    u = transposed(times(v));
  }
  let uv = 0, vv = 0;
  for (let i = 0; i < n; i++) {
    uv += u[i] * v[i];
    vv += v[i] * v[i];
  }
  return Math.sqrt(uv / vv);
}

// Known checksums; README.md lists their origin. Checksums of other parameters are
// those of their first iteration.
const EXPECTED = {
  100: 1.2742199912349306,
  500: 1.2742241159529055,
};

/* digits formats a number like the other languages: 17 significant digits, no trailing zeros. */
function digits(x) {
  return x.toPrecision(17).replace(/\.?0*$/, "");
}

function run_iter(n) {
  const got = checksum(n);
  if (!(n in EXPECTED))
    EXPECTED[n] = got;
  if (got !== EXPECTED[n]) {
    print(`spectralnorm: parameter ${n}: checksum ${digits(got)}, expected ${digits(EXPECTED[n])}`);
    quit(1);
  }
}
