/* krun.c - measuring iterations. Interface: krun.h. Bytes: layout.h. */
#include "internal.h"

#include <stdatomic.h>
#include <string.h>

#include "counters.h"
#include "errors.h"
#include "handle.h"

/*
 * in_forked_child reports whether this process is a child of the one that made the handle: there
 * the handle reads as zeros.
 */
static bool in_forked_child(const krun *k)
{
	return !k->header;
}

/* set_error records an error of a handle, KRUN_ECHILD in a forked child, and returns it. */
static COLD int set_error(krun *k, int error)
{
	if (in_forked_child(k))
		return krun_set_error(krun_handle_header(k), KRUN_ECHILD);
	return krun_set_error(k->header, error);
}

/* begin_error records why no iteration may begin, and returns the code. */
static COLD int begin_error(krun *k)
{
	if (!k)
		return KRUN_EINVAL;
	if (k->open)
		return set_error(k, KRUN_EORDER);
	return set_error(k, k->closed ? KRUN_EDONE : KRUN_EFULL);
}

/*
 * Counters first, as in Listing 1 of the warmup study: the clock is innermost. clock_gettime writes
 * straight into the buffer and is a tail call, so nothing runs between reading the clock and the
 * return. krund finds the time in the buffer and so knows when an unfinished iteration began.
 */
int krun_begin(krun *k)
{
	if (UNLIKELY(!k || k->open || k->next >= k->capacity))
		return begin_error(k);
	k->open = true;
	if (UNLIKELY(k->counters != NULL))
		krun_counters_before(k);
	return clock_gettime(KRUN_CLOCK, &k->hot->begun); /* 0: krun_init tried it */
}

/* hold waits until an iteration has taken its part longer, and returns the time then. */
static COLD struct timespec hold(const krun *k, struct timespec now)
{
	int64_t begun = krun_ns(k->hot->begun);
	int64_t wall = krun_ns(now) - begun;
	int64_t end = begun + wall + wall / 1000000 * k->hold + wall % 1000000 * k->hold / 1000000;

	while (krun_ns(now) < end && clock_gettime(KRUN_CLOCK, &now) == 0)
		continue;
	return now;
}

int krun_end(krun *k)
{
	struct timespec now;
	int64_t start;
	uint32_t i;

	(void)clock_gettime(KRUN_CLOCK, &now);
	if (UNLIKELY(!k))
		return KRUN_EINVAL;
	if (UNLIKELY(!k->open))
		return set_error(k, KRUN_EORDER);
	k->open = false;
	if (UNLIKELY(k->hold)) /* the time was read: others do not pay for this */
		now = hold(k, now);
	i = k->next++;
	if (UNLIKELY(k->counters != NULL))
		krun_counters_after(k, i);
	start = krun_ns(k->hot->begun);
	k->start[i] = start;
	k->wall[i] = krun_ns(now) - start;
	/* Release: a reader that sees the count sees the values, even after a kill right here. */
	atomic_store_explicit(&k->hot->done, (uint64_t)i + 1, memory_order_release);
	return KRUN_OK;
}

int krun_should_stop(const krun *k)
{
	if (!k || k->next >= k->capacity)
		return 1;
	return atomic_load_explicit(&k->header->control.stop, memory_order_relaxed) != 0;
}

/* splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014) */
int krun_input(const krun *k)
{
	uint64_t z;

	if (!k)
		return 0;
	z = ((uint64_t)k->seed << 32) + ((uint64_t)k->next + 1) * 0x9e3779b97f4a7c15;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (int)((z ^ (z >> 31)) >> 33);
}

int krun_done(krun *k)
{
	bool open;

	if (!k)
		return KRUN_EINVAL;
	if (in_forked_child(k))
		return set_error(k, KRUN_ECHILD);
	if (k->closed)
		return KRUN_EDONE;
	open = k->open;
	k->open = false;
	k->closed = true;
	k->capacity = 0;
	k->header->progress.done_ns = krun_now_ns();
	krun_counters_done(k);
	atomic_store_explicit(&k->header->progress.state, KRUN_STATE_DONE, memory_order_release);
	return open ? set_error(k, KRUN_EORDER) : KRUN_OK;
}

/* valid_text reports whether s has min to max characters of A-Z a-z 0-9 _ . - and more. */
static bool valid_text(const char *s, size_t min, size_t max, const char *more)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	size_t n = 0;

	if (!s)
		return false;
	for (; n <= max && s[n]; n++)
		if (!strchr(plain, s[n]) && !strchr(more, s[n]))
			return false;
	return n >= min && n <= max;
}

