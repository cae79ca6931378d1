/* self.c - perf events of the calling thread. Interface: self.h. */
#include "internal.h"

#include <stdatomic.h>
#include <stddef.h>

#include "self.h"

#ifdef __linux__
#include <linux/perf_event.h>
#include <sys/ioctl.h>

uint64_t krun_event_id(int fd)
{
	uint64_t id = 0;

	return ioctl(fd, PERF_EVENT_IOC_ID, &id) == 0 ? id : 0;
}

#else

uint64_t krun_event_id(int fd)
{
	(void)fd;
	return 0;
}

#endif

#if defined(__linux__) && defined(__x86_64__)
#include <sys/mman.h>

enum { PAGE = 4096 }; /* of x86 */

const volatile struct perf_event_mmap_page *krun_self_page(int fd)
{
	void *page = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);

	return page == MAP_FAILED ? NULL : page;
}

void krun_self_unmap(const volatile struct perf_event_mmap_page *page)
{
	if (page)
		(void)munmap((void *)(uintptr_t)page, PAGE);
}

/*
 * The kernel rewrites the page when it schedules the event onto a counter or off it. For the
 * calling thread that happens on this processor, so a compiler barrier is enough, and the reading
 * is repeated when `lock` changed meanwhile. The counter's value is signed and pmc_width bits wide;
 * added to `offset` it is what read(2) would return.
 */
bool krun_self_read(const volatile struct perf_event_mmap_page *page, struct krun_self *out)
{
	enum { TRIES = 1000 };
	uint32_t seq, index, shift;
	int64_t count;
	int i;

	for (i = 0; i < TRIES; i++) {
		seq = page->lock;
		atomic_signal_fence(memory_order_seq_cst);
		index = page->index;
		if (!page->cap_user_rdpmc || index == 0 || page->pmc_width < 1 || page->pmc_width > 64)
			return false;
		shift = 64u - page->pmc_width;
		count = (int64_t)(krun_rdpmc(index - 1) << shift) >> shift;
		out->value = (uint64_t)page->offset + (uint64_t)count;
		out->lag = page->time_enabled - page->time_running;
		atomic_signal_fence(memory_order_seq_cst);
		if (LIKELY(page->lock == seq))
			return true;
	}
	return false;
}

#else

const volatile struct perf_event_mmap_page *krun_self_page(int fd)
{
	(void)fd;
	return NULL;
}

void krun_self_unmap(const volatile struct perf_event_mmap_page *page)
{
	(void)page;
}

bool krun_self_read(const volatile struct perf_event_mmap_page *page, struct krun_self *out)
{
	(void)page;
	(void)out;
	return false;
}

#endif
