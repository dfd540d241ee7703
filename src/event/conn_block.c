/* SPDX-License-Identifier: Apache-2.0 */
#include "event/conn_block.h"

size_t event_conn_block(const struct event_conn *records, size_t n, struct event_block *block)
{
	if (n > EVENT_BLOCK_SIZE / sizeof(*records))
		n = EVENT_BLOCK_SIZE / sizeof(*records);
	*block = (struct event_block){
		.kind = EV_CONN, .core = EVENT_CORE_NONE, .count = (uint32_t)n,
		.record_size = sizeof(*records), .first = records->to, .last = records[n - 1].to,
		.reach = UINT64_MAX, .size = n * sizeof(*records), .data = records,
	};
	for (size_t i = 0; i < n; i++)
		if (records[i].from < block->reach)
			block->reach = records[i].from;
	return n;
}
