/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a report as a JSON document; its fields, names and order are the report's. */
#ifndef HOSTLAT_OUTPUT_JSON_H
#define HOSTLAT_OUTPUT_JSON_H

#include "base/strbuf.h"
#include "report/report.h"

enum json_layout {
	JSON_DOCUMENT, /* fields and rows on separate lines, readable by people */
	JSON_LINE,     /* one line, for JSON Lines */
};

/* Appends the document and a newline. Errors are in `out` or in the report: check both. */
void json_report(const struct report *r, enum json_layout layout, struct strbuf *out);

#endif
