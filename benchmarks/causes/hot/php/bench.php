<?php
/* A function that becomes hot in a known iteration; ../../README.md explains which. */

const STEPS = 400000;
$iterations = 0;

/* The usual work of an iteration. */
function work(): int
{
    $x = 1;
    for ($i = 0; $i < STEPS; $i++) {
        $x = ($x * 69069 + 1) & 0x7fffffff;
    }
    return $x;
}

/* Half as much work again. */
function fresh(): int
{
    $x = 1;
    for ($i = 0; $i < STEPS; $i++) {
        $x = ($x * 69069 + 1) & 0x7fffffff;
        $x ^= $x >> 7;
    }
    return $x;
}

function run_iter(int $n): void
{
    global $iterations;
    if ($iterations < 100 + 37 * $n % 100) {
        work();
    } else {
        fresh();
    }
    $iterations++;
}
