/* SPDX-License-Identifier: Apache-2.0 */
#include "load/parts_report.h"

#include <math.h>

#include "load/parts.h"
#include "report/human.h"

/*
 * Computes the mean of each part of the latency ("client queue", "transmit" ...) over the requests
 * in rows [from, to) of `res->parts`; the means sum to the mean latency. A part without any time
 * stamp is NaN (stamped distances are at least 1 ns). The time of requests without stamps counts as
 * unexplained, so the other parts may be too small, but not too large. Returns the number of
 * requests.
 */
static uint64_t parts_report_means(const struct load_result *res, uint32_t from, uint32_t to,
			   double out[LOAD_PARTS])
{
	uint64_t count = 0;

	for (int part = 0; part < LOAD_PARTS; part++)
		out[part] = 0;
	for (uint32_t i = from; i < to; i++) {
		count += res->parts[i].count;
		for (int part = 0; part < LOAD_PARTS; part++)
			out[part] += (double)res->parts[i].ns[part];
	}
	if (!(out[PART_RECEIVE] > 0))
		out[PART_RECEIVE] = out[PART_WAKEUP] = NAN;
	if (!(out[PART_TRANSMIT] > 0))
		out[PART_TRANSMIT] = NAN;
	if (!(out[PART_WIRE_SERVER] > 0))
		out[PART_WIRE_SERVER] = NAN;
	for (int part = 0; part < LOAD_PARTS; part++)
		out[part] /= count ? (double)count : 1;
	return count;
}

static void parts_report_row(const struct load_result *res, const char *of, uint32_t from,
			     uint32_t to, struct table *t)
{
	double means[LOAD_PARTS], whole = 0;
	struct value cells[3 + LOAD_PARTS];
	uint64_t count = parts_report_means(res, from, to, means);

	if (!count)
		return;
	cells[0] = value_string(of);
	cells[1] = value_u64(count);
	for (int part = 0; part < LOAD_PARTS; part++) {
		if (isnan(means[part])) {
			cells[3 + part] = value_null();
			continue;
		}
		cells[3 + part] = value_ns((uint64_t)llround(means[part]));
		whole += means[part];
	}
	cells[2] = value_ns((uint64_t)llround(whole));
	table_add(t, cells, ARRAY_LEN(cells));
}

void parts_report(const struct load_analysis *a, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "of" }, { .name = "count" }, { .name = "mean_ns" },
		{ .name = "client_queue_ns" }, { .name = "transmit_ns" },
		{ .name = "wire_server_ns" }, { .name = "receive_ns" }, { .name = "wakeup_ns" },
		{ .name = "unexplained_ns" },
	};
	static const char *const names[REPORT_QUANTILES] = { "p50", "p90", "p99", "p99.9" };
	const struct load_result *res = &a->result;
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	struct hist_quantile found;

	if (a->config.loop == LOOP_CLOSED || !res->pooled[LOAD_INTENDED].count) {
		object_add(&r->body, "parts", value_null());
		return;
	}
	parts_report_row(res, "all", 0, SERIES_PART_ROWS, t);
	for (int i = 0; i < REPORT_QUANTILES; i++) {
		uint32_t row;

		if (hist_quantile(&res->pooled[LOAD_INTENDED], res->q[i], &found))
			continue;
		row = series_part_row(found.value);
		parts_report_row(res, names[i], row, row + 1, t);
	}
	object_add(&r->body, "parts", value_table(t));
}

const char *parts_report_words(const struct load_analysis *a, double q, struct report *r)
{
	const struct load_result *res = &a->result;
	double means[LOAD_PARTS];
	struct hist_quantile found;
	const char *words = "";
	char buf[HUMAN_MAX];
	uint32_t row;

	/* Parts sum to the latency from the intended send, and to no other latency. */
	if (a->main != LOAD_INTENDED ||
	    hist_quantile(&res->pooled[LOAD_INTENDED], q, &found))
		return words;
	row = series_part_row(found.value);
	parts_report_means(res, row, row + 1, means);
	for (int part = 0; part < LOAD_PARTS; part++) {
		if (!(means[part] >= 0.5))
			continue;
		words = report_format(r, "%s%s%s %s", words ? words : "",
				      words && *words ? " · " : "", load_part_words(part),
				      human_ns(buf, (uint64_t)llround(means[part])));
	}
	return words ? words : "";
}
