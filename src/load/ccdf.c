/* SPDX-License-Identifier: Apache-2.0 */
#include "load/ccdf.h"

#include <inttypes.h>
#include <math.h>

#include "stats/bucket_edges.h"
#include "stats/special.h"

static const double depths[CCDF_DEPTHS] = { 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99 };

/*
 * Returns half the width of the band, if all samples depended on each other as much as at the
 * quantile of interval `i`.
 */
static double ccdf_half_width(const struct interval *i, uint64_t n, double confidence)
{
	const double c = sqrt(2 * log(2 / (1 - confidence)));
	const double widened = -student_quantile(normal_sf(c), i->df);

	return widened / 2 * sqrt(i->inflation / (double)n);
}

int ccdf_band(const struct interval_range *range, double confidence, struct ccdf_band *out)
{
	struct ccdf_band band = { 0 };
	struct interval i;

	*out = band;
	for (int k = 0; k < CCDF_DEPTHS; k++) {
		int err = interval_of(range, depths[k], confidence, &i);

		if (err)
			return err;
		if (i.why == INTERVAL_NO_SAMPLES || i.why == INTERVAL_FEW_WINDOWS ||
		    i.why == INTERVAL_LONG_DEPENDENCE)
			return 0;
		/* Skips a quantile with too few exceedances for a reliable variance inflation. */
		if (i.exceedances < CCDF_EXCEEDANCES_MIN)
			continue;
		band.half =
			fmax(band.half, ccdf_half_width(&i, i.count + range->failed, confidence));
		band.valid = true;
	}
	*out = band;
	return 0;
}

static struct ccdf_point ccdf_point_at(const struct interval_range *range,
				       const struct ccdf_band *band, uint64_t ns, uint64_t above)
{
	const double all = (double)(range->pooled->count + range->failed);
	const double touched = band->touched ? band->touched(band->context, ns) : 0;

	return (struct ccdf_point){
		.ns = ns, .share = (double)above / (double)range->pooled->count,
		.lo = band->valid ? fmax(0, (double)above / all - band->half - touched) : NAN,
		.hi = band->valid ? fmin(1, (double)(above + range->failed) / all + band->half) :
				    NAN,
	};
}

void ccdf_each(const struct interval_range *range, const struct ccdf_band *band,
	       void (*put)(void *context, const struct ccdf_point *point), void *context)
{
	const struct hist *hist = range->pooled;
	uint64_t n, above = hist->count - hist->zero;
	int32_t index = INT32_MIN;
	struct ccdf_point point;

	if (hist->zero) {
		point = ccdf_point_at(range, band, 0, above);
		put(context, &point);
	}
	while (hist_next(hist, &index, &n)) {
		above -= n;
		point = ccdf_point_at(range, band, bucket_edges_floor(hist->schema, index), above);
		put(context, &point);
	}
}

void ccdf_put_csv(void *context, const struct ccdf_point *point)
{
	struct strbuf *out = context;

	strbuf_printf(out, "%" PRIu64 ",%.9g,", point->ns, point->share);
	if (isnan(point->hi))
		strbuf_puts(out, ",\n");
	else
		strbuf_printf(out, "%.9g,%.9g\n", point->lo, point->hi);
}
