/*
 * thread_test.c - one thread measures while another, in krund's place, watches
 * the count, reads what it covers, and asks to stop. For the thread sanitizer.
 */
#include "check.h"

#include <pthread.h>

#include "../internal.h"

int check_failures;

enum { PLANNED = 1 << 20, ENOUGH = 5000 };

static void *measure(void *handle)
{
	krun *k = handle;

	while (!krun_should_stop(k)) {
		krun_begin(k);
		krun_end(k);
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	krun *k;
	struct krun_header *h;
	const int64_t *start, *wall;
	uint64_t done, i;

	setenv("KRUN_ITERATIONS", "1048576", 1);
	if (krun_init(&k))
		return 2;
	h = k->header;
	start = (const int64_t *)((char *)h + h->plan.start_offset);
	wall = (const int64_t *)((char *)h + h->plan.wall_offset);
	if (pthread_create(&thread, NULL, measure, k))
		return 2;
	do {
		done = atomic_load_explicit(&h->hot.done, memory_order_acquire);
		for (i = done > 100 ? done - 100 : 0; i < done; i++)
			CHECK(start[i] > 0 && wall[i] >= 0);
	} while (done < ENOUGH);
	atomic_store_explicit(&h->control.stop, 1, memory_order_relaxed);
	if (pthread_join(thread, NULL))
		return 2;
	CHECK(krun_count(k) >= ENOUGH && krun_count(k) <= PLANNED);
	krun_free(k);
	printf("libkrun threads: %s\n", check_failures ? "failed" : "ok");
	return check_failures != 0;
}
