/*
 * fannkuch_redux - for every permutation of 0 to n-1: reverse the first k+1
 * elements, k being the first, until that is 0, and count the reversals.
 *
 * parameter  n, 1 to 12
 * checksum   1000 times the sum of the counts with alternating sign, plus the
 *            largest count
 *
 * Based on the description in the Computer Language Benchmarks Game; its order of
 * the permutations decides the signs.
 */
"use strict";

const MOST = 12;

/* flips counts the reversals of a permutation without modifying it. */
function flips(permutation) {
  const p = permutation.slice();
  let count = 0;

  for (let k = p[0]; k !== 0; k = p[0]) {
    for (let i = 0, j = k; i < j; i++, j--) {
      const t = p[i];
      p[i] = p[j];
      p[j] = t;
    }
    count++;
  }
  return count;
}

/*
 * advance makes the next permutation: the first r+1 elements rotate to the left,
 * r starting at 1 and growing each time that r's turns are used up. It returns
 * false after the last one.
 */
function advance(permutation, turns, n) {
  for (let r = 1; r < n; r++) {
    const first = permutation[0];
    for (let i = 0; i < r; i++)
      permutation[i] = permutation[i + 1];
    permutation[r] = first;
    turns[r]--;
    if (turns[r] > 0)
      return true;
    turns[r] = r + 1;
  }
  return false;
}

function checksum(n) {
  if (n < 1 || n > MOST) {
    print(`fannkuch_redux: parameter ${n} is not within 1 to ${MOST}`);
    quit(1);
  }
  const permutation = [], turns = [];
  for (let i = 0; i < n; i++) {
    permutation.push(i);
    turns.push(i + 1);
  }
  let sum = 0, most = 0, sign = 1;
  do {
    const count = flips(permutation);
    sum += sign * count;
    sign = -sign;
    if (count > most)
      most = count;
  } while (advance(permutation, turns, n));
  return sum * 1000 + most;
}

// Known checksums; README.md lists their origin. Checksums of other parameters are
// those of their first iteration.
const EXPECTED = {
  7: 228016,
  8: 1616022,
  9: 8629030,
  10: 73196038,
};

function run_iter(n) {
  const got = checksum(n);
  if (!(n in EXPECTED))
    EXPECTED[n] = got;
  if (got !== EXPECTED[n]) {
    print(`fannkuch_redux: parameter ${n}: checksum ${got}, expected ${EXPECTED[n]}`);
    quit(1);
  }
}
