/* handle.h - the memory of a handle. */
#ifndef KRUN_HANDLE_H
#define KRUN_HANDLE_H

#include "internal.h"

/*
 * krun_handle_alloc returns a handle of zeros, or null. Where the system can do that, a child made
 * by fork sees zeros there whatever the parent wrote. So krun_begin and krun_end refuse such a
 * handle without a further test: its capacity is 0 and no iteration is open.
 */
krun *krun_handle_alloc(void);

/* krun_handle_set_header stores the handle's header where a forked child can still read it. */
void krun_handle_set_header(krun *k, struct krun_header *h);

/* krun_handle_header returns that header, in a forked child too. */
struct krun_header *krun_handle_header(const krun *k);

/* krun_handle_free releases the handle and nothing it points to. */
void krun_handle_free(krun *k);

#endif
