/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A view over a store's tables with the columns that OpenTelemetry's exporter for ClickHouse gives
 * its table otel_metrics_sum: sums of time for each host, application, window and problem.
 */
#ifndef HOSTLAT_STORE_CLICKHOUSE_OTEL_H
#define HOSTLAT_STORE_CLICKHOUSE_OTEL_H

#include "store/clickhouse_state.h"

/*
 * Fails unless all servers of the address have the types of the view. Returns 0 or, after a
 * sentence in *why, -EOPNOTSUPP or another -errno.
 */
int clickhouse_otel_check(struct clickhouse *c, struct strbuf *why);

/* Writes the statement that makes the view. */
void clickhouse_otel_view(const struct clickhouse_address *address, struct strbuf *sql);

#endif
