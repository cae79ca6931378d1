<?php
/*
 * Iteration runner for PHP: 7.4 and later; it needs the extension FFI.
 *
 *	runner.php BENCHMARK_FILE PARAMETER
 *
 * Includes the benchmark's file and calls its function run_iter(PARAMETER) until
 * libkrun says stop. libkrun is the file that the environment variable
 * KRUN_LIBRARY names, or libkrun.so beside this file, or ../../lib/libkrun.so.
 * With KRUN_INSTRUMENT it also includes instrument.php, which asks PHP what it
 * did in each iteration.
 *
 * Exit status: 0 measured; 64 usage; 65 the benchmark has no function run_iter;
 * 66 the benchmark cannot be loaded; 69 libkrun cannot be loaded; 70 the benchmark
 * raised an exception; 71 krun_init failed; 76 krun_begin or krun_end failed; 78
 * instrument.php is missing. If the benchmark exits by itself, its status is kept.
 */

namespace krund\runner; // the benchmark's functions are in the global namespace

const EXIT_USAGE = 64;
const EXIT_NO_ENTRY = 65;
const EXIT_BENCHMARK = 66;
const EXIT_LIBRARY = 69;
const EXIT_EXCEPTION = 70;
const EXIT_INIT = 71;
const EXIT_MEASURE = 76;
const EXIT_INSTRUMENT = 78;

const VERSION = 1; // KRUN_VERSION of krun.h

const DECLARATIONS = '
    int krun_version(void);
    const char *krun_strerror(int error);
    int krun_init(void **out);
    int krun_should_stop(void *k);
    int krun_begin(void *k);
    int krun_end(void *k);
    int krun_done(void *k);
';

/* Prints the reason to stderr and exits. */
function fail(int $status, string $message): void
{
    fwrite(STDERR, "runner.php: $message\n");
    exit($status);
}

/* Returns a text as one line. */
function line(string $text): string
{
    return implode(' ', preg_split('/\s+/', trim($text)));
}

/* Like fail, with the traceback of an exception. The message ends with the
 * exception, because krund quotes the last line. */
function fail_in_benchmark(int $status, string $message, \Throwable $e): void
{
    fwrite(STDERR, "$e\n");
    fail($status, "$message: " . line(get_class($e) . ': ' . $e->getMessage()));
}

/* Returns the integer in a text, or null. */
function parse(string $text): ?int
{
    $digits = $text !== '' && $text[0] === '-' ? substr($text, 1) : $text;
    if ($digits === '' || strspn($digits, '0123456789') !== strlen($digits)) {
        return null;
    }
    $n = $text + 0; // a float if it is too large
    return is_int($n) ? $n : null;
}

/* Returns the path of libkrun. */
function library_path(): string
{
    $path = getenv('KRUN_LIBRARY');
    if ($path !== false && $path !== '') {
        return $path;
    }
    $beside = __DIR__ . '/libkrun.so';
    return file_exists($beside) ? $beside : __DIR__ . '/../../lib/libkrun.so';
}

/* The process execution. It is an object because the benchmark shares the global
 * variables. */
final class Run
{
    private \FFI $lib;
    private \FFI\CData $handle;
    private string $path;
    private int $parameter;
    private string $stage = 'while it was loaded';
    private int $status = EXIT_BENCHMARK; // status for an exception in this stage

    /* Returns the only instance. */
    public static function only(): self
    {
        static $run = null;
        return $run ??= new self($_SERVER['argv']);
    }

    /* Parses argv and attaches libkrun to its buffer. */
    private function __construct(array $argv)
    {
        $parameter = count($argv) === 3 ? parse($argv[2]) : null;
        if ($parameter === null) {
            fwrite(STDERR, "usage: runner.php BENCHMARK_FILE PARAMETER (an integer)\n");
            exit(EXIT_USAGE);
        }
        $this->path = $argv[1];
        $this->parameter = $parameter;
        $this->open_library();
        $this->handle = $this->lib->new('void *');
        $code = $this->lib->krun_init(\FFI::addr($this->handle));
        if ($code) {
            fail(EXIT_INIT, 'krun_init: ' . $this->lib->krun_strerror($code));
        }
    }

