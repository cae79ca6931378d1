<?php
// checksum.php BENCH_PHP N... - what testdata/checksum.c does, for PHP.
require $argv[1];
foreach (array_slice($argv, 2) as $argument) {
    $n = (int)$argument;
    printf("%.17g\n", checksum($n));
    run_iter($n);
    run_iter($n);
}
