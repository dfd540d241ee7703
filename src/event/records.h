/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer for one block's data, to which writer and memory queue add records. */
#ifndef HOSTLAT_EVENT_RECORDS_H
#define HOSTLAT_EVENT_RECORDS_H

#include "event/source.h"

/* Time range of a block's events: first and last time, and the earliest begin (`reach`). */
struct event_range {
	uint64_t first;
	uint64_t last;
	uint64_t reach;
};

struct event_records {
	struct event_range range;
	uint32_t count;
	uint32_t size;		/* used bytes of `data` */
	unsigned char *data;	/* EVENT_BLOCK_SIZE bytes, aligned to 8 */
};

/* Returns the bytes of a payload in pieces; SIZE_MAX beyond EVENT_PAYLOAD_MAX. */
size_t event_payload_size(const struct iovec *payload, int pieces);

/* Returns whether a payload of `size` bytes fits as one more record. */
bool event_records_fit(const struct event_records *records, size_t size);

/*
 * Adds a record that fits, in this program's version of its kind. Returns 0, or -EINVAL and adds
 * nothing if the payload does not have the kind's shape.
 */
int event_records_add(struct event_records *records, const struct event *event, uint64_t begin,
		      const struct iovec *payload, int pieces);

void event_records_clear(struct event_records *records);

/* Extends the range by an event from `begin` to `end`; `empty`: the range has no event yet. */
void event_range_add(struct event_range *range, uint64_t begin, uint64_t end, bool empty);

#endif
