/*
 * checksum.c - print what a bench.so computes: checksum BENCH_SO N... prints a
 * line per N. Then it calls run_iter twice, which exits with 1 when a checksum is
 * not the expected one.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	double (*checksum)(int);
	void (*run_iter)(int);
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;

	if (!library) {
		fprintf(stderr, "checksum: %s\n", argc > 1 ? dlerror() : "no file");
		return 2;
	}
	*(void **)&checksum = dlsym(library, "checksum");
	*(void **)&run_iter = dlsym(library, "run_iter");
	if (!checksum || !run_iter)
		return 2;
	for (int i = 2; i < argc; i++) {
		int n = atoi(argv[i]);

		printf("%.17g\n", checksum(n));
		fflush(stdout);
		run_iter(n);
		run_iter(n);
	}
	return 0;
}
