/*
 * runner.c - iteration runner for shared libraries, written in C or any language
 * that can produce one.
 *
 *	runner BENCHMARK_FILE PARAMETER
 *
 * Loads the benchmark and calls its run_iter(PARAMETER) until libkrun, which is
 * linked in, says stop. The result of run_iter is ignored: a benchmark that
 * computes a wrong result exits with its own status, which is kept.
 *
 * With KRUN_INSTRUMENT the column heap_used has the bytes that malloc has given
 * out, where the C library is glibc 2.33 or later. There are no events.
 */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "krun.h"

/* The statuses of all runners; runners.go explains them. */
enum {
	EXIT_USAGE = 64,
	EXIT_NO_ENTRY = 65,
	EXIT_BENCHMARK = 66,
	EXIT_INIT = 71,
	EXIT_MEASURE = 76
};

typedef void (*entry)(int);
typedef int (*suite_entry)(krun *, int); /* a suite's hook: the status to exit with, or 0 */
typedef int64_t (*input_entry)(int parameter, int input);

/* As struct mallinfo2 in glibc's malloc.h. */
struct heap {
	size_t arena, free_chunks, fast_chunks, mapped_chunks, mapped, unused, fast, used, free, top;
};

typedef struct heap (*heap_function)(void);

static int fail(int status, const char *what, const char *why)
{
	fprintf(stderr, "runner: %s: %s\n", what, why ? why : "out of memory");
	return status;
}

/* parse_int parses a decimal int. It returns 0 on success. */
static int parse_int(const char *s, int *out)
{
	char *end;
	long n;

	errno = 0;
	n = strtol(s, &end, 10);
	if (errno || end == s || *end || n < INT_MIN || n > INT_MAX || (*s != '-' && (*s < '0' || *s > '9')))
		return -1;
	*out = (int)n;
	return 0;
}

/* open_file loads the file, never a library of that name from the system directories. */
static void *open_file(const char *path)
{
	char *here = NULL;
	void *library;

	if (!strchr(path, '/')) {
		here = malloc(strlen(path) + 3);
		if (!here)
			return NULL;
		sprintf(here, "./%s", path);
	}
	library = dlopen(here ? here : path, RTLD_NOW | RTLD_LOCAL);
	free(here);
	return library;
}

/* measure iterates until libkrun says stop. It returns the code of the call that failed, or 0. */
static int measure(krun *k, entry run_iter, int parameter)
{
	int err;

	while (!krun_should_stop(k)) {
		(void)krun_begin(k); /* krun_end reports its error too, outside the measurement */
		run_iter(parameter);
		err = krun_end(k);
		if (err)
			return err;
	}
	return krun_done(k);
}

/*
 * measure_input is measure, for a benchmark that exports krun_inputs: run_iter takes the
 * iteration's input, and what it returns is kept.
 */
static int measure_input(krun *k, input_entry run_iter, int parameter)
{
	int inputs = krun_column(k, "input", ""), checksums = krun_column(k, "checksum", ""), input, err;
	int64_t result;

	while (!krun_should_stop(k)) {
		input = krun_input(k);
		(void)krun_begin(k);
		result = run_iter(parameter, input);
		err = krun_end(k);
		if (err)
			return err;
		(void)krun_set(k, inputs, input);
		(void)krun_set(k, checksums, result);
	}
	return krun_done(k);
}

/* measure_heap is measure, and reads the size of the heap after each iteration. */
static int measure_heap(krun *k, entry run_iter, int parameter, heap_function read_heap)
{
	int column = krun_column(k, "heap_used", "bytes"), err;
	struct heap heap;

	while (!krun_should_stop(k)) {
		(void)krun_begin(k);
		run_iter(parameter);
		err = krun_end(k);
		if (err)
			return err;
		heap = read_heap();
		(void)krun_set(k, column, (int64_t)(heap.used + heap.mapped));
	}
	return krun_done(k);
}

int main(int argc, char **argv)
{
	heap_function read_heap = NULL;
	int parameter, err;
	input_entry with_input;
	suite_entry suite;
	entry run_iter;
	void *library;
	krun *k;

	if (argc != 3 || parse_int(argv[2], &parameter)) {
		fprintf(stderr, "usage: runner BENCHMARK_FILE PARAMETER (an integer)\n");
		return EXIT_USAGE;
	}
	err = krun_init(&k);
	if (err)
		return fail(EXIT_INIT, "krun_init", krun_strerror(err));
	library = open_file(argv[1]);
	if (!library)
		return fail(EXIT_BENCHMARK, "cannot load the benchmark", dlerror());
	*(void **)&suite = getenv("KRUN_SUITE") ? dlsym(library, "krun_suite") : NULL; /* as POSIX shows it */
	if (suite) {
		err = suite(k, parameter);
		if (err)
			return err;
		err = krun_done(k);
		return err ? fail(EXIT_MEASURE, "krun_done", krun_strerror(err)) : 0;
	}
	*(void **)&run_iter = dlsym(library, "run_iter");
	if (!run_iter)
		return fail(EXIT_NO_ENTRY, argv[1], "has no function run_iter");
	if (getenv("KRUN_INSTRUMENT"))
		*(void **)&read_heap = dlsym(dlopen(NULL, RTLD_NOW), "mallinfo2");
	*(void **)&with_input = dlsym(library, "krun_inputs") ? *(void **)&run_iter : NULL;
	if (with_input)
		err = measure_input(k, with_input, parameter);
	else
		err = read_heap ? measure_heap(k, run_iter, parameter, read_heap) : measure(k, run_iter, parameter);
	if (err)
		return fail(EXIT_MEASURE, "krun_begin or krun_end", krun_strerror(err));
	krun_free(k);
	return 0;
}
