/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of function_graph's events, as the running kernel describes it in tracefs events/. */
#ifndef HOSTLAT_TRACE_FORMAT_H
#define HOSTLAT_TRACE_FORMAT_H

#include "trace/page.h"

struct trace_field {
	uint32_t at, size;	/* offset and size in bytes; size: 2, 4 or 8 */
};

struct trace_format {
	struct trace_page_layout page;
	struct trace_field type;	/* field with the event's type, which every event has */
	uint32_t entry, exit;		/* types of funcgraph_entry and funcgraph_exit */
	struct trace_field entry_func, exit_func;
};

/*
 * Reads the layout from the texts of events/header_page and of the files `format` in
 * events/ftrace/funcgraph_entry and events/ftrace/funcgraph_exit. Returns 0, or -EBADMSG if one
 * of them is malformed.
 */
int trace_format_read(struct trace_format *format, const char *header_page, const char *entry,
		      const char *exit);

/* Returns the value of a field in `size` bytes of an event; false and 0 if it lies beyond them. */
bool trace_field_get(const struct trace_field *field, const unsigned char *data, uint32_t size,
		     uint64_t *value);

#endif
