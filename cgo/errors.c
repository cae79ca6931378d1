/* errors.c - recording the first measuring error. Interface: errors.h. */
#include "errors.h"

#include <stdatomic.h>

#include "krun.h"

int krun_set_error(struct krun_header *h, int error)
{
	int32_t none = 0;

	atomic_compare_exchange_strong(&h->progress.error, &none, error);
	return error;
}

void krun_set_fd_lost(struct krun_header *h)
{
	int32_t read = KRUN_EREAD, part = KRUN_EPART;

	if (!atomic_compare_exchange_strong(&h->progress.error, &read, KRUN_ELOST) &&
	    !atomic_compare_exchange_strong(&h->progress.error, &part, KRUN_ELOST))
		(void)krun_set_error(h, KRUN_ELOST);
}
