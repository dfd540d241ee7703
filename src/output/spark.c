/* SPDX-License-Identifier: Apache-2.0 */
#include "output/spark.h"

#include <limits.h>
#include <math.h>

#include "base/utf8.h"
#include "report/human.h"
#include "stats/bucket_edges.h"

static const char *const heights[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };

#define HEIGHT_MAX 8
#define DECADE_MAX 19 /* log10 of the largest power of ten in 64 bits */

void spark_axis_init(struct spark_axis *axis)
{
	*axis = (struct spark_axis){ .lo = INT_MAX, .hi = INT_MIN, .width = SPARK_WIDTH_MIN };
}

/* Returns log10 of a time in ns; 0 ns counts as 1 ns. */
static double spark_decade(uint64_t ns)
{
	return ns ? log10((double)ns) : 0;
}

void spark_axis_add(struct spark_axis *axis, const struct hist *h)
{
	int32_t first = INT32_MIN;
	struct hist_quantile last;
	uint64_t count;
	int lo, hi;

	/* Values of 0 are at the axis' left end and do not extend it. */
	if (hist_quantile(h, 1, &last) || !last.hi)
		return;
	hi = (int)ceil(spark_decade(last.hi));
	lo = hist_next(h, &first, &count) ?
		(int)floor(spark_decade(bucket_edges_floor(h->schema, first))) : hi;
	if (hi > DECADE_MAX)
		hi = DECADE_MAX;
	if (hi <= lo)
		hi = lo + 1;
	if (lo < axis->lo)
		axis->lo = lo;
	if (hi > axis->hi)
		axis->hi = hi;
}

static void spark_put_power(struct strbuf *out, int power)
{
	char buf[HUMAN_MAX];
	uint64_t ns = 1;

	while (power-- > 0)
		ns *= 10;
	/* "1.0 µs" becomes "1µs": whole powers need no decimals, and space is scarce. */
	for (const char *s = human_ns(buf, ns); *s; s++) {
		if (s[0] == '.' && s[1] == '0')
			s++;
		else if (*s != ' ')
			strbuf_putc(out, *s);
	}
}

void spark_put_axis(const struct spark_axis *axis, struct strbuf *out)
{
	struct strbuf right = STRBUF_INIT(HUMAN_MAX);
	size_t start = out->len, used;

	if (axis->lo >= axis->hi)
		return;
	spark_put_power(out, axis->lo);
	spark_put_power(&right, axis->hi);
	used = utf8_width(strbuf_str(out) + start) + utf8_width(strbuf_str(&right));
	if (used < axis->width)
		strbuf_fill(out, ' ', axis->width - used);
	strbuf_puts(out, strbuf_str(&right));
	strbuf_release(&right);
}

static size_t spark_cell(const struct spark_axis *axis, uint64_t ns)
{
	double at = (spark_decade(ns) - axis->lo) / (axis->hi - axis->lo) * (double)axis->width;

	if (at < 0)
		return 0;
	return at >= (double)axis->width ? axis->width - 1 : (size_t)at;
}

/* Returns the geometric middle of a bucket, in ns. */
static uint64_t spark_bucket_middle(const struct hist *h, int32_t index)
{
	return (uint64_t)sqrt(bucket_edges_double(h->schema, index - 1) *
			      bucket_edges_double(h->schema, index));
}

void spark_put(const struct spark_axis *axis, const struct hist *h, struct strbuf *out)
{
	uint64_t cells[SPARK_WIDTH_MAX] = { 0 };
	uint64_t count, most = 0;
	int32_t index = INT32_MIN;

	if (axis->lo >= axis->hi)
		return;
	cells[spark_cell(axis, 0)] += h->zero;
	cells[spark_cell(axis, h->max)] += h->over;
	while (hist_next(h, &index, &count))
		cells[spark_cell(axis, spark_bucket_middle(h, index))] += count;
	for (size_t i = 0; i < axis->width; i++)
		most = cells[i] > most ? cells[i] : most;
	for (size_t i = 0; i < axis->width; i++) {
		double share = most ? (double)cells[i] / (double)most : 0;

		strbuf_puts(out, heights[(int)ceil(share * HEIGHT_MAX)]);
	}
}
