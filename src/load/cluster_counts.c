/* SPDX-License-Identifier: Apache-2.0 */
#include "load/cluster_counts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

int cluster_counts_put(const struct cluster_counts *counts, struct event_sink *sink, uint64_t now)
{
	char value[72];

	if (!counts->nodes)
		return 0;
	snprintf(value, sizeof(value), "%" PRIu64 " %" PRIu64 " %" PRIu64, counts->nodes,
		 counts->moved, counts->asked);
	return event_put_fact(sink, now, LOAD_FACT_CLUSTER, value);
}

/* Reads a number up to `end`. Returns what follows, or NULL if there is no number. */
static const char *cluster_counts_number(const char *at, char end, uint64_t *out)
{
	const size_t size = at ? strspn(at, "0123456789") : 0;
	char text[20] = "";

	if (!size || size >= sizeof(text) || at[size] != end)
		return NULL;
	memcpy(text, at, size);
	return parse_u64(text, out) || *out > INT64_MAX ? NULL : at + size + 1;
}

int cluster_counts_add_fact(struct cluster_counts *counts, const char *value)
{
	struct cluster_counts more = { 0 };

	value = cluster_counts_number(value, ' ', &more.nodes);
	value = cluster_counts_number(value, ' ', &more.moved);
	value = cluster_counts_number(value, '\0', &more.asked);
	if (!value || !more.nodes)
		return -EBADMSG;
	counts->nodes = more.nodes > counts->nodes ? more.nodes : counts->nodes;
	counts->moved += more.moved;
	counts->asked += more.asked;
	return 0;
}
