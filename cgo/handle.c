/* handle.c - the memory of a handle: two pages, of which a child made by fork finds the first one empty. */
#include "internal.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MAP_ANONYMOUS
#define MAP_ANONYMOUS MAP_ANON
#endif

/* kept is the second page, which a child sees as it is. */
struct kept {
	struct krun_header *header;
};

/* page is the size of each of the two. */
static size_t page(void)
{
	long bytes = sysconf(_SC_PAGESIZE);

	return bytes < (long)sizeof(krun) ? 4096 : (size_t)bytes;
}

static struct kept *second(const krun *k)
{
	return (struct kept *)((uintptr_t)k + page());
}

krun *krun_handle_make(void)
{
	void *pages = mmap(NULL, 2 * page(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (pages == MAP_FAILED)
		return NULL;
	/* Where this fails a child that measures is not noticed. */
#if defined(MADV_WIPEONFORK)
	(void)madvise(pages, page(), MADV_WIPEONFORK);
#elif defined(MAP_INHERIT_ZERO)
	(void)minherit(pages, page(), MAP_INHERIT_ZERO);
#endif
	return pages;
}

void krun_handle_keep(krun *k, struct krun_header *h)
{
	second(k)->header = h;
}

struct krun_header *krun_handle_header(const krun *k)
{
	return second(k)->header;
}

void krun_handle_free(krun *k)
{
	(void)munmap(k, 2 * page());
}
