<?php
/* Page faults in known iterations; ../../README.md explains which. */

const FRESH = 8 << 20; // bytes

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

/* Writes to each page of new memory, which PHP maps and unmaps. */
function touch_memory(): void
{
    $memory = str_repeat('1', FRESH);
    unset($memory);
}

function run_iter(int $n): void
{
    global $iterations;
    if ($iterations % 50 === $n % 50) {
        touch_memory();
    }
    $iterations++;
    work();
}
