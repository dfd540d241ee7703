/* SPDX-License-Identifier: Apache-2.0 */
/* A report as one JSON document: the fields, their names and their order are the report's. */
#ifndef HOSTLAT_OUTPUT_JSON_H
#define HOSTLAT_OUTPUT_JSON_H

#include "base/strbuf.h"
#include "report/report.h"

enum json_layout {
	JSON_DOCUMENT, /* fields and rows on lines of their own, for people who look at it, too */
	JSON_LINE,     /* one line, for JSON Lines */
};

/* Appends the document and a newline. Errors stay in `out`, or are the report's own: check both. */
void json_report(const struct report *r, enum json_layout layout, struct strbuf *out);

#endif
