/* handover.h - taking over the counters' descriptors from krund, and closing them. */
#ifndef KRUN_HANDOVER_H
#define KRUN_HANDOVER_H

#include "internal.h"

struct group; /* counters.h */

/* krun_counters_check checks a header's scope and its counters' entries. Errors: KRUN_ELAYOUT. */
int krun_counters_check(struct krun_header *h);

/*
 * krun_counters_open takes over the counters of a filled handle's buffer, which krun_counters_check
 * has accepted. A descriptor that is not the file krund meant is no error: its values will be
 * missing. Errors: KRUN_ENOMEM.
 */
int krun_counters_open(krun *k);

/* krun_counters_free releases what krun_counters_open allocated and closes the descriptors. */
void krun_counters_free(krun *k);

/* krun_group_unchanged reports whether a group's descriptor is still the file krund meant. */
bool krun_group_unchanged(const struct group *g);

#endif
