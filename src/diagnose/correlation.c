/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/correlation.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/sort.h"
#include "diagnose/load_side.h"
#include "event/dict.h"
#include "event/names.h"
#include "stats/rank.h"

static const struct {
	const char *name;
	double q;
	uint64_t least; /* an interval with fewer requests is not used for this quantile */
} quantiles[CORRELATION_QUANTILES] = {
	[CORRELATION_P99] = { "p99", 0.99, 200 },
	[CORRELATION_P90] = { "p90", 0.9, 20 },
};

const char *correlation_quantile_name(enum correlation_quantile quantile)
{
	return quantiles[quantile].name;
}

/* ---- reading the server's recording ---- */

struct stage_reading {
	struct correlation *c;
	struct event_pressure pressure; /* pressure of the interval that is being read */
	uint64_t next;                  /* index of the interval that is being read */
	bool begun;
	struct event_dict *names;
	bool transport_is_socket;       /* STAGE_TRANSPORT of TCP means the socket stage, as in
					 * recordings of hostlat 0.1 */
};

static const struct event_pressure nothing_known = {
	.flags = PRESSURE_NO_BUSY | PRESSURE_NO_STALL | PRESSURE_NO_PACKETS,
};

static bool correlation_selects(const struct event_hist *h)
{
	return h->stage != STAGE_NONE && h->stage < STAGE_MAX && h->direction < DIR_MAX &&
	       h->protocol < PROTO_MAX && h->origin < ORIGIN_MAX &&
	       h->schema >= BUCKET_SCHEMA_MIN && h->schema <= BUCKET_SCHEMA_MAX &&
	       (h->dist == DIST_LATENCY || h->dist == DIST_CPU_WAIT);
}

/*
 * Returns the series of a histogram's stage, created if needed. NULL: *err is set, or is 0 if there
 * are more than CORRELATION_STAGES series (recordings have about a dozen).
 */
static struct stage_series *correlation_stage_series(const struct stage_reading *side,
						     const struct event_hist *h, int *err)
{
	struct correlation *c = side->c;
	struct stage_series s = { .stage = h->stage, .direction = h->direction,
				  .protocol = h->protocol, .origin = h->origin, .dist = h->dist };

	if (side->transport_is_socket && s.stage == STAGE_TRANSPORT && s.protocol == PROTO_TCP)
		s.stage = STAGE_SOCKET;

	*err = 0;
	vec_for_each(&c->stages, known)
		if (known->stage == s.stage && known->direction == s.direction &&
		    known->protocol == s.protocol && known->origin == s.origin &&
		    known->dist == s.dist)
			return known;
	hist_init(&s.now, LATENCY_SCHEMA);
	vec_init(&s.points, CORRELATION_MAX);
	*err = vec_push(&c->stages, s);
	if (*err)
		*err = *err == -E2BIG ? 0 : *err;
	else
		return vec_last(&c->stages);
	return NULL;
}

/*
 * Adds a histogram to the series of its stage and origin, which sums the histograms of all groups.
 * Returns 0 or -errno.
 */
static int correlation_add_hist(struct stage_reading *side, const struct event *event)
{
	const struct event_hist *delta = event->payload;
	const struct event_bucket *buckets = (const struct event_bucket *)(delta + 1);
	struct stage_series *series;
	int err = 0;

	if (!correlation_selects(delta))
		return 0;
	series = correlation_stage_series(side, delta, &err);
	if (!series)
		return err;
	if (delta->schema < series->now.schema)
		hist_downscale(&series->now, delta->schema);
	for (uint32_t i = 0; i < delta->n && !err; i++) {
		err = hist_add_scaled(&series->now, delta->schema, buckets[i].index,
				      buckets[i].count);
		if (err == -ERANGE)
			err = 0; /* skip an invalid bucket index, which no value can have */
	}
	hist_add_zero(&series->now, delta->zero);
	hist_add_over(&series->now, delta->over);
	hist_add_stats(&series->now, delta->sum_ns, delta->min_ns, delta->max_ns);
	return err;
}

static struct point correlation_point(const struct hist *hist)
{
	struct point p = { .count = hist->count };
	struct hist_quantile at;

	for (int q = 0; q < CORRELATION_QUANTILES; q++)
		if (!hist_quantile(hist, quantiles[q].q, &at))
			p.ns[q] = (double)at.value;
	return p;
}

