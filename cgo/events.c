/* events.c - storing events from any thread. Interface: krun.h. Bytes and protocol: layout.h. */
#include "internal.h"

#include <stdatomic.h>
#include <string.h>

/* MOST_PROBES bounds the search for a name. */
#define MOST_PROBES 64

/* plain returns the character under which c is stored. */
static char plain(char c)
{
	return c >= ' ' && c <= '~' ? c : '?';
}

/* hash_name computes the FNV-1a hash of a name as it is stored. */
static uint32_t hash_name(const char *name)
{
	uint32_t hash = 2166136261u;
	int i;

	for (i = 0; i < KRUN_EVENT_NAME_BYTES - 1 && name[i]; i++)
		hash = (hash ^ (unsigned char)plain(name[i])) * 16777619u;
	return hash;
}

/* same_name reports whether the stored name is that of an entry. */
static bool same_name(const struct krun_event_name *e, uint32_t hash, const char *name)
{
	int i;

	if (e->hash != hash)
		return false;
	for (i = 0; i < KRUN_EVENT_NAME_BYTES - 1 && name[i]; i++)
		if (e->text[i] != plain(name[i]))
			return false;
	return e->text[i] == '\0';
}

/* claim_name stores a name in an entry unless another thread has claimed it. */
static bool claim_name(struct krun_event_name *e, uint32_t hash, const char *name)
{
	uint32_t none = KRUN_NAME_FREE;
	int i;

	if (!atomic_compare_exchange_strong_explicit(&e->state, &none, KRUN_NAME_CLAIMED, memory_order_acquire,
						     memory_order_relaxed))
		return false;
	e->hash = hash;
	for (i = 0; i < KRUN_EVENT_NAME_BYTES - 1 && name[i]; i++)
		e->text[i] = plain(name[i]);
	atomic_store_explicit(&e->state, KRUN_NAME_READY, memory_order_release);
	return true;
}

/* find_name returns the index of a name in the table, where it adds the name if there is room. */
static uint32_t find_name(const krun *k, const char *name)
{
	uint32_t hash, at;
	int probe;

	if (!name || !*name)
		return KRUN_NAME_NONE;
	hash = hash_name(name);
	for (probe = 0; probe < MOST_PROBES; probe++) {
		struct krun_event_name *e;
		uint32_t state;

		at = (hash + (uint32_t)probe) & (KRUN_EVENT_NAMES - 1);
		e = &k->names[at];
		state = atomic_load_explicit(&e->state, memory_order_acquire);
		if (state == KRUN_NAME_READY && same_name(e, hash, name))
			return at;
		if (state == KRUN_NAME_FREE && claim_name(e, hash, name))
			return at;
	}
	return KRUN_NAME_OTHER;
}

/*
 * The handle's fields that this reads never change after krun_init, so a thread needs nothing but
 * the handle. In a forked child they are zeros.
 */
int krun_event(krun *k, int kind, int64_t time_ns, int64_t duration_ns, int64_t argument, const char *name)
{
	struct krun_slot *slot;
	uint64_t i;

	if (!k || kind < KRUN_EVENT_GC || kind > KRUN_EVENT_MARK || time_ns < 0 || duration_ns < 0)
		return KRUN_EINVAL;
	if (!k->header)
		return KRUN_ECHILD;
	if (!k->events)
		return KRUN_EFULL;
	i = atomic_fetch_add_explicit(&k->header->event_count.next, 1, memory_order_relaxed);
	if (i >= k->events)
		return KRUN_EFULL;
	slot = &k->slots[i];
	slot->name = find_name(k, name);
	slot->time_ns = time_ns;
	slot->duration_ns = duration_ns;
	slot->argument = argument;
	/* Release: a reader that sees the kind sees the event, even after a kill right here. */
	atomic_store_explicit(&slot->kind, (uint32_t)kind, memory_order_release);
	return KRUN_OK;
}

/* iteration_at returns the last complete iteration that had begun at a time, or -1. */
static int64_t iteration_at(const krun *k, int64_t time_ns)
{
	uint32_t low = 0, high = k->next;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (k->start[middle] <= time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return (int64_t)low - 1;
}

int krun_count_events(krun *k, int column, int kind)
{
	int64_t *values;
	uint64_t i, stored;

	if (!k || kind < KRUN_EVENT_GC || kind > KRUN_EVENT_MARK)
		return KRUN_EINVAL;
	if (!k->header)
		return KRUN_ECHILD;
	if (column < 0 || (uint32_t)column >= k->user_count)
		return KRUN_EINVAL;
	if (k->closed)
		return KRUN_EDONE;
	if (k->open)
		return KRUN_EORDER;
	stored = atomic_load_explicit(&k->header->event_count.next, memory_order_relaxed);
	if (!k->events || stored > k->events)
		return KRUN_EFULL;
	values = k->user + (uint64_t)column * k->stride;
	for (i = 0; i < k->next; i++)
		values[i] = 0;
	for (i = 0; i < stored; i++) {
		const struct krun_slot *slot = &k->slots[i];
		int64_t at;

		if (atomic_load_explicit(&slot->kind, memory_order_acquire) != (uint32_t)kind)
			continue;
		at = iteration_at(k, slot->time_ns);
		if (at >= 0)
			values[at]++;
	}
	return KRUN_OK;
}
