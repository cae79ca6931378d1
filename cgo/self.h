/*
 * self.h - reading a perf event of the calling thread without a system call (self-monitoring), by
 * the protocol that perf_event_open(2) gives for struct perf_event_mmap_page. Linux on x86-64
 * only; elsewhere there is no page, and the caller uses read(2).
 */
#ifndef KRUN_SELF_H
#define KRUN_SELF_H

#include <stdbool.h>
#include <stdint.h>

struct perf_event_mmap_page; /* linux/perf_event.h */

/* A reading of the page and the counter. */
struct krun_self {
	uint64_t value;
	uint64_t lag; /* nanoseconds in which the event was enabled but did not count */
};

/* krun_self_page maps the page of a perf event; null when there is none. */
const volatile struct perf_event_mmap_page *krun_self_page(int fd);

/* krun_self_unmap unmaps the page; null is allowed. */
void krun_self_unmap(const volatile struct perf_event_mmap_page *page);

/*
 * krun_self_read reads the event, which must be one of the calling thread. It returns false when
 * the event is not on a hardware counter at the moment or the kernel forbids RDPMC; then read(2)
 * gives the value.
 */
bool krun_self_read(const volatile struct perf_event_mmap_page *page, struct krun_self *out);

/* krun_rdpmc executes the instruction RDPMC. It is in rdpmc.c, so that tests can replace it. */
uint64_t krun_rdpmc(uint32_t counter);

/* krun_event_id returns the id of a perf event (PERF_EVENT_IOC_ID); 0 when fd is not one. */
uint64_t krun_event_id(int fd);

#endif
