<?php
// Computes Fibonacci numbers: replace it by what you want to measure. run_iter is called once per
// iteration and timed; its argument is the parameter in the configuration.
function fib(int $k): int
{
    return $k < 2 ? $k : fib($k - 1) + fib($k - 2);
}

function run_iter(int $n): void
{
    $result = fib($n);
    if ($result < $n - 1) {
        throw new Exception("fib($n) = $result"); // a wrong result is no measurement
    }
}
