/* SPDX-License-Identifier: Apache-2.0 */
/* Reading rows from ClickHouse. */
#ifndef HOSTLAT_STORE_CLICKHOUSE_SELECT_H
#define HOSTLAT_STORE_CLICKHOUSE_SELECT_H

#include "base/strbuf.h"
#include "store/query.h"

/* The function of struct store_backend. It also finds the servers that are unreachable. */
int clickhouse_select(void *state, const struct store_query *query, store_row_fn *take, void *ctx,
		      struct strbuf *why);

#endif
