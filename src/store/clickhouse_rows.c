/* SPDX-License-Identifier: Apache-2.0 */
#include "store/clickhouse_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "store/rowbinary.h"

/* Without an end of the query the server keeps the answer: this much in memory, more on disk. */
#define WHOLE_ANSWER "wait_end_of_query=1&buffer_size=16777216"
#define SETTINGS_MAX 512u
#define PIECE_MAX (1u << 20) /* bytes that libcurl gives at once, at most */
#define READ_RETRIES 1u

struct row_stream {
	const struct store_table *table;
	store_row_fn *take;
	void *ctx;
	void *row;
	struct strbuf rest; /* bytes of a row that is not complete */
	bool is_bad;        /* the bytes are no rows */
};

/* Takes the complete rows of the bytes, and keeps the others. */
static int rows_take_all(struct row_stream *stream)
{
	unsigned char *bytes = (unsigned char *)stream->rest.buf;
	size_t at = 0, size = stream->rest.len;
	int err = 0;

	while (!err) {
		const ssize_t n = rowbinary_measure(stream->table, bytes + at, size - at);

		if (n < 0)
			stream->is_bad = true;
		if (n <= 0) {
			err = (int)n;
			break;
		}
		rowbinary_read(stream->table, bytes + at, stream->row);
		at += (size_t)n;
		err = stream->take(stream->ctx, stream->row);
	}
	memmove(bytes, bytes + at, size - at);
	strbuf_truncate(&stream->rest, size - at);
	return err;
}

static int rows_receive(void *ctx, const void *bytes, size_t n)
{
	struct row_stream *stream = ctx;

	if (!n)
		return 0;
	strbuf_add(&stream->rest, bytes, n);
	return stream->rest.error ? stream->rest.error : rows_take_all(stream);
}

static int rows_run(struct clickhouse_http *http, struct row_stream *stream, const char *settings,
		    const char *sql, struct strbuf *why)
{
	struct strbuf all = STRBUF_INIT(SETTINGS_MAX);
	struct clickhouse_request request = { .sql = sql, .take = rows_receive, .ctx = stream };
	int err;

	strbuf_printf(&all, WHOLE_ANSWER "%s%s", *settings ? "&" : "", settings);
	request.settings = strbuf_str(&all);
	err = all.error ? all.error : clickhouse_http_any(http, &request, READ_RETRIES, why);
	strbuf_release(&all);
	if (!err && stream->rest.len) {
		stream->is_bad = true;
		err = -EBADMSG;
	}
	if (stream->is_bad)
		strbuf_puts(why, "the answer of ClickHouse is cut short or has no rows: is this "
				 "its HTTP port, and does the store belong to hostlat?");
	return err;
}

int clickhouse_rows(struct clickhouse_http *http, const struct store_table *table,
		    const char *settings, const char *sql, store_row_fn *take, void *ctx,
		    struct strbuf *why)
{
	struct row_stream stream = { .table = table, .take = take, .ctx = ctx };
	int err = -ENOMEM;

	strbuf_init(&stream.rest, ROWBINARY_ROW_MAX(table->n) + PIECE_MAX);
	stream.row = calloc(1, table->row_size);
	if (stream.row)
		err = rows_run(http, &stream, settings, sql, why);
	if (err == -ENOMEM && !why->len)
		strbuf_puts(why, "out of memory");
	free(stream.row);
	strbuf_release(&stream.rest);
	return err;
}

/* ---- answers of one column ---- */

static const struct store_column number_columns[] = { { .name = "number", .type = STORE_U64 } };
static const struct store_column text_columns[] = { { .name = "text", .type = STORE_TEXT } };

const struct store_table clickhouse_number_table = {
	.columns = number_columns, .n = 1, .row_size = sizeof(struct clickhouse_number_row)
};
static const struct store_table text_table = {
	.columns = text_columns, .n = 1, .row_size = sizeof(const char *)
};

static int rows_add_number(void *ctx, const void *row)
{
	*(uint64_t *)ctx += ((const struct clickhouse_number_row *)row)->number;
	return 0;
}

static int rows_add_text(void *ctx, const void *row)
{
	struct strbuf *out = ctx;

	strbuf_puts(out, *(const char *const *)row);
	return out->error;
}

int clickhouse_number(struct clickhouse_http *http, const char *settings, const char *sql,
		      uint64_t *out, struct strbuf *why)
{
	*out = 0;
	return clickhouse_rows(http, &clickhouse_number_table, settings, sql, rows_add_number, out,
			       why);
}

int clickhouse_texts(struct clickhouse_http *http, const char *sql, struct strbuf *out,
		     struct strbuf *why)
{
	return clickhouse_rows(http, &text_table, "", sql, rows_add_text, out, why);
}
