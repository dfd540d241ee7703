/* SPDX-License-Identifier: Apache-2.0 */
/* A store in ClickHouse: writing rows. */
#include "store/clickhouse_insert.h"

#include <errno.h>
#include <string.h>

#include "base/bug.h"
#include "store/clickhouse_sql.h"
#include "store/clickhouse_state.h"
#include "store/rowbinary.h"

#define BATCH_BYTES (32u << 20) /* most bytes of an INSERT */
#define RETRIES 3u

/* Returns the bytes of as many rows as one INSERT has. */
static size_t insert_piece(const struct store_table *table, const struct strbuf *rows, size_t from)
{
	const unsigned char *bytes = (const unsigned char *)rows->buf;
	size_t at = from;

	while (at < rows->len) {
		const ssize_t n = rowbinary_measure(table, bytes + at, rows->len - at);

		BUG_ON(n <= 0);
		if (at > from && at + (size_t)n - from > BATCH_BYTES)
			break;
		at += (size_t)n;
	}
	return at - from;
}

static int insert_send(struct clickhouse *c, const struct store_table *table, const char *rows,
		       size_t size, struct strbuf *why)
{
	struct strbuf sql = STRBUF_INIT(CLICKHOUSE_SQL_MAX);
	struct clickhouse_request request = {
		.settings = strbuf_str(&c->insert), .data = rows, .size = size
	};
	int err;

	clickhouse_sql_insert(&c->address, table, &sql);
	request.sql = strbuf_str(&sql);
	err = sql.error ? sql.error : clickhouse_http_any(c->http, &request, RETRIES, why);
	strbuf_release(&sql);
	return err;
}

/* Sends the first piece of a full batch, and keeps the rest. */
static int insert_send_first(struct clickhouse *c, const struct store_table *table,
			     struct strbuf *rows, struct strbuf *why)
{
	const size_t n = insert_piece(table, rows, 0);
	const int err = insert_send(c, table, rows->buf, n, why);

	memmove(rows->buf, rows->buf + n, rows->len - n);
	strbuf_truncate(rows, rows->len - n);
	return err;
}

static int insert_send_all(struct clickhouse *c, const struct store_table *table,
			   const struct strbuf *rows, struct strbuf *why)
{
	int err = 0;

	for (size_t at = 0, n; at < rows->len && !err; at += n) {
		n = insert_piece(table, rows, at);
		err = insert_send(c, table, rows->buf + at, n, why);
	}
	return err;
}

static int insert_add(struct strbuf *rows, const struct store_table *table, const void *row,
		      struct strbuf *why)
{
	const size_t before = rows->len;
	int err;

	rowbinary_write(table, row, rows);
	err = rows->error;
	if (!err && rowbinary_measure(table, (unsigned char *)rows->buf + before,
				      rows->len - before) > 0)
		return 0;
	if (!err) {
		strbuf_truncate(rows, before);
		err = -EINVAL;
	}
	strbuf_puts(why, err == -ENOMEM ? "out of memory" :
			 err == -EINVAL ? "a row has a text or a number that is too large" :
					  "too many windows in one commit");
	return err;
}

int clickhouse_put(void *state, const struct store_table *table, const void *row,
		   struct strbuf *why)
{
	struct clickhouse *c = state;
	struct strbuf *rows = table == &store_windows ? &c->windows : &c->connections;
	int err = c->failed;

	if (err) {
		strbuf_puts(why, "earlier rows of this commit could not be stored");
		return err;
	}
	err = insert_add(rows, table, row, why);
	if (!err && rows == &c->connections && rows->len > BATCH_BYTES)
		err = insert_send_first(c, table, rows, why);
	c->failed = err;
	return err;
}

int clickhouse_commit(void *state, struct strbuf *why)
{
	struct clickhouse *c = state;
	int err = c->failed;

	if (err)
		strbuf_puts(why, "rows could not be stored");
	else
		err = insert_send_all(c, &store_connections, &c->connections, why);
	if (!err)
		err = insert_send_all(c, &store_windows, &c->windows, why);
	strbuf_reset(&c->connections);
	strbuf_reset(&c->windows);
	c->failed = 0;
	return err;
}
