/* SPDX-License-Identifier: Apache-2.0 */
/* Answers of ClickHouse as rows. */
#ifndef HOSTLAT_STORE_CLICKHOUSE_ROWS_H
#define HOSTLAT_STORE_CLICKHOUSE_ROWS_H

#include "store/clickhouse_http.h"
#include "store/query.h"

/*
 * Runs a query whose answer has the columns of `table`, in FORMAT RowBinary, and calls `take` for
 * each row as it comes. The server is asked to say how the query ended before it sends a row, so
 * that an error is none of the rows. Returns 0, the error of `take`, -EBADMSG for an answer that is
 * no table or is cut short, or as clickhouse_http_any() does.
 */
int clickhouse_rows(struct clickhouse_http *http, const struct store_table *table,
		    const char *settings, const char *sql, store_row_fn *take, void *ctx,
		    struct strbuf *why);

/*
 * Run a query whose answer is numbers (texts), and give their sum (append them to `out`). Return as
 * clickhouse_rows() does.
 */
int clickhouse_number(struct clickhouse_http *http, const char *settings, const char *sql,
		      uint64_t *out, struct strbuf *why);
int clickhouse_texts(struct clickhouse_http *http, const char *sql, struct strbuf *out,
		     struct strbuf *why);

/* The table of an answer with one number a row. */
struct clickhouse_number_row {
	uint64_t number;
};

extern const struct store_table clickhouse_number_table;

#endif
