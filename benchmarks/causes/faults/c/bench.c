/* Page faults in known iterations; ../../README.md explains which. */
#define _DEFAULT_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static const size_t fresh = 8 << 20; /* bytes */

static volatile uint32_t sink;

/* work is the usual work of an iteration. */
static void work(void)
{
	uint32_t x = 1;
	int i;

	for (i = 0; i < 1000000; i++)
		x = x * 1664525 + 1013904223;
	sink = x;
}

/* touch writes to each page of new memory. */
static void touch(void)
{
	char *memory = mmap(NULL, fresh, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	size_t i;

	if (memory == MAP_FAILED) {
		printf("no memory of %zu bytes\n", fresh);
		exit(1);
	}
	(void)madvise(memory, fresh, MADV_NOHUGEPAGE);
	for (i = 0; i < fresh; i += 4096)
		memory[i] = 1;
	munmap(memory, fresh);
}

void run_iter(int n)
{
	static int iteration;

	if (iteration++ % 50 == n % 50)
		touch();
	work();
}
