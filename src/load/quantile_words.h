/* SPDX-License-Identifier: Apache-2.0 */
/* A quantile in words: its bounds, or the one reason why it has none and what would help. */
#ifndef HOSTLAT_LOAD_QUANTILE_WORDS_H
#define HOSTLAT_LOAD_QUANTILE_WORDS_H

#include "load/analysis.h"

/* Returns where the bounds hold, as JSON has it: "server", or "run" for this run only. */
const char *load_quantile_scope(const struct load_quantile *q);
/* Returns "p99"; the report owns the text, as that of the functions below. */
const char *load_quantile_name(struct report *r, double q);

/* Returns "412 µs [408, 417]", "at most 410 µs (372 observed)" or "372 µs observed". */
const char *load_quantile_value(const struct load_quantile *quantile, struct report *r);

/*
 * Returns the value as part of a sentence: "412 µs", "at most 410 µs", "about 372 µs", and with
 * `bounds` "412 µs [408, 417]".
 */
const char *load_quantile_short(const struct load_quantile *quantile, bool bounds,
				struct report *r);

/* Returns the reason, such as "needs about 130,000 requests"; NULL if both bounds exist. */
const char *load_quantile_why(const struct load_quantile *quantile, struct report *r);

/* Returns the line of a quantile: name, value, confidence and reason. */
const char *load_quantile_line(const struct load_analysis *analysis, enum load_from from, double q,
			       struct report *r);

#endif
