/*
 * loop - a chain of multiplications, for configs/ab.toml.
 *
 * parameter  steps, 0 or more
 *
 * LONGER lengthens the loop by so many percent. Each step waits for the one before it, so that the
 * time is proportional to the number of steps.
 */
#include <stdint.h>

#ifndef LONGER
#define LONGER 0
#endif

volatile uint64_t sink; /* the compiler must not remove the loop */

void run_iter(int n)
{
	uint64_t x = 1;

	for (int64_t i = (int64_t)n * (100 + LONGER) / 100; i > 0; i--)
		x = x * 6364136223846793005u + 1442695040888963407u;
	sink = x;
}
