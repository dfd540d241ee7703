/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields are lines as kernel/trace/trace_events.c prints them:
 *	"\tfield:TYPE NAME[N];\toffset:N;\tsize:N;\tsigned:N;"
 * libtraceevent parses the whole format, but follows null pointers and leaks memory where a text is
 * damaged (fuzz_format found both), so hostlat reads the few lines it needs itself.
 */
#include "trace/format.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIELD_AT_MAX 4096 /* largest offset of a field, in bytes */

static const char *format_after_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end ? end + 1 : NULL;
}

/* Reads the number behind `key` in the line. Returns false if there is none. */
static bool format_number_after(const char *line, const char *key, uint32_t *out)
{
	const char *at = memmem(line, strcspn(line, "\n"), key, strlen(key));
	unsigned long value;
	char *end;

	if (!at || !isdigit((unsigned char)at[strlen(key)]))
		return false;
	value = strtoul(at + strlen(key), &end, 10);
	*out = (uint32_t)value;
	return value <= UINT32_MAX && strchr(";\n", *end);
}

/* Returns true if "TYPE NAME" or "TYPE NAME[N]" of `len` bytes declares `name`. */
static bool format_declares(const char *text, size_t len, const char *name)
{
	const char *bracket = memchr(text, '[', len);
	size_t n = strlen(name), end = bracket ? (size_t)(bracket - text) : len;

	return end > n && !memcmp(text + end - n, name, n) && strchr(" *", text[end - n - 1]);
}

static int format_read_field(const char *text, const char *name, struct trace_field *out)
{
	static const char head[] = "field:";

	for (const char *line = text; line; line = format_after_line(line)) {
		const char *begin = line + strspn(line, " \t");

		if (strncmp(begin, head, strlen(head)))
			continue;
		begin += strlen(head);
		if (!format_declares(begin, strcspn(begin, ";\n"), name))
			continue;
		return format_number_after(line, "\toffset:", &out->at) &&
				       format_number_after(line, "\tsize:", &out->size) &&
				       out->at <= FIELD_AT_MAX &&
				       (out->size == 2 || out->size == 4 || out->size == 8)
			       ? 0
			       : -EBADMSG;
	}
	return -EBADMSG;
}

static int format_read_id(const char *text, uint32_t *out)
{
	for (const char *line = text; line; line = format_after_line(line))
		if (!strncmp(line, "ID: ", 4))
			return format_number_after(line, "ID: ", out) ? 0 : -EBADMSG;
	return -EBADMSG;
}

static int format_read_event(const char *text, uint32_t *id, struct trace_field *type,
			     struct trace_field *func)
{
	int err = format_read_id(text, id);

	if (!err)
		err = format_read_field(text, "common_type", type);
	return err ? err : format_read_field(text, "func", func);
}

static int format_read_page(const char *text, struct trace_page_layout *page)
{
	struct trace_field stamp, length;

	if (format_read_field(text, "timestamp", &stamp) ||
	    format_read_field(text, "commit", &length))
		return -EBADMSG;
	page->length_at = length.at;
	page->length_size = length.size;
	page->data_at = length.at + length.size;
	return stamp.at == 0 && stamp.size == sizeof(uint64_t) && length.at == stamp.size &&
	       length.size >= 4 ? 0 : -EBADMSG;
}

int trace_format_read(struct trace_format *format, const char *header_page, const char *entry,
		      const char *exit)
{
	struct trace_field type;
	int err;

	*format = (struct trace_format){ 0 };
	err = format_read_page(header_page, &format->page);
	if (!err)
		err = format_read_event(entry, &format->entry, &format->type, &format->entry_func);
	if (!err)
		err = format_read_event(exit, &format->exit, &type, &format->exit_func);
	if (!err && (type.at != format->type.at || type.size != format->type.size))
		err = -EBADMSG;
	return err;
}

bool trace_field_get(const struct trace_field *field, const unsigned char *data, uint32_t size,
		     uint64_t *value)
{
	uint16_t two;
	uint32_t four;

	*value = 0;
	if (size < field->at || size - field->at < field->size)
		return false;
	switch (field->size) {
	case 2:
		memcpy(&two, data + field->at, sizeof(two));
		*value = two;
		return true;
	case 4:
		memcpy(&four, data + field->at, sizeof(four));
		*value = four;
		return true;
	}
	memcpy(value, data + field->at, sizeof(*value));
	return true;
}
