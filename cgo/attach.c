/* attach.c - making and ending handles on krund's buffer or private memory. Interface: krun.h. */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "counters.h"
#include "handle.h"
#include "handover.h"

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif
#ifndef MAP_POPULATE
#define MAP_POPULATE 0 /* prefault suffices */
#endif

#define ENV_BUFFER "KRUN_BUFFER_FD"
#define ENV_ITERATIONS "KRUN_ITERATIONS"
#define ENV_SEED "KRUN_SEED"
#define DEFAULT_ITERATIONS 2000 /* as in the warmup study */
#define DEFAULT_USER_COLUMNS 16

/* env_number reads a decimal environment variable: -1 if unset, -2 if no number of min to max. */
static long env_number(const char *name, long min, long max)
{
	const char *s = getenv(name);
	char *end;
	long n;

	if (!s)
		return -1;
	if (*s < '0' || *s > '9')
		return -2;
	errno = 0;
	n = strtol(s, &end, 10);
	if (errno || *end || n < min || n > max)
		return -2;
	return n;
}

/* check_header compares a header with the one this library would make of the same plan. */
static int check_header(struct krun_header *h, uint64_t bytes)
{
	const struct krun_plan *p = &h->plan;
	struct krun_places at;

	if (memcmp(p->magic, KRUN_MAGIC, sizeof p->magic) != 0)
		return KRUN_EMAGIC;
	if (p->version < KRUN_LAYOUT_FIRST || p->version > KRUN_LAYOUT_VERSION || p->clock != KRUN_CLOCK_KIND)
		return KRUN_EVERSION;
	if (p->iterations < 1 || p->iterations > KRUN_MAX_ITERATIONS || p->counters > KRUN_MAX_COUNTERS ||
	    p->user_columns > KRUN_MAX_USER_COLUMNS || p->events > KRUN_MAX_EVENTS || p->hold > KRUN_MAX_HOLD)
		return KRUN_ELAYOUT;
	at = krun_place(p->iterations, p->counters + p->user_columns, p->events);
	if (p->header_bytes != KRUN_HEADER_BYTES || p->entry_bytes != KRUN_ENTRY_BYTES || p->bytes != at.bytes ||
	    bytes != at.bytes || p->start_offset != at.start || p->wall_offset != at.wall)
		return KRUN_ELAYOUT;
	return krun_counters_check(h);
}

/* map_shared maps krund's buffer and takes it for this process. */
static int map_shared(int fd, struct krun_header **out)
{
	struct krun_header *h;
	struct stat st;
	uint64_t bytes;
	int64_t no_pid = 0;
	int err;

	if (fstat(fd, &st) != 0)
		return KRUN_EMAP;
	if (!S_ISREG(st.st_mode) || st.st_size < KRUN_HEADER_BYTES)
		return KRUN_EMAGIC;
	bytes = (uint64_t)st.st_size;
	h = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (h == MAP_FAILED)
		return KRUN_EMAP;
	err = check_header(h, bytes);
	if (!err && !atomic_compare_exchange_strong(&h->progress.pid, &no_pid, (int64_t)getpid()))
		err = KRUN_EBUSY;
	if (err) {
		(void)munmap(h, bytes);
		return err;
	}
	(void)close(fd);
	*out = h;
	return KRUN_OK;
}

