/* errors.h - recording the first measuring error in the buffer, where krund reads it. */
#ifndef KRUN_ERRORS_H
#define KRUN_ERRORS_H

#include "layout.h"

/* krun_set_error records a KRUN_E code unless the header already has one, and returns it. */
int krun_set_error(struct krun_header *h, int error);

/*
 * krun_set_fd_lost records KRUN_ELOST. It also replaces KRUN_EREAD and KRUN_EPART, which a lost
 * descriptor explains.
 */
void krun_set_fd_lost(struct krun_header *h);

#endif
