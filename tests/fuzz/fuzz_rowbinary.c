/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as rows of connections, in pieces as they come: rows are found whatever the pieces, and
 * each row is written as it was read. The same bytes as an address of ClickHouse.
 */
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "store/clickhouse_address.h"
#include "store/rowbinary.h"

#define OUT_MAX (1u << 26)

/* A length can have more bytes than it needs, so that the second writing decides. */
static void there_and_back(const struct store_table *table, const void *row)
{
	struct strbuf first = STRBUF_INIT(OUT_MAX), again = STRBUF_INIT(OUT_MAX);
	unsigned char *bytes;
	void *back = calloc(1, table->row_size);

	rowbinary_write(table, row, &first);
	bytes = malloc(first.len);
	BUG_ON(first.error || !back || !bytes);
	memcpy(bytes, first.buf, first.len);
	BUG_ON(rowbinary_measure(table, bytes, first.len) != (ssize_t)first.len);
	rowbinary_read(table, bytes, back);
	rowbinary_write(table, back, &again);
	BUG_ON(again.len != first.len || memcmp(again.buf, first.buf, first.len) != 0);
	free(bytes);
	free(back);
	strbuf_release(&first);
	strbuf_release(&again);
}

/* Reads rows from a copy of exactly this size. */
static void read_rows(const struct store_table *table, const uint8_t *data, size_t size)
{
	unsigned char *bytes = malloc(size ? size : 1);
	char *row = calloc(1, table->row_size);
	size_t at = 0;
	ssize_t n;

	BUG_ON(!bytes || !row);
	memcpy(bytes, data, size);
	while ((n = rowbinary_measure(table, bytes + at, size - at)) > 0) {
		BUG_ON((size_t)n > size - at);
		for (size_t less = (size_t)n; less && less > (size_t)n - 3; less--)
			BUG_ON(rowbinary_measure(table, bytes + at, less - 1) != 0);
		rowbinary_read(table, bytes + at, row);
		there_and_back(table, row);
		at += (size_t)n;
	}
	free(row);
	free(bytes);
}

static void read_address(const uint8_t *data, size_t size)
{
	struct strbuf text = STRBUF_INIT(OUT_MAX), why = STRBUF_INIT(OUT_MAX);
	struct clickhouse_address *address = malloc(sizeof(*address));
	int err;

	BUG_ON(!address);
	strbuf_puts(&text, "clickhouse://");
	strbuf_add(&text, data, size);
	err = clickhouse_address_parse(strbuf_str(&text), address, &why);
	BUG_ON((err != 0) != (why.len != 0));
	BUG_ON(!err && (address->n > 1) && !address->cluster[0]);
	strbuf_release(&text);
	strbuf_release(&why);
	free(address);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_rows(&store_windows, data, size);
	read_rows(&store_connections, data, size);
	read_address(data, size);
	return 0;
}