/* map_private makes a buffer in anonymous memory, with the layout that krund would use. */
static int map_private(uint32_t iterations, struct krun_header **out)
{
	struct krun_places at = krun_place(iterations, DEFAULT_USER_COLUMNS, 0);
	struct krun_header *h;
	struct krun_entry *e;
	uint32_t i;

	h = mmap(NULL, at.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (h == MAP_FAILED)
		return KRUN_ENOMEM;
	memcpy(h->plan.magic, KRUN_MAGIC, sizeof h->plan.magic);
	h->plan.version = KRUN_LAYOUT_FIRST;
	h->plan.header_bytes = KRUN_HEADER_BYTES;
	h->plan.bytes = at.bytes;
	h->plan.iterations = iterations;
	h->plan.user_columns = DEFAULT_USER_COLUMNS;
	h->plan.entry_bytes = KRUN_ENTRY_BYTES;
	h->plan.start_offset = at.start;
	h->plan.wall_offset = at.wall;
	h->plan.clock = KRUN_CLOCK_KIND;
	h->progress.pid = (int64_t)getpid();
	e = (struct krun_entry *)((char *)h + KRUN_HEADER_BYTES);
	for (i = 0; i < DEFAULT_USER_COLUMNS; i++) {
		e[i].core = -1;
		e[i].offset = at.column + i * at.stride;
	}
	*out = h;
	return KRUN_OK;
}

/*
 * prefault writes every page once, so that no iteration causes a page fault by a first write:
 * MAP_POPULATE alone maps shared pages for reading only. The first page is left out, because krund
 * may set the stop flag at this moment; krun_init writes to it anyway. No other process writes to
 * the rest, so writing back what was read changes nothing.
 */
static void prefault(struct krun_header *h)
{
	volatile char *page = (volatile char *)h;
	uint64_t at;

	for (at = KRUN_DATA_ALIGN; at < h->plan.bytes; at += KRUN_DATA_ALIGN)
		page[at] = page[at];
}

/* fill_handle makes a handle point into a checked buffer. */
static void fill_handle(krun *k, struct krun_header *h)
{
	const struct krun_plan *p = &h->plan;
	struct krun_places at = krun_place(p->iterations, p->counters + p->user_columns, p->events);
	char *base = (char *)h;

	k->hot = &h->hot;
	k->start = (int64_t *)(base + at.start);
	k->wall = (int64_t *)(base + at.wall);
	k->next = 0;
	k->capacity = p->iterations;
	k->open = false;
	k->closed = false;
	k->hold = p->hold;
	k->header = h;
	k->entries = (struct krun_entry *)(base + KRUN_HEADER_BYTES) + p->counters;
	k->user = (int64_t *)(base + at.column + p->counters * at.stride);
	k->stride = at.stride / sizeof(int64_t);
	k->bytes = at.bytes;
	k->iterations = p->iterations;
	k->user_capacity = p->user_columns;
	k->user_count = 0;
	k->seed = (uint32_t)env_number(ENV_SEED, 0, INT_MAX); /* without one, inputs are of some seed */
	k->counters = NULL;
	k->sampler = NULL;
	k->slots = (struct krun_slot *)(base + at.slots);
	k->names = (struct krun_event_name *)(base + at.names);
	k->events = p->events;
}

/* map_buffer maps the buffer that the environment asks for: krund's, or one in private memory. */
static int map_buffer(struct krun_header **out)
{
	long fd = env_number(ENV_BUFFER, 0, INT_MAX);
	long iterations;

	if (fd >= 0)
		return map_shared((int)fd, out);
	iterations = env_number(ENV_ITERATIONS, 1, KRUN_MAX_ITERATIONS);
	if (fd == -2 || iterations == -2)
		return KRUN_EENV;
	return map_private(iterations > 0 ? (uint32_t)iterations : DEFAULT_ITERATIONS, out);
}

int krun_init(krun **out)
{
	int64_t init_ns = krun_now_ns();
	struct krun_header *h;
	krun *k;
	int err;

	if (!out)
		return KRUN_EINVAL;
	*out = NULL;
	if (init_ns == KRUN_MISSING)
		return KRUN_ECLOCK;
	k = krun_handle_alloc();
	if (!k)
		return KRUN_ENOMEM;
	err = map_buffer(&h);
	if (err) {
		krun_handle_free(k);
		return err;
	}
	krun_handle_set_header(k, h);
	fill_handle(k, h);
	prefault(h);
	err = krun_counters_open(k);
	if (err) {
		krun_free(k);
		return err;
	}
	krun_counters_empty(k);
	h->progress.init_ns = init_ns;
	atomic_store_explicit(&h->progress.state, KRUN_STATE_READY, memory_order_release);
	*out = k;
	return KRUN_OK;
}

void krun_free(krun *k)
{
	if (!k)
		return;
	krun_counters_free(k);
	if (k->header) /* null in a forked child, whose mapping ends with it */
		(void)munmap(k->header, k->bytes);
	krun_handle_free(k);
}
