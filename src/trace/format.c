/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <traceevent/event-parse.h>

/* More than any: what a field's place may be. */
#define FIELD_AT_MAX 4096

static int field_of(struct tep_event *event, const char *name, struct trace_field *out)
{
	const struct tep_format_field *field = tep_find_any_field(event, name);

	if (!field || field->offset < 0 || field->offset > FIELD_AT_MAX ||
	    (field->size != 2 && field->size != 4 && field->size != 8))
		return -EBADMSG;
	out->at = (uint32_t)field->offset;
	out->size = (uint32_t)field->size;
	return 0;
}

static int event_of(struct tep_handle *tep, const char *text, uint32_t *id,
		    struct trace_field *type, struct trace_field *func)
{
	struct tep_event *event = NULL;
	int err;

	if (tep_parse_format(tep, &event, text, strlen(text), "ftrace") || !event)
		return -EBADMSG;
	err = field_of(event, "common_type", type);
	if (!err)
		err = field_of(event, "func", func);
	*id = (uint32_t)event->id;
	return err;
}

static int page_of(struct tep_handle *tep, const char *text, struct trace_page_layout *page)
{
	char *copy = strdup(text);
	int err;

	if (!copy)
		return -ENOMEM;
	err = tep_parse_header_page(tep, copy, strlen(copy), sizeof(long)) ? -EBADMSG : 0;
	free(copy);
	if (err)
		return err;
	page->length_at = (uint32_t)tep_get_header_timestamp_size(tep);
	page->length_size = (uint32_t)tep_get_header_page_size(tep);
	page->data_at = page->length_at + page->length_size;
	return page->length_at == sizeof(uint64_t) &&
	       (page->length_size == 4 || page->length_size == 8) ? 0 : -EBADMSG;
}

int trace_format_read(struct trace_format *format, const char *header_page, const char *entry,
		      const char *exit)
{
	struct tep_handle *tep = tep_alloc();
	struct trace_field type;
	int err;

	*format = (struct trace_format){ 0 };
	if (!tep)
		return -ENOMEM;
	tep_set_loglevel(TEP_LOG_NONE);
	err = page_of(tep, header_page, &format->page);
	if (!err)
		err = event_of(tep, entry, &format->entry, &format->type, &format->entry_func);
	if (!err)
		err = event_of(tep, exit, &format->exit, &type, &format->exit_func);
	if (!err && (type.at != format->type.at || type.size != format->type.size))
		err = -EBADMSG;
	tep_free(tep);
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
