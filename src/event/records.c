/* SPDX-License-Identifier: Apache-2.0 */
#include "event/records.h"

#include <errno.h>
#include <string.h>

#include "base/bug.h"
#include "event/kinds.h"

size_t event_payload_size(const struct iovec *payload, int pieces)
{
	size_t size = 0;

	for (int i = 0; i < pieces; i++) {
		if (payload[i].iov_len > EVENT_PAYLOAD_MAX - size)
			return SIZE_MAX;
		size += payload[i].iov_len;
	}
	return size;
}

bool event_records_fit(const struct event_records *records, size_t size)
{
	return event_record_size(size) <= EVENT_BLOCK_SIZE - records->size;
}

void event_range_add(struct event_range *range, uint64_t begin, uint64_t end, bool empty)
{
	if (empty) {
		*range = (struct event_range){ .first = end, .last = end, .reach = begin };
		return;
	}
	range->first = end < range->first ? end : range->first;
	range->last = end > range->last ? end : range->last;
	range->reach = begin < range->reach ? begin : range->reach;
}

int event_records_add(struct event_records *records, const struct event *event, uint64_t begin,
		      const struct iovec *payload, int pieces)
{
	const size_t size = event_payload_size(payload, pieces);
	struct event_record *record = (void *)(records->data + records->size);
	unsigned char *to = (void *)(record + 1);

	BUG_ON(!event_records_fit(records, size));
	for (int i = 0; i < pieces; i++) {
		if (payload[i].iov_len)
			memcpy(to, payload[i].iov_base, payload[i].iov_len);
		to += payload[i].iov_len;
	}
	memset(to, 0, event_padded(size) - size);
	*record = (struct event_record){
		.kind = event->kind,
		.version = event_kind_info(event->kind)->version,
		.size = size,
		.time = event->time,
	};
	if (event_check(event->kind, record->version, record + 1, size))
		return -EINVAL;
	event_range_add(&records->range, begin, event->time, records->count == 0);
	records->size += event_record_size(size);
	records->count++;
	return 0;
}

void event_records_clear(struct event_records *records)
{
	records->count = 0;
	records->size = 0;
}
