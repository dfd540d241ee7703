/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of several sources in the order of time: for low-rate kinds, where one order over all
 * cores is worth a heap. Blocks of spans are never merged. Memory: one block of each source.
 */
#ifndef HOSTLAT_EVENT_MERGE_H
#define HOSTLAT_EVENT_MERGE_H

#include "event/source.h"

#define EVENT_MERGE_MAX 256u	/* sources */

struct event_merge;

/*
 * The sources stay the caller's and are only read from here meanwhile. Each must be in the order of
 * time itself, and all in one clock domain. 0, -ENOMEM, -E2BIG, or an error of a source.
 */
int event_merge_new(struct event_merge **out, struct event_source *const *sources, uint32_t n);
void event_merge_free(struct event_merge *merge);

/*
 * The earliest record that is left; of equal times, that of the first source. 1, 0 at the end, or
 * -errno. `event` is valid until the next call. Blocks of fixed-size records are passed over.
 */
int event_merge_next(struct event_merge *merge, struct event *event);

#endif