/* same_column reports whether an entry has this name and unit. */
static bool same_column(const struct krun_entry *e, const char *name, const char *unit)
{
	return strncmp(e->name, name, KRUN_NAME_BYTES) == 0 && strncmp(e->unit, unit, KRUN_UNIT_BYTES) == 0;
}

int krun_column(krun *k, const char *name, const char *unit)
{
	struct krun_entry *e;
	int64_t *values;
	uint32_t i;

	if (!k || !valid_text(name, 1, KRUN_NAME_BYTES - 1, "") ||
	    !valid_text(unit, 0, KRUN_UNIT_BYTES - 1, "/%"))
		return KRUN_EINVAL;
	if (in_forked_child(k))
		return KRUN_ECHILD;
	if (k->closed)
		return KRUN_EDONE;
	if (k->open)
		return KRUN_EORDER;
	for (i = 0; i < k->user_count; i++)
		if (same_column(&k->entries[i], name, unit))
			return (int)i;
	if (k->user_count == k->user_capacity)
		return KRUN_EFULL;
	e = &k->entries[k->user_count];
	values = k->user + k->user_count * k->stride;
	for (i = 0; i < k->iterations; i++)
		values[i] = KRUN_MISSING;
	memcpy(e->name, name, strlen(name));
	memcpy(e->unit, unit, strlen(unit));
	/* The kind comes last: an entry that has it is complete, even if this process is killed. */
	atomic_signal_fence(memory_order_release);
	*(volatile uint32_t *)&e->kind = KRUN_COLUMN_USER;
	return (int)k->user_count++;
}

int krun_set(krun *k, int column, int64_t value)
{
	if (k && in_forked_child(k))
		return KRUN_ECHILD;
	if (!k || column < 0 || (uint32_t)column >= k->user_count)
		return KRUN_EINVAL;
	if (k->closed)
		return KRUN_EDONE;
	if (!k->open && k->next == 0)
		return KRUN_EORDER;
	k->user[(uint64_t)column * k->stride + k->next - (k->open ? 0 : 1)] = value;
	return KRUN_OK;
}

int krun_iterations(const krun *k)
{
	return k ? (int)k->iterations : 0;
}

int krun_count(const krun *k)
{
	return k ? (int)k->next : 0;
}

/* is_complete reports whether iteration i is complete. */
static bool is_complete(const krun *k, int i)
{
	return k && i >= 0 && (uint32_t)i < k->next;
}

int64_t krun_start_ns(const krun *k, int i)
{
	return is_complete(k, i) ? k->start[i] : KRUN_MISSING;
}

int64_t krun_wall_ns(const krun *k, int i)
{
	return is_complete(k, i) ? k->wall[i] : KRUN_MISSING;
}

int64_t krun_value(const krun *k, int column, int i)
{
	if (!is_complete(k, i) || column < 0 || (uint32_t)column >= k->user_count)
		return KRUN_MISSING;
	return k->user[(uint64_t)column * k->stride + (uint64_t)i];
}

int64_t krun_now_ns(void)
{
	struct timespec now;

	return clock_gettime(KRUN_CLOCK, &now) ? KRUN_MISSING : krun_ns(now);
}

int krun_version(void)
{
	return KRUN_VERSION;
}

const char *krun_strerror(int error)
{
	static const char *const text[] = {
		"no error",
		"invalid argument: null handle, bad name or unit, or no such column",
		"KRUN_BUFFER_FD or KRUN_ITERATIONS is not a number in range",
		"the descriptor in KRUN_BUFFER_FD cannot be mapped; was it closed before krun_init?",
		"the descriptor in KRUN_BUFFER_FD is not a krun buffer",
		"the buffer was made for another version of libkrun or another clock; "
		"install krund and libkrun together",
		"the buffer's header contradicts itself",
		"the buffer is already in use; call krun_init once per process execution",
		"out of memory",
		"the clock does not work",
		"all planned iterations are done, or no column or event slot is left; "
		"ask krun_should_stop before krun_begin",
		"krun_begin and krun_end do not alternate, or a column was touched at the wrong moment",
		"krun_done was called before",
		"a processor counter could not be read; krunctl check says which can be",
		"a processor counter did not count all the time: something else uses the same hardware",
		"the handle belongs to the process that this one was forked from; "
		"call krun_init in the process that measures",
		"a counter's descriptor was closed or replaced; "
		"the benchmark must not close descriptors it did not open",
		"the iterations ran in another thread than the process's first, "
		"the only one whose counter rdpmc reads; use perf",
	};

	if (error > 0 || error < KRUN_ETHREAD)
		return "unknown error";
	return text[-error];
}
