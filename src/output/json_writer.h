/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON value by value, with commas, quotes and escapes. The result is valid JSON if begin
 * and end are paired and only members of objects have names (violations end the program). Names and
 * strings are UTF-8; other bytes become U+FFFD.
 */
#ifndef HOSTLAT_OUTPUT_JSON_WRITER_H
#define HOSTLAT_OUTPUT_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

#define JSON_DEPTH_MAX 16

struct json_writer {
	struct strbuf *out;     /* output; its `error` holds the first failure */
	unsigned int lines;     /* members of the outermost `lines` levels begin on a new line */
	unsigned int depth;
	bool array[JSON_DEPTH_MAX];
	bool filled[JSON_DEPTH_MAX];
};

/* Initializes a writer; lines 0: all on one line, as for JSON Lines. */
void json_writer_init(struct json_writer *w, struct strbuf *out, unsigned int lines);

/*
 * Begin and end an object or array. `name`: the member's name in an object; NULL in an array and at
 * the top level.
 */
void json_begin_object(struct json_writer *w, const char *name);
void json_end_object(struct json_writer *w);
void json_begin_array(struct json_writer *w, const char *name);
void json_end_array(struct json_writer *w);

void json_null(struct json_writer *w, const char *name);
void json_bool(struct json_writer *w, const char *name, bool b);
void json_u64(struct json_writer *w, const char *name, uint64_t n);
void json_s64(struct json_writer *w, const char *name, int64_t n);
/* Writes six significant digits; null if not finite. */
void json_double(struct json_writer *w, const char *name, double d);
/* Writes a string; null for NULL. */
void json_string(struct json_writer *w, const char *name, const char *s);
/* Writes a value that is JSON already; drops white space at its end. */
void json_document(struct json_writer *w, const char *name, const char *document);

#endif
