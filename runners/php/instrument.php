<?php
/*
 * What PHP reports about itself, for runner.php with KRUN_INSTRUMENT: garbage
 * collections, which krunphp.so counts, memory, and the size of the code that the
 * JIT compiler of opcache made. It is read between two iterations, which creates
 * some arrays that are freed at once.
 */

namespace krund\runner;

final class Columns
{
    private \FFI $lib;
    private \FFI\CData $handle;
    private \FFI $shim;
    private ?\FFI\CData $collections = null; // none if krunphp.so does not fit this PHP
    private int $count;
    private int $time;
    private int $heap;
    private ?int $code = null; // none without the JIT compiler

    public function __construct(string $path, \FFI\CData $handle, bool $events)
    {
        $this->lib = \FFI::cdef('
            int64_t krun_now_ns(void);
            int krun_column(void *k, const char *name, const char *unit);
            int krun_set(void *k, int column, int64_t value);
            ' . ($events ? 'int krun_event(void *, int, int64_t, int64_t, int64_t, const char *);' : ''), $path);
        $this->handle = $handle;
        $this->watch($events);
        $this->heap = $this->column('heap_used', 'bytes');
        if (self::code_size() !== null) {
            $this->code = $this->column('code_size', 'bytes');
        }
    }

    /* Returns the index of a new column. krun_set ignores that of a column that
     * there is no room for. */
    private function column(string $name, string $unit): int
    {
        return $this->lib->krun_column($this->handle, $name, $unit);
    }

    private function watch(bool $events): void
    {
        try {
            $shim = \FFI::cdef('
                struct krun_collections { int64_t count, time; };
                struct krun_collections *krun_watch(void *handle, void *now, void *event);
                ', __DIR__ . '/krunphp.so');
        } catch (\FFI\Exception $e) {
            return;
        }
        $address = fn (string $name) => \FFI::cast('void *', $this->lib->$name);
        $this->shim = $shim; // stays loaded
        $this->collections = $shim->krun_watch($this->handle, $address('krun_now_ns'),
            $events ? $address('krun_event') : null)[0];
        $this->count = $this->column('gc_count', '');
        $this->time = $this->column('gc_time', 'ns');
    }

    /* Returns the bytes of code that the JIT compiler made, or null without it. */
    private static function code_size(): ?int
    {
        $jit = function_exists('opcache_get_status') ? (opcache_get_status(false)['jit'] ?? null) : null;
        return $jit && $jit['on'] ? $jit['buffer_size'] - $jit['buffer_free'] : null;
    }

    /* Sets the columns of the iteration that ended. */
    public function ended(): void
    {
        $this->lib->krun_set($this->handle, $this->heap, memory_get_usage());
        if ($this->collections !== null) {
            $this->lib->krun_set($this->handle, $this->count, $this->collections->count);
            $this->lib->krun_set($this->handle, $this->time, $this->collections->time);
            $this->collections->count = $this->collections->time = 0;
        }
        if ($this->code !== null) {
            $this->lib->krun_set($this->handle, $this->code, self::code_size());
        }
    }
}

/* Like measure, and sets columns after each iteration. */
function measure_with(Columns $columns, \FFI $lib, \FFI\CData $handle, int $parameter): int
{
    while (!$lib->krun_should_stop($handle)) {
        $lib->krun_begin($handle);
        \run_iter($parameter);
        $code = $lib->krun_end($handle);
        if ($code) {
            return $code;
        }
        $columns->ended();
    }
    return $lib->krun_done($handle);
}
