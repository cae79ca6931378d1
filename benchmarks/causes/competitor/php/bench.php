<?php
/* Another process takes the processor in known iterations; ../../README.md explains which.
   It needs the extensions FFI and pcntl. */

const STEPS = 400000;
$iterations = 0;
$wake = null;
$competitor = 0;

/* The usual work of an iteration. */
function work(): int
{
    $x = 1;
    for ($i = 0; $i < STEPS; $i++) {
        $x = ($x * 69069 + 1) & 0x7fffffff;
    }
    return $x;
}

/* Keep this process, and those that it makes, on the processor that it is on. */
function bind(): void
{
    $libc = FFI::cdef('int sched_getcpu(void);
        int sched_setaffinity(int pid, size_t bytes, const uint8_t *mask);');
    $cpu = $libc->sched_getcpu();
    $mask = FFI::new('uint8_t[128]');
    $mask[intdiv($cpu, 8)] = 1 << $cpu % 8;
    $libc->sched_setaffinity(0, 128, $mask);
}

function process_time(): float
{
    $u = getrusage();
    return $u['ru_utime.tv_sec'] + $u['ru_stime.tv_sec'] + ($u['ru_utime.tv_usec'] + $u['ru_stime.tv_usec']) / 1e6;
}

/* Need 3 ms of processor time for each byte, and answer it, until the pipe is closed. */
function compete($pipe): void
{
    file_put_contents('/proc/self/comm', 'competitor');
    while (fread($pipe, 1) === '1') {
        for ($stop = process_time() + 0.003; process_time() < $stop;) {
        }
        fwrite($pipe, '1');
    }
    posix_kill(posix_getpid(), SIGKILL); // without what PHP does at its end
}

function start(): void
{
    global $wake, $competitor;
    bind();
    [$wake, $other] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $competitor = pcntl_fork();
    if ($competitor === 0) {
        fclose($wake);
        compete($other);
    }
    fclose($other);
    stream_set_blocking($wake, false);
}

/* Wake the competitor, and do not give up the processor before it has had it. */
function give_way(): void
{
    global $wake;
    fwrite($wake, '1');
    while (fread($wake, 1) !== '1') {
    }
}

function run_iter(int $n): void
{
    global $iterations, $wake, $competitor;
    if ($iterations === 0) {
        start();
    }
    if ($iterations % 50 === $n % 50) {
        give_way();
    }
    $iterations++;
    if ($iterations === 300) {
        fclose($wake);
        pcntl_waitpid($competitor, $status);
    }
    work();
}
