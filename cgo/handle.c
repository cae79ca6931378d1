/*
 * handle.c - the memory of a handle: two pages. A child made by fork sees the first one as zeros
 * and the second one unchanged. Interface: handle.h.
 */
#include "handle.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

/* The second page. */
struct inherited {
	struct krun_header *header;
};

/* page_size returns the size of each of the two pages. */
static size_t page_size(void)
{
	long bytes = sysconf(_SC_PAGESIZE);

	return bytes < (long)sizeof(krun) ? 4096 : (size_t)bytes;
}

static struct inherited *inherited_page(const krun *k)
{
	return (struct inherited *)((uintptr_t)k + page_size());
}

krun *krun_handle_alloc(void)
{
	void *pages = mmap(NULL, 2 * page_size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return NULL;
	/* Where this fails, a child that measures goes unnoticed. */
#if defined(MADV_WIPEONFORK)
	(void)madvise(pages, page_size(), MADV_WIPEONFORK);
#elif defined(MAP_INHERIT_ZERO)
	(void)minherit(pages, page_size(), MAP_INHERIT_ZERO);
#endif
	return pages;
}

void krun_handle_set_header(krun *k, struct krun_header *h)
{
	inherited_page(k)->header = h;
}

struct krun_header *krun_handle_header(const krun *k)
{
	return inherited_page(k)->header;
}

void krun_handle_free(krun *k)
{
	(void)munmap(k, 2 * page_size());
}