    private function open_library(): void
    {
        if (!class_exists('FFI')) {
            fail(EXIT_LIBRARY, 'cannot load libkrun: PHP ' . PHP_VERSION
                . ' has no extension FFI; install it or add the option -d extension=ffi');
        }
        $path = library_path();
        try {
            $this->lib = \FFI::cdef(DECLARATIONS, $path);
        } catch (\FFI\Exception $e) {
            fail(EXIT_LIBRARY, 'cannot load libkrun: ' . $e->getMessage()
                . '; set KRUN_LIBRARY to the path of libkrun.so');
        }
        $version = $this->lib->krun_version();
        if ($version !== VERSION) {
            fail(EXIT_LIBRARY, "$path has interface version $version, this runner needs " . VERSION
                . '; install both together');
        }
    }

    /* Returns the benchmark's file, to be included. include searches its directory
     * first, and does not search the runner's. */
    public function file(): string
    {
        $file = realpath($this->path);
        if ($file === false || !is_file($file) || !is_readable($file)) {
            fail(EXIT_BENCHMARK, "cannot read the benchmark: $this->path is not a readable file");
        }
        set_include_path(dirname($file) . PATH_SEPARATOR . get_include_path());
        register_shutdown_function([$this, 'ended']);
        return $file;
    }

    /* Reports an exception of the benchmark. */
    public function raised(\Throwable $e): void
    {
        fail_in_benchmark($this->status, "$this->path raised an exception $this->stage", $e);
    }

    /* At the end of the process: reports an error that PHP cannot raise as an
     * exception, for instance memory_limit, as an error of the benchmark. */
    public function ended(): void
    {
        $fatal = E_ERROR | E_CORE_ERROR | E_COMPILE_ERROR | E_USER_ERROR | E_RECOVERABLE_ERROR | E_PARSE;
        $last = error_get_last();
        if ($last !== null && $last['type'] & $fatal) {
            fail($this->status, "$this->path: fatal error $this->stage: " . line($last['message']));
        }
    }

    /* Iterates with the benchmark that was included. */
    public function iterate(): void
    {
        if (!function_exists('run_iter')) {
            fail(EXIT_NO_ENTRY, "$this->path has no function run_iter");
        }
        $this->stage = 'in run_iter';
        $this->status = EXIT_EXCEPTION;
        $instrument = getenv('KRUN_INSTRUMENT');
        if ($instrument === false) {
            $code = measure($this->lib, $this->handle, $this->parameter);
        } else {
            if (!is_file(__DIR__ . '/instrument.php')) {
                fail(EXIT_INSTRUMENT, 'KRUN_INSTRUMENT needs instrument.php; install it beside runner.php');
            }
            require __DIR__ . '/instrument.php';
            $columns = new Columns(library_path(), $this->handle, $instrument === 'events');
            $code = measure_with($columns, $this->lib, $this->handle, $this->parameter);
        }
        if ($code) {
            fail(EXIT_MEASURE, 'krun_begin or krun_end: ' . $this->lib->krun_strerror($code));
        }
    }
}

/* Iterates until libkrun says stop; returns the code of the call that failed, or 0.
 *
 * The result of krun_begin is not checked, because the check would be measured,
 * and krun_end reports the same error. */
function measure(\FFI $lib, \FFI\CData $handle, int $parameter): int
{
    while (!$lib->krun_should_stop($handle)) {
        $lib->krun_begin($handle);
        \run_iter($parameter);
        $code = $lib->krun_end($handle);
        if ($code) {
            return $code;
        }
    }
    return $lib->krun_done($handle);
}

// PHP's own messages are not part of the benchmark's output, regardless of php.ini. A program
// written for an older PHP should not spend time on deprecation messages.
error_reporting(error_reporting() & ~E_DEPRECATED);
ini_set('display_errors', 'stderr');
ini_set('html_errors', '0');
ini_set('log_errors', '0');

// Not in a function, so that the benchmark's variables are global.
try {
    include Run::only()->file();
    Run::only()->iterate();
} catch (\Throwable $e) {
    Run::only()->raised($e);
}
