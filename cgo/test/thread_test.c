/*
 * thread_test.c - one thread measures, four others report events, and another, in
 * krund's place, watches the counts, reads what they cover, and asks to stop. For the
 * thread sanitizer.
 */
#include "check.h"

#include <pthread.h>

#include "../internal.h"

enum { PLANNED = 1 << 20, ENOUGH = 5000, REPORTERS = 4, EVENTS = 8000, EACH = 3000, NAMES = 1000 };

static krun *handle;

static void *measure(void *unused)
{
	(void)unused;
	while (!krun_should_stop(handle)) {
		krun_begin(handle);
		krun_event(handle, KRUN_EVENT_MARK, 1, 0, 0, "iteration");
		krun_end(handle);
	}
	return NULL;
}

/* report stores events whose fields agree with each other; names are shared between the threads. */
static void *report(void *kind)
{
	char name[16];
	int i;

	for (i = 0; i < EACH; i++) {
		snprintf(name, sizeof name, "n%d", i % NAMES);
		krun_event(handle, *(int *)kind, i, i, i, name);
	}
	return NULL;
}

/* check_event checks a slot in which an event is complete. */
static void check_event(const struct maker *m, const struct krun_slot *slot, uint32_t kind)
{
	const struct krun_event_name *name = &m->names[slot->name];
	char want[16] = "iteration";

	if (kind != KRUN_EVENT_MARK) {
		CHECK(slot->time_ns == slot->duration_ns && slot->time_ns == slot->argument);
		snprintf(want, sizeof want, "n%d", (int)(slot->time_ns % NAMES));
	}
	CHECK(slot->name < KRUN_EVENT_NAMES &&
	      atomic_load_explicit(&name->state, memory_order_acquire) == KRUN_NAME_READY);
	CHECK(strcmp(name->text, want) == 0);
}

/* watch reads the series and the events until there are enough of both. */
static void watch(const struct maker *m)
{
	const int64_t *start = (const int64_t *)((char *)m->header + m->at.start);
	const int64_t *wall = (const int64_t *)((char *)m->header + m->at.wall);
	uint64_t done, i, events;

	do {
		done = atomic_load_explicit(&m->header->hot.done, memory_order_acquire);
		for (i = done > 100 ? done - 100 : 0; i < done; i++)
			CHECK(start[i] > 0 && wall[i] >= 0);
		events = atomic_load_explicit(&m->header->event_count.next, memory_order_relaxed);
		for (i = 0; i < events && i < EVENTS; i += 7) {
			uint32_t kind = atomic_load_explicit(&m->slots[i].kind, memory_order_acquire);

			if (kind)
				check_event(m, &m->slots[i], kind);
		}
	} while (done < ENOUGH || events < EVENTS);
}

int main(void)
{
	static int kinds[REPORTERS] = { KRUN_EVENT_GC, KRUN_EVENT_COMPILE, KRUN_EVENT_DEOPT, KRUN_EVENT_LOAD };
	struct maker made = maker_events(PLANNED, 0, 0, EVENTS), m = made;
	pthread_t measuring, reporters[REPORTERS];
	uint32_t i;

	if (krun_init(&handle) || pthread_create(&measuring, NULL, measure, NULL))
		return 2;
	/* The sanitizer knows memory by its address: read where the library writes. */
	m.header = handle->header;
	m.slots = handle->slots;
	m.names = handle->names;
	for (i = 0; i < REPORTERS; i++)
		if (pthread_create(&reporters[i], NULL, report, &kinds[i]))
			return 2;
	watch(&m);
	atomic_store_explicit(&m.header->control.stop, 1, memory_order_relaxed);
	for (i = 0; i < REPORTERS; i++)
		pthread_join(reporters[i], NULL);
	pthread_join(measuring, NULL);
	CHECK(krun_count(handle) >= ENOUGH && krun_count(handle) <= PLANNED);
	CHECK_INT(m.header->event_count.next, REPORTERS * EACH + krun_count(handle));
	for (i = 0; i < EVENTS; i++) {
		CHECK(m.slots[i].kind != 0); /* none is lost that had a slot */
		check_event(&m, &m.slots[i], m.slots[i].kind);
	}
	krun_free(handle);
	maker_close(&made);
	printf("libkrun threads: %s\n", check_failures ? "failed" : "ok");
	return check_failures != 0;
}
