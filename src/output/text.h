/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A report as text for people: the title line, then the body's tables, lists and reasons in
 * their order. Distributions become aligned quantiles with a small histogram per row, all on one
 * log axis.
 */
#ifndef HOSTLAT_OUTPUT_TEXT_H
#define HOSTLAT_OUTPUT_TEXT_H

#include <stdbool.h>

#include "base/strbuf.h"
#include "report/report.h"

struct text_style {
	unsigned int width;   /* columns that tables may take */
	bool wrap;            /* wrap sentences at `width`, too */
	bool color;
	bool utf8;            /* else ASCII only */
};

/* Errors stay in `out`, or are the report's own: check both. */
void text_report(const struct report *r, const struct text_style *style, struct strbuf *out);

#endif