/*
 * Ends the interval of a series: appends its point. Intervals before the series' first histogram
 * get empty points. Returns 0 or -errno.
 */
static int correlation_end_interval(struct stage_series *series, size_t intervals)
{
	int err = vec_reserve(&series->points, intervals);

	while (!err && series->points.len + 1 < intervals)
		vec_push(&series->points, (struct point){ 0 });
	if (!err)
		vec_push(&series->points, correlation_point(&series->now));
	hist_reset(&series->now);
	return err;
}

static int correlation_add_interval(struct stage_reading *side, const struct event *event)
{
	struct correlation *c = side->c;
	struct event_interval e;
	struct stretch s = { .pressure = side->pressure };
	int err;

	event_copy(event, &e, sizeof(e));
	s.from = e.from_ns;
	s.to = e.to_ns;
	s.ncpus = e.ncpus;
	s.sound = !side->begun || e.seq == side->next;
	side->next = e.seq + 1;
	side->begun = true;
	side->pressure = nothing_known;
	if (s.to <= s.from || (c->stretches.len && s.from < vec_last(&c->stretches)->to)) {
		vec_for_each(&c->stages, series)
			hist_reset(&series->now);
		return 0; /* skipped: intervals must be in order of time to be searched */
	}
	hist_init(&s.requests, LATENCY_SCHEMA);
	err = vec_push(&c->stretches, s);
	vec_for_each(&c->stages, series)
		if (!err)
			err = correlation_end_interval(series, c->stretches.len);
	return err;
}

static void correlation_add_binding(struct stage_reading *side, const struct event_binding *b)
{
	const char *hook = event_dict_get(side->names, DICT_STRING, b->hook);

	side->transport_is_socket |= stage_was_socket(b->stage, b->protocol, hook);
}

static int correlation_add_event(struct stage_reading *side, const struct event *event)
{
	switch (event->kind) {
	case EV_NAME:
		return event_dict_set(side->names, event) == -ENOMEM ? -ENOMEM : 0;
	case EV_BINDING:
		correlation_add_binding(side, event->payload);
		return 0;
	case EV_HIST:
		return correlation_add_hist(side, event);
	case EV_PRESSURE:
		side->pressure = *(const struct event_pressure *)event->payload;
		return 0;
	case EV_INTERVAL:
		return correlation_add_interval(side, event);
	default:
		return 0;
	}
}

static int correlation_read_server(struct correlation *c, struct event_reader *reader)
{
	const struct event_window window = { .kind = EV_NONE, .core = EVENT_CORE_NONE,
					     .to = UINT64_MAX };
	struct stage_reading side = {
		.c = c, .pressure = nothing_known, .names = event_dict_new(),
	};
	struct event_source *source = event_reader_source(reader);
	int err = side.names ? event_source_seek(source, &window) : -ENOMEM;
	struct event_block block;
	struct event event;

	while (!err && (err = event_source_next(source, &block)) > 0) {
		size_t at = 0;

		err = 0;
		while (!err && !block.record_size && event_block_next(&block, &at, &event))
			err = correlation_add_event(&side, &event);
	}
	event_dict_free(side.names);
	return err == -E2BIG ? 0 : err; /* -E2BIG: as many intervals as fit, which are enough */
}

/* ---- reading the load ---- */

/* Returns the interval in which a request was completed; NULL: none. */
static struct stretch *correlation_stretch_at(const struct correlation *c, uint64_t time)
{
	const size_t low = sort_first(i, 0, c->stretches.len, c->stretches.items[i].to >= time);

	if (low == c->stretches.len || c->stretches.items[low].from >= time)
		return NULL;
	return &c->stretches.items[low];
}

static int correlation_add_sample(struct correlation *c, const struct event_block *block,
				  uint32_t i)
{
	struct event_sample sample;
	struct stretch *stretch;

	event_block_copy(block, i, &sample, sizeof(sample));
	if (!request_counts(&sample))
		return 0;
	if (sample.intended < c->first)
		c->first = sample.intended;
	if (sample.done > c->last)
		c->last = sample.done;
	stretch = correlation_stretch_at(c, sample.done);
	return stretch ? hist_record(&stretch->requests, sample.done - sample.intended) : 0;
}

