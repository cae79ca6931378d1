<?php
/* Sleep in known iterations; ../../README.md explains which. */

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

function run_iter(int $n): void
{
    global $iterations;
    if ($iterations % 50 === $n % 50) {
        usleep(3000);
    }
    $iterations++;
    work();
}
