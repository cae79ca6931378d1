/*
 * fasta - write DNA sequences as lines of text: one by repeating a given piece,
 * two by choosing letters with a weighted random number.
 *
 * parameter  n, 0 to 10000000: the sequences have 2n, 3n and 5n letters
 * checksum   of the lines, from 0: 31 times the checksum so far plus the sum of
 *            the line's character codes, modulo 2 to the 32
 *
 * Based on the description in the Computer Language Benchmarks Game. Nothing is
 * printed, and each iteration starts from the same random seed.
 */
"use strict";

const LINE = 60, MOST = 10000000;

const ALU =
  "GGCCGGGCGCGGTGGCTCACGCCTGTAATCCCAGCACTTTGG" +
  "GAGGCCGAGGCGGGCGGATCACCTGAGGTCAGGAGTTCGAGA" +
  "CCAGCCTGGCCAACATGGTGAAACCCCGTCTCTACTAAAAAT" +
  "ACAAAAATTAGCCGGGCGTGGTGGCGCGCGCCTGTAATCCCA" +
  "GCTACTCGGGAGGCTGAGGCAGGAGAATCGCTTGAACCCGGG" +
  "AGGCGGAGGTTGCAGTGAGCCGAGATCGCGCCACTGCACTCC" +
  "AGCCTGGGCGACAGAGCGAGACTCCGTCTCAAAAA";

const IUB = [
  ["a", 0.27], ["c", 0.12], ["g", 0.12], ["t", 0.27], ["B", 0.02],
  ["D", 0.02], ["H", 0.02], ["K", 0.02], ["M", 0.02], ["N", 0.02],
  ["R", 0.02], ["S", 0.02], ["V", 0.02], ["W", 0.02], ["Y", 0.02],
];

const HOMO_SAPIENS = [["a", 0.3029549426680], ["c", 0.1979883004921], ["g", 0.1975473066391],
    ["t", 0.3015094502008]];

/* The state of one iteration. */
class Writer {
  constructor() {
    this.sum = 0;
    this.seed = 42;
  }

  /* write replaces printing. */
  write(line) {
    let codes = 0;
    for (let i = 0; i < line.length; i++)
      codes += line.charCodeAt(i);
    this.sum = (this.sum * 31 + codes) % 4294967296;
  }

  /* random is in [0, 1): a linear congruential generator of small numbers, the same everywhere. */
  random() {
    this.seed = (this.seed * 3877 + 29573) % 139968;
    return this.seed / 139968;
  }
}

function repeat(writer, piece, letters) {
  const endless = piece + piece.slice(0, LINE);
  let at = 0;

  for (; letters > 0; letters -= LINE) {
    const length = Math.min(letters, LINE);
    writer.write(endless.slice(at, at + length));
    at = (at + length) % piece.length;
  }
}

/* choose returns the first letter whose cumulative share exceeds a random number; the last takes
   the rest. */
function choose(writer, names, below) {
  const r = writer.random(), last = names.length - 1;
  let i = 0;

  while (i < last && r >= below[i])
    i++;
  return names[i];
}

function random_letters(writer, shares, letters) {
  const names = [], below = [];
  let total = 0;

  for (const [letter, share] of shares) {
    total += share;
    names.push(letter);
    below.push(total);
  }
  for (; letters > 0; letters -= LINE) {
    const length = Math.min(letters, LINE);
    let line = "";
    for (let i = 0; i < length; i++)
      line += choose(writer, names, below);
    writer.write(line);
  }
}

function checksum(n) {
  if (n < 0 || n > MOST) {
    print(`fasta: parameter ${n} is not within 0 to ${MOST}`);
    quit(1);
  }
  const writer = new Writer();
  writer.write(">ONE Homo sapiens alu");
  repeat(writer, ALU, 2 * n);
  writer.write(">TWO IUB ambiguity codes");
  random_letters(writer, IUB, 3 * n);
  writer.write(">THREE Homo sapiens frequency");
  random_letters(writer, HOMO_SAPIENS, 5 * n);
  return writer.sum;
}

// Known checksums; README.md lists their origin. Checksums of other parameters are
// those of their first iteration.
const EXPECTED = {
  1000: 3225012143,
  30000: 4059268609,
  100000: 3438851865,
};

function run_iter(n) {
  const got = checksum(n);
  if (!(n in EXPECTED))
    EXPECTED[n] = got;
  if (got !== EXPECTED[n]) {
    print(`fasta: parameter ${n}: checksum ${got}, expected ${EXPECTED[n]}`);
    quit(1);
  }
}
