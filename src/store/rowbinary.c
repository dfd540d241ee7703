/* SPDX-License-Identifier: Apache-2.0 */
#include "store/rowbinary.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define GROUP_BITS 7
#define MORE 0x80u

static void rowbinary_write_text(const char *text, struct strbuf *out)
{
	const size_t size = strlen(text);
	size_t rest = size;

	for (; rest >= MORE; rest >>= GROUP_BITS)
		strbuf_putc(out, (char)(rest | MORE));
	strbuf_putc(out, (char)rest);
	strbuf_add(out, text, size);
}

void rowbinary_write(const struct store_table *table, const void *row, struct strbuf *out)
{
	for (unsigned int i = 0; i < table->n; i++) {
		const struct store_column *column = &table->columns[i];
		uint64_t number;

		if (column->type == STORE_TEXT) {
			rowbinary_write_text(store_text(column, row), out);
			continue;
		}
		number = htole64(store_u64(column, row));
		strbuf_add(out, &number, sizeof(number));
	}
}

/* Reads a text's length. Returns its own bytes, 0 if they are not complete, or -EBADMSG. */
static ssize_t rowbinary_length(const unsigned char *data, size_t size, size_t *out)
{
	size_t length = 0;

	for (size_t i = 0; i < size && i < ROWBINARY_LENGTH_MAX; i++) {
		length |= (size_t)(data[i] & ~MORE) << (GROUP_BITS * i);
		if (length > STORE_TEXT_MAX)
			return -EBADMSG;
		if (!(data[i] & MORE)) {
			*out = length;
			return (ssize_t)i + 1;
		}
	}
	return size < ROWBINARY_LENGTH_MAX ? 0 : -EBADMSG;
}

static ssize_t rowbinary_measure_text(const unsigned char *data, size_t size)
{
	size_t length;
	const ssize_t own = rowbinary_length(data, size, &length);

	if (own <= 0)
		return own;
	if (size - (size_t)own < length)
		return 0;
	return memchr(data + own, '\0', length) ? -EBADMSG : own + (ssize_t)length;
}

static ssize_t rowbinary_measure_number(const unsigned char *data, size_t size)
{
	if (size < sizeof(uint64_t))
		return 0;
	return data[sizeof(uint64_t) - 1] & 0x80 ? -EBADMSG : (ssize_t)sizeof(uint64_t);
}

ssize_t rowbinary_measure(const struct store_table *table, const unsigned char *data, size_t size)
{
	size_t at = 0;

	for (unsigned int i = 0; i < table->n; i++) {
		ssize_t n;

		if (table->columns[i].type == STORE_TEXT)
			n = rowbinary_measure_text(data + at, size - at);
		else
			n = rowbinary_measure_number(data + at, size - at);
		if (n <= 0)
			return n;
		at += (size_t)n;
	}
	return (ssize_t)at;
}

/* Moves a text over the last byte of its length, which makes room for a NUL. Returns its bytes. */
static size_t rowbinary_read_text(unsigned char *data, const char **out)
{
	size_t length = 0;
	const size_t own = (size_t)rowbinary_length(data, ROWBINARY_LENGTH_MAX, &length);
	unsigned char *text = data + own - 1;

	memmove(text, data + own, length);
	text[length] = '\0';
	*out = (const char *)text;
	return own + length;
}

void rowbinary_read(const struct store_table *table, unsigned char *data, void *row)
{
	for (unsigned int i = 0; i < table->n; i++) {
		const struct store_column *column = &table->columns[i];
		void *member = (char *)row + column->offset;
		uint64_t number;

		if (column->type == STORE_TEXT) {
			data += rowbinary_read_text(data, member);
			continue;
		}
		memcpy(&number, data, sizeof(number));
		*(uint64_t *)member = le64toh(number);
		data += sizeof(number);
	}
}
