/* maker.c - krund's end of the buffer. */
#include "check.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../internal.h"

int check_failures;

static void need(int condition, const char *what)
{
	if (condition)
		return;
	perror(what);
	exit(2);
}

/* open_file returns the descriptor of an empty file without a name. */
static int open_file(void)
{
	char name[] = "/tmp/krun-test-XXXXXX";
	int fd = mkstemp(name);

	need(fd >= 0, "mkstemp");
	need(unlink(name) == 0, "unlink");
	return fd;
}

struct maker maker_open(uint32_t iterations, uint32_t counters, uint32_t user_columns)
{
	return maker_events(iterations, counters, user_columns, 0);
}

struct maker maker_events(uint32_t iterations, uint32_t counters, uint32_t user_columns, uint32_t events)
{
	struct maker m = { .fd = open_file(), .at = krun_place(iterations, counters + user_columns, events) };
	struct krun_plan *p;
	uint32_t i;

	need(ftruncate(m.fd, (off_t)m.at.bytes) == 0, "ftruncate");
	m.header = mmap(NULL, m.at.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd, 0);
	need(m.header != MAP_FAILED, "mmap");
	p = &m.header->plan;
	memcpy(p->magic, KRUN_MAGIC, sizeof p->magic);
	p->version = events ? KRUN_LAYOUT_VERSION : KRUN_LAYOUT_FIRST;
	p->header_bytes = KRUN_HEADER_BYTES;
	p->bytes = m.at.bytes;
	p->iterations = iterations;
	p->counters = counters;
	p->user_columns = user_columns;
	p->events = events;
	p->entry_bytes = KRUN_ENTRY_BYTES;
	p->start_offset = m.at.start;
	p->wall_offset = m.at.wall;
	p->clock = KRUN_CLOCK_KIND;
	m.slots = (struct krun_slot *)((char *)m.header + m.at.slots);
	m.names = (struct krun_event_name *)((char *)m.header + m.at.names);
	m.entries = (struct krun_entry *)((char *)m.header + KRUN_HEADER_BYTES);
	for (i = 0; i < counters + user_columns; i++) {
		m.entries[i].kind = i < counters ? KRUN_COLUMN_COUNTER : KRUN_COLUMN_FREE;
		m.entries[i].core = -1;
		m.entries[i].offset = m.at.column + i * m.at.stride;
	}
	maker_offer(&m);
	return m;
}

int maker_file(long bytes)
{
	int fd = open_file();

	need(ftruncate(fd, bytes) == 0, "ftruncate");
	return fd;
}

void maker_group(struct maker *m, uint32_t first, uint32_t columns, enum krun_source source, int fd)
{
	struct krun_entry *e = &m->entries[first];
	struct stat st;

	need(fstat(fd, &st) == 0, "fstat");
	e->group = (uint16_t)columns;
	e->source = (uint8_t)source;
	e->fd = fd;
	e->device = (uint64_t)st.st_dev;
	e->inode = (uint64_t)st.st_ino;
}

void maker_registers(struct maker *m, uint32_t first, int fd)
{
	static const uint32_t address[] = { APERF, MPERF, CYCLES };
	static const uint8_t bits[] = { 64, 64, 48 };
	uint32_t i;

	maker_group(m, first, 3, KRUN_SOURCE_REGISTERS, fd);
	m->entries[first].turn = 2;
	for (i = 0; i < 3; i++) {
		m->entries[first + i].address = address[i];
		m->entries[first + i].bits = bits[i];
	}
}

void maker_offer(const struct maker *m)
{
	char number[16];
	int fd = dup(m->fd);

	need(fd >= 0, "dup");
	snprintf(number, sizeof number, "%d", fd);
	need(setenv("KRUN_BUFFER_FD", number, 1) == 0, "setenv");
}

void maker_close(struct maker *m)
{
	need(munmap(m->header, m->at.bytes) == 0, "munmap");
	need(close(m->fd) == 0, "close");
	need(unsetenv("KRUN_BUFFER_FD") == 0, "unsetenv");
}

krun *attach(struct maker *m, uint32_t iterations, uint32_t user_columns)
{
	krun *k;
	int err;

	*m = maker_open(iterations, 0, user_columns);
	err = krun_init(&k);
	if (err) {
		fprintf(stderr, "krun_init: %s\n", krun_strerror(err));
		exit(2);
	}
	return k;
}
