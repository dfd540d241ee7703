/* SPDX-License-Identifier: Apache-2.0 */
/* Draws histograms of a few characters, on a common logarithmic axis of whole decades. */
#ifndef HOSTLAT_OUTPUT_SPARK_H
#define HOSTLAT_OUTPUT_SPARK_H

#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "stats/hist.h"

#define SPARK_WIDTH_MIN 12     /* both labels of the axis, and a space between them */
#define SPARK_WIDTH_MAX 24

struct spark_axis {
	int lo, hi;            /* powers of ten, in ns; lo < hi once a value was added */
	size_t width;          /* in characters, at most SPARK_WIDTH_MAX */
};

void spark_axis_init(struct spark_axis *axis);
/* Extends the axis to all values of `h`. */
void spark_axis_add(struct spark_axis *axis, const struct hist *h);
/* Writes the labels of the axis: "1µs    10ms". Writes nothing without data. */
void spark_put_axis(const struct spark_axis *axis, struct strbuf *out);
/* Writes a histogram. Heights are relative to the highest character; any count > 0 is visible. */
void spark_put(const struct spark_axis *axis, const struct hist *h, struct strbuf *out);

#endif
