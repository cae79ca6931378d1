/*
 * self.h - reading a perf event of one's own thread without a system call: the
 * protocol of perf_event_open(2), "perf_event_mmap_page". Linux on x86-64; elsewhere
 * there is no page to read, and the caller uses read(2).
 */
#ifndef KRUN_SELF_H
#define KRUN_SELF_H

#include <stdbool.h>
#include <stdint.h>

struct perf_event_mmap_page; /* linux/perf_event.h */

/* What the page and the counter say. */
struct krun_self {
	uint64_t value;
	uint64_t lag; /* nanoseconds that the event was enabled and did not count */
};

/* krun_self_page maps the page of a perf event; null when it has none. */
const volatile struct perf_event_mmap_page *krun_self_page(int fd);

/* krun_self_unmap gives the page back; null is allowed. */
void krun_self_unmap(const volatile struct perf_event_mmap_page *page);

/*
 * krun_self_read reads the event, which must be one of the calling thread. false:
 * it is not in a hardware counter at the moment, or the kernel does not let us read
 * that; read(2) knows.
 */
bool krun_self_read(const volatile struct perf_event_mmap_page *page, struct krun_self *out);

/* krun_rdpmc is the instruction: rdpmc.c, replaced in tests. */
uint64_t krun_rdpmc(uint32_t counter);

/* krun_event_id finds out the number of a perf event; 0 when the descriptor is not one. */
uint64_t krun_event_id(int fd);

#endif
