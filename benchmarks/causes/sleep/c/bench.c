/* Sleep in known iterations; ../../README.md explains which. */
#define _DEFAULT_SOURCE
#include <stdint.h>
#include <time.h>

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

void run_iter(int n)
{
	static const struct timespec pause = {0, 3000000};
	static int iteration;

	if (iteration++ % 50 == n % 50)
		nanosleep(&pause, NULL);
	work();
}
