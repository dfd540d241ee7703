/* SPDX-License-Identifier: Apache-2.0 */
/* A question to a store, and who takes its answer. */
#ifndef HOSTLAT_STORE_QUERY_H
#define HOSTLAT_STORE_QUERY_H

#include "store/tables.h"

enum store_mode { STORE_READ, STORE_WRITE };

/* Rows of windows that begin in [from_ns, to_ns), of hosts in [first_host, last_host]. */
struct store_query {
	const struct store_table *table;
	uint64_t from_ns, to_ns;
	const char *first_host, *last_host; /* by the order of bytes; NULL: no limit */
};

/* Takes a row, whose texts are valid during the call. A result other than 0 ends the query. */
typedef int store_row_fn(void *ctx, const void *row);

#endif
