/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a report as text for people: the title line, then the body's tables, lists and reasons in
 * order. Distributions become aligned quantiles with a small histogram per row, all on one log
 * axis.
 */
#ifndef HOSTLAT_OUTPUT_TEXT_H
#define HOSTLAT_OUTPUT_TEXT_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "report/report.h"

struct text_style {
	unsigned int width;   /* width of tables, in columns */
	bool wrap;            /* also wrap sentences at `width` */
	bool color;
	bool utf8;            /* false: ASCII only */
	bool findings_first;  /* right below the title: a small screen may show nothing else */
	bool advice;          /* below the reasons, name the command that says what to do */
};

/* Appends the report. Errors are in `out` or in the report: check both. */
void text_report(const struct report *r, const struct text_style *style, struct strbuf *out);

#endif