static int correlation_read_load(struct correlation *c, struct event_reader *reader)
{
	struct event_source *source = event_reader_source(reader);
	int err = event_source_rewind(source);
	struct event_block block;

	c->first = UINT64_MAX;
	while (!err && (err = event_source_next(source, &block)) > 0) {
		err = 0;
		for (uint32_t i = 0; block.kind == EV_SAMPLE && i < block.count && !err; i++)
			err = correlation_add_sample(c, &block, i);
	}
	return err;
}

/* ---- choice of intervals and quantile ---- */

/* Returns true for a complete interval with enough requests for the quantile. */
static bool correlation_is_usable(const struct correlation *c, const struct stretch *s,
				  enum correlation_quantile q)
{
	return s->sound && s->from >= c->first && s->to <= c->last &&
	       s->requests.count >= quantiles[q].least;
}

static uint32_t correlation_count_usable(const struct correlation *c, enum correlation_quantile q)
{
	uint32_t n = 0;

	vec_for_each(&c->stretches, s)
		n += correlation_is_usable(c, s, q);
	return n;
}

/*
 * Chooses p99 if at least CORRELATION_MIN intervals have enough requests for it, and three quarters
 * of those that p90 could use; else p90. Returns false if too few intervals are left.
 */
static bool correlation_choose(struct correlation *c)
{
	const uint32_t fine = correlation_count_usable(c, CORRELATION_P99);
	const uint32_t coarse = correlation_count_usable(c, CORRELATION_P90);

	c->quantile = fine >= CORRELATION_MIN && fine * 4 >= coarse * 3 ? CORRELATION_P99 :
									 CORRELATION_P90;
	c->intervals = c->quantile == CORRELATION_P99 ? fine : coarse;
	if (c->intervals >= CORRELATION_MIN)
		return true;
	c->why = "too few intervals of the recording are within the load and have enough requests";
	return false;
}

/* ---- correlation of each series ---- */

static const char *const host_names[] = { "cpu busy", "cpu pressure", "packets" };

enum host_series { HOST_BUSY, HOST_PRESSURE, HOST_PACKETS, HOST_SERIES };

/* Returns the host's CPU use, CPU pressure or packets per second in the interval; NaN: unknown. */
static double correlation_host_value(const struct stretch *s, enum host_series series)
{
	static const uint32_t unknown[HOST_SERIES] = {
		[HOST_BUSY] = PRESSURE_NO_BUSY, [HOST_PRESSURE] = PRESSURE_NO_STALL,
		[HOST_PACKETS] = PRESSURE_NO_PACKETS,
	};
	const double length = (double)(s->to - s->from);

	if (s->pressure.flags & unknown[series])
		return NAN;
	switch (series) {
	case HOST_BUSY:
		return s->ncpus ? (double)s->pressure.busy_ns / length / s->ncpus : NAN;
	case HOST_PRESSURE:
		return (double)s->pressure.stall_ns / length;
	default:
		return (double)s->pressure.packets * (double)NS_PER_S / length;
	}
}

static double correlation_stage_value(const struct correlation *c, const struct stage_series *s,
				      size_t at)
{
	/* No value if the series ended before this interval, or has few packets in it. */
	if (at >= s->points.len || s->points.items[at].count < quantiles[c->quantile].least / 2)
		return NAN;
	return s->points.items[at].ns[c->quantile];
}

static double correlation_request_value(const struct correlation *c, const struct stretch *s)
{
	return correlation_point(&s->requests).ns[c->quantile];
}

/*
 * Fills in a series' values in the used intervals. Returns true if all are known and not all are
 * equal.
 */
static bool correlation_fill(const struct correlation *c, const struct stage_series *stage,
			     enum host_series host, double *out, const char **why)
{
	bool varies = false;
	size_t n = 0;

	for (size_t i = 0; i < c->stretches.len; i++) {
		const struct stretch *s = &c->stretches.items[i];

		if (!correlation_is_usable(c, s, c->quantile))
			continue;
		out[n] = stage ? correlation_stage_value(c, stage, i)
			       : correlation_host_value(s, host);
		if (isnan(out[n])) {
			*why = stage ? "too few packets in some interval" :
				       "the value was not recorded";
			return false;
		}
		varies |= out[n++] != out[0];
	}
	*why = varies ? NULL : "the value was the same in all intervals";
	return varies;
}

