/* rdpmc.c - the instruction RDPMC, in a file of its own so that tests can replace it. */
#include "self.h"

#if defined(__linux__) && defined(__x86_64__)

uint64_t krun_rdpmc(uint32_t counter)
{
	uint32_t low, high;

	__asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(counter));
	return (uint64_t)high << 32 | low;
}

#else

uint64_t krun_rdpmc(uint32_t counter)
{
	(void)counter;
	return 0; /* never called: krun_self_page finds no page */
}

#endif
