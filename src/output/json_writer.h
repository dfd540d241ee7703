/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON value by value: commas, quotes and escapes are its business. What is written is
 * valid JSON as long as begin and end are paired and names are given in objects only
 * (broken invariants otherwise). Names and strings are UTF-8; bytes that are not become U+FFFD.
 */
#ifndef HOSTLAT_OUTPUT_JSON_WRITER_H
#define HOSTLAT_OUTPUT_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/strbuf.h"

#define JSON_DEPTH_MAX 16

struct json_writer {
	struct strbuf *out;     /* keeps the error, if any */
	unsigned int lines;     /* members of the outer `lines` levels begin a line of their own */
	unsigned int depth;
	bool array[JSON_DEPTH_MAX];
	bool filled[JSON_DEPTH_MAX];
};

/* lines 0: all on one line, as JSON Lines needs it. */
void json_writer_init(struct json_writer *w, struct strbuf *out, unsigned int lines);

/* `name` is the member's name in an object, and NULL in an array and at the top. */
void json_begin_object(struct json_writer *w, const char *name);
void json_end_object(struct json_writer *w);
void json_begin_array(struct json_writer *w, const char *name);
void json_end_array(struct json_writer *w);

void json_null(struct json_writer *w, const char *name);
void json_bool(struct json_writer *w, const char *name, bool b);
void json_u64(struct json_writer *w, const char *name, uint64_t n);
void json_s64(struct json_writer *w, const char *name, int64_t n);
/* Six significant digits; null if not finite. */
void json_double(struct json_writer *w, const char *name, double d);
/* NULL is null. */
void json_string(struct json_writer *w, const char *name, const char *s);
/* A value that is JSON already, but for white space at its end. */
void json_document(struct json_writer *w, const char *name, const char *document);

#endif
