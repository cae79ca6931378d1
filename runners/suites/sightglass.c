//go:build ignore

/*
 * sightglass.c - hook of krund for sightglass: runs a WebAssembly module in an engine's shared
 * library by the interface of sightglass (crates/recorder, bench_api.rs). An engine compiles the
 * module, makes an instance of it and executes that, and tells when each phase starts and ends; the
 * one that KRUN_SUITE_OPTIONS names is the iteration. The options are the engine, relative to the
 * suite, and the phase, on two lines.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "krun.h"

typedef void (*callback)(void *timer);

struct text {
	const char *start;
	size_t length;
};

struct phase {
	void *timer;
	callback start, end;
};

struct config {
	struct text directory, out, err, in;
	struct phase compile, instantiate, execute;
	struct text flags;
};

static krun *handle;
static int column, code;
static int64_t began;

static void begin(void *timer)
{
	(void)timer;
	(void)krun_begin(handle); /* krun_end reports its error too */
	began = krun_now_ns();
}

static void end(void *timer)
{
	int64_t time = krun_now_ns() - began;

	(void)timer;
	code = krun_end(handle);
	(void)krun_set(handle, column, time);
}

static void ignore(void *timer)
{
	(void)timer;
}

static struct text text(const char *s)
{
	struct text t = { s, s ? strlen(s) : 0 };

	return t;
}

static char *joined(const char *directory, const char *name)
{
	size_t size = strlen(directory) + strlen(name) + 2;
	char *path = malloc(size);

	if (path)
		snprintf(path, size, "%s/%s", directory, name);
	return path;
}

/* read_file returns the module. */
static unsigned char *read_file(const char *name, size_t *size)
{
	unsigned char *data = NULL;
	FILE *file = fopen(name, "rb");
	long length = -1;

	if (file && !fseek(file, 0, SEEK_END) && (length = ftell(file)) > 0)
		data = malloc((size_t)length);
	if (data) {
		rewind(file);
		*size = fread(data, 1, (size_t)length, file);
	}
	if (file)
		fclose(file);
	return data;
}

/* krun_suite is what the runner for C calls. It returns the status to exit with, or 0. */
__attribute__((visibility("default"))) int krun_suite(krun *k, int parameter);

int krun_suite(krun *k, int parameter)
{
	static const char *const names[] = { "compile", "instantiate", "execute" };
	const char *suite = getenv("KRUN_SUITE"), *module = getenv("KRUN_SUITE_FILE");
	char *options = getenv("KRUN_SUITE_OPTIONS"), *phase = options ? strchr(options, '\n') : NULL;
	struct phase unmeasured = { NULL, ignore, ignore };
	struct config config;
	int (*create)(struct config, void **), (*compile)(void *, const void *, size_t);
	int (*instantiate)(void *), (*execute)(void *), i, err = 0;
	void (*release)(void *);
	void *library, *engine;
	unsigned char *wasm;
	char *path, *slash;
	size_t size = 0;

	(void)parameter;
	if (!suite || !module || !phase)
		return 64;
	*phase++ = '\0';
	path = joined(suite, options);
	library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!library) {
		fprintf(stderr, "runner: cannot load the engine: %s\n", path ? dlerror() : "out of memory");
		return 66;
	}
	*(void **)&create = dlsym(library, "wasm_bench_create");
	*(void **)&compile = dlsym(library, "wasm_bench_compile");
	*(void **)&instantiate = dlsym(library, "wasm_bench_instantiate");
	*(void **)&execute = dlsym(library, "wasm_bench_execute");
	*(void **)&release = dlsym(library, "wasm_bench_free");
	wasm = read_file(module, &size);
	if (!create || !compile || !instantiate || !execute || !release || !wasm) {
		fprintf(stderr, "runner: %s\n", wasm ? "the engine has no function wasm_bench_create, _compile, "
			"_instantiate, _execute or _free" : "the module cannot be read");
		return 66;
	}
	memset(&config, 0, sizeof config);
	path = joined(module, "");
	slash = path ? strrchr(path, '/') : NULL;
	while (slash && slash > path && *--slash != '/')
		;
	if (slash)
		*slash = '\0'; /* the module's directory, where its input is */
	config.directory = text(path);
	config.out = config.err = text("/dev/null");
	config.compile = config.instantiate = config.execute = unmeasured;
	for (i = 0; i < 3; i++)
		if (!strcmp(phase, names[i])) {
			(&config.compile)[i].start = begin;
			(&config.compile)[i].end = end;
		}
	handle = k;
	column = krun_column(k, "suite_time", "ns");
	while (!err && !krun_should_stop(k)) {
		int before = krun_count(k);

		engine = NULL;
		err = create(config, &engine);
		if (err || !engine) {
			fprintf(stderr, "runner: the engine failed in create\n");
			return 70;
		}
		err = compile(engine, wasm, size) || instantiate(engine) || execute(engine);
		release(engine);
		if (code)
			return 76;
		if (!err && krun_count(k) != before + 1)
			err = 1; /* its callbacks are not as published */
	}
	if (err)
		fprintf(stderr, "runner: the engine failed to compile, instantiate or execute the module once\n");
	return err ? 70 : 0;
}