static int correlation_order_by_stage(const void *a, const void *b)
{
	const struct stage_series *x = a, *y = b;
	const int order[] = {
		x->direction - y->direction, x->protocol - y->protocol, x->dist - y->dist,
		(int)stage_place(x->stage) - (int)stage_place(y->stage), x->origin - y->origin,
	};

	for (size_t i = 0; i < ARRAY_LEN(order); i++)
		if (order[i])
			return order[i];
	return 0;
}

static void correlation_name_stage(const struct stage_series *s, char *out, size_t size)
{
	if (s->dist == DIST_CPU_WAIT)
		snprintf(out, size, "%s %s", protocol_name(s->protocol), dist_name(s->dist));
	else
		snprintf(out, size, "%s %s since %s", protocol_name(s->protocol),
			 stage_name(s->stage), origin_name(s->origin));
}

static int correlation_add_series(struct correlation *c, const struct stage_series *stage,
				  enum host_series host, double *values, size_t *rows)
{
	struct correlate s = { .stage = stage != NULL };

	if (stage)
		correlation_name_stage(stage, s.name, sizeof(s.name));
	else
		snprintf(s.name, sizeof(s.name), "%s", host_names[host]);
	s.unit = stage ? "ns" : host == HOST_PACKETS ? "1/s" : "fraction";
	s.known = correlation_fill(c, stage, host, values + *rows * c->intervals, &s.why);
	*rows += s.known;
	return vec_push(&c->series, s);
}

static int correlation_compute_one(struct correlation *c, const double *requests,
				   const double *values, size_t rows)
{
	struct spearman *found = calloc(rows + 1, sizeof(*found));
	int err = found ? 0 : -ENOMEM;
	size_t row = 0;

	if (!err && rows)
		err = spearman_shifts(requests, values, rows, c->intervals, found);
	if (err == -EDOM) {
		c->known = false;
		c->why = "the requests' quantile was the same in all intervals";
	}
	vec_for_each(&c->series, s) {
		if (err || !s->known)
			continue;
		s->rho = found[row].rho;
		s->p = found[row++].p;
		s->significant = s->p <= CORRELATION_ALPHA;
	}
	free(found);
	return err == -EDOM ? 0 : err;
}

static int correlation_compute(struct correlation *c)
{
	const size_t most = c->stages.len + HOST_SERIES;
	double *values = calloc((most + 1) * c->intervals, sizeof(*values));
	double *requests;
	size_t rows = 0, n = 0;
	int err = 0;

	if (!values)
		return -ENOMEM;
	requests = values + most * c->intervals;
	vec_for_each(&c->stretches, s)
		if (correlation_is_usable(c, s, c->quantile))
			requests[n++] = correlation_request_value(c, s);
	vec_for_each(&c->stages, stage)
		if (!err)
			err = correlation_add_series(c, stage, 0, values, &rows);
	for (enum host_series h = 0; h < HOST_SERIES && !err; h++)
		err = correlation_add_series(c, NULL, h, values, &rows);
	if (!err)
		err = correlation_compute_one(c, requests, values, rows);
	free(values);
	return err;
}

/* ---- complete analysis ---- */

int correlation_new(struct correlation **out, struct event_reader *server,
		    struct event_reader *load)
{
	struct correlation *c = *out = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	vec_init(&c->stretches, CORRELATION_MAX);
	vec_init(&c->stages, CORRELATION_STAGES);
	vec_init(&c->series, CORRELATION_STAGES + HOST_SERIES);
	err = correlation_read_server(c, server);
	if (!err)
		err = correlation_read_load(c, load);
	if (c->stages.len)
		qsort(c->stages.items, c->stages.len, sizeof(*c->stages.items),
		      correlation_order_by_stage);
	c->known = !err && correlation_choose(c);
	return c->known ? correlation_compute(c) : err;
}

void correlation_free(struct correlation *c)
{
	if (!c)
		return;
	vec_for_each(&c->stretches, s)
		hist_release(&s->requests);
	vec_for_each(&c->stages, s) {
		hist_release(&s->now);
		vec_release(&s->points);
	}
	vec_release(&c->stretches);
	vec_release(&c->stages);
	vec_release(&c->series);
	free(c);
}
