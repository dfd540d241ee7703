/* SPDX-License-Identifier: Apache-2.0 */
/* A keeper of the tables. All calls return 0 or, with a sentence in *why, -errno. */
#ifndef HOSTLAT_STORE_BACKEND_H
#define HOSTLAT_STORE_BACKEND_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "store/query.h"

struct store_backend {
	int (*init)(const char *address, bool otel_views, struct strbuf *why);
	int (*open)(const char *address, enum store_mode mode, void **state, struct strbuf *why);
	void (*close)(void *state);
	int (*put)(void *state, const struct store_table *table, const void *row,
		   struct strbuf *why);
	int (*commit)(void *state, struct strbuf *why);
	int (*select)(void *state, const struct store_query *query, store_row_fn *take, void *ctx,
		      struct strbuf *why);
	int (*forget)(void *state, uint64_t before_ns, struct strbuf *why);
	const char *(*unreachable)(const void *state); /* NULL: there is one server at most */
};

extern const struct store_backend store_sqlite, store_clickhouse;

#endif
