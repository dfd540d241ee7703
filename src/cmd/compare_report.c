/* SPDX-License-Identifier: Apache-2.0 */
/* The result of `compare`. Each analysis compares its own data. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/bug.h"
#include "cmd/compare_sides.h"
#include "report/calibration.h"
#include "report/human.h"
#include "report/times.h"

/* ---- the recordings ---- */

static uint64_t compare_duration_ns(const struct compare_sides *in, int which, size_t i)
{
	const struct compare_input *one = &in->sides[which].inputs[i];
	struct load_status status;

	if (in->messages)
		return comparison_duration_ns(in->messages, which, i);
	if (one->stages)
		return watch_run_duration_ns(one->watch);
	if (in->conns)
		return conns_run_duration_ns(one->conns);
	if (!in->load)
		return 0;
	load_analysis_status(one->consumer.analysis, &status);
	return status.elapsed_ns;
}

static struct value compare_known_ns(uint64_t ns)
{
	return ns ? value_ns(ns) : value_null();
}

static struct value compare_host(const struct compare_input *one, struct report *r)
{
	return value_string(*one->run.host ? report_format(r, "%s", one->run.host) : NULL);
}

static struct value compare_messages(const struct compare_sides *in, int which, size_t i)
{
	return in->messages ? value_u64(comparison_messages(in->messages, which, i)) :
	       in->sides[which].inputs[i].messages ? value_null() : value_u64(0);
}

static void compare_add_recording(const struct compare_sides *in, int which, struct report *r)
{
	const struct compare_input *one = &in->sides[which].inputs[0];
	const struct times *times = watch_run_times(one->watch);
	struct object *o = object_new(r);

	object_add(o, "file", value_string(report_format(r, "%s", one->file)));
	object_add(o, "host", compare_host(one, r));
	object_add(o, "started_ns", compare_known_ns(one->run.started_ns));
	times_add_span(times, o, times->clocks.begin_ns, times->clocks.end_ns);
	object_add(o, "duration_ns", compare_known_ns(compare_duration_ns(in, which, 0)));
	object_add(o, "messages", compare_messages(in, which, 0));
	object_add(&r->body, which ? "b" : "a", value_object(o));
}

static const struct column recording_columns[] = {
	{ "file", NULL, 0, 0 },	       { "host", NULL, 0, 0 },	   { "started_ns", NULL, 0, 0 },
	{ "duration_ns", NULL, 0, 0 }, { "messages", NULL, 0, 0 },
};

/* Adds the recordings of a side that has several. */
static void compare_add_recordings(const struct compare_sides *in, int which, struct report *r)
{
	const struct compare_side *side = &in->sides[which];
	struct table *t = table_new(r, recording_columns, ARRAY_LEN(recording_columns));
	struct object *o = object_new(r);

	for (size_t i = 0; i < side->n; i++) {
		const struct compare_input *one = &side->inputs[i];

		TABLE_ADD(t, value_string(report_format(r, "%s", one->file)), compare_host(one, r),
			  compare_known_ns(one->run.started_ns),
			  compare_known_ns(compare_duration_ns(in, which, i)),
			  compare_messages(in, which, i));
	}
	object_add(o, "recordings", value_table(t));
	object_add(&r->body, which ? "b" : "a", value_object(o));
}

static void compare_add_side(const struct compare_sides *in, int which, struct report *r)
{
	if (in->sides[which].n == 1)
		compare_add_recording(in, which, r);
	else
		compare_add_recordings(in, which, r);
}

/* Returns "before.hlat", or "3 recordings (before-1.hlat to before-3.hlat)". */
static const char *compare_side_words(const struct compare_side *side, struct report *r)
{
	if (side->n == 1)
		return side->inputs[0].file;
	return report_format(r, "%zu recordings (%s to %s)", side->n, side->inputs[0].file,
			     side->inputs[side->n - 1].file);
}

static uint64_t compare_count_messages(const struct compare_sides *in, int which)
{
	uint64_t count = 0;

	for (size_t i = 0; i < in->sides[which].n; i++)
		count += comparison_messages(in->messages, which, i);
	return count;
}

static void compare_add_title(const struct compare_sides *in, struct report *r)
{
	char a[HUMAN_MAX], b[HUMAN_MAX];

	report_title(r, "A: %s, B: %s", compare_side_words(&in->sides[0], r),
		     compare_side_words(&in->sides[1], r));
	if (in->messages)
		report_summary(r, "%s and %s messages",
			       human_count(a, compare_count_messages(in, 0)),
			       human_count(b, compare_count_messages(in, 1)));
	for (int which = 0; which < 2; which++) {
		const struct compare_side *side = &in->sides[which];
		const struct times *t = watch_run_times(side->inputs[0].watch);

		if (side->n == 1)
			times_add_span_text(t, r, which ? "B: " : "A: ", t->clocks.begin_ns,
					    t->clocks.end_ns);
	}
}

/* ---- data of one side only ---- */

static void compare_report_only(bool a, bool b, const char *what, struct report *r)
{
	if (a != b)
		report_finding(r, "Only %s has %s.", a ? "A" : "B", what);
}

/* Returns whether all of the side's recordings could have had connections, but none was seen. */
static bool compare_side_missed_conns(const struct compare_side *side)
{
	for (size_t i = 0; i < side->n; i++)
		if (!side->inputs[i].conns || side->inputs[i].from.scope.no_tcp)
			return false;
	return true;
}

/*
 * Reports that only one side has connections. A recording of connections without any is not one of
 * a run without connections: they were not seen.
 */
static void compare_report_only_conns(const struct compare_side *a, const struct compare_side *b,
				      struct report *r)
{
	if (a->conns == b->conns)
		return;
	if (compare_side_missed_conns(a->conns ? b : a))
		report_finding(r, "The connections of %s were not seen: what limits connections is "
			       "not compared.", a->conns ? "B" : "A");
	else
		compare_report_only(a->conns, b->conns, "connections", r);
}

void compare_side_add_damage(const struct compare_side *side, struct report *r)
{
	for (size_t i = 0; i < side->n; i++) {
		const struct compare_input *one = &side->inputs[i];
		struct strbuf evidence = STRBUF_INIT(1024);

		event_damage_put(&one->damage, &evidence);
		if (evidence.len && side->n == 1)
			report_reason(r, "damaged", strbuf_str(&evidence), "%s: the recording is "
				      "damaged: the readable part is compared", side->name);
		else if (evidence.len)
			report_reason(r, "damaged", strbuf_str(&evidence), "%s: the recording %s "
				      "is damaged: the readable part is compared", side->name,
				      one->file);
		strbuf_release(&evidence);
	}
}

/* ---- each analysis ---- */

static int compare_add_load_reasons(struct compare_side *side, struct report *r)
{
	int err = 0;

	for (size_t i = 0; !err && i < side->n; i++) {
		struct load_consumer *consumer = &side->inputs[i].consumer;
		struct report own;

		report_init(&own, &r->provenance);
		err = load_consumer_report(consumer, &own);
		difference_add_reasons(r, &own, side->name);
		report_release(&own);
		if (!err && (consumer->unwritten || !load_consumer_ended(consumer)))
			report_reason(r, "recording-incomplete", NULL,
				      "%s: the recording stops before the end of the run",
				      side->name);
	}
	return err;
}

static int compare_add_load(struct compare_sides *in, struct report *r,
			    struct difference_tally *tally)
{
	const struct load_compared a = compare_side_load(&in->sides[0]),
			       b = compare_side_load(&in->sides[1]);
	int err = load_compare_report(&a, &b, r, tally);

	for (int which = 0; !err && which < 2; which++)
		err = compare_add_load_reasons(&in->sides[which], r);
	return err;
}

static struct watch_side compare_side_watch(const struct compare_side *side)
{
	struct watch_side runs = { .n = side->n };

	for (size_t i = 0; i < side->n; i++)
		runs.runs[i] = side->inputs[i].watch;
	return runs;
}

static int compare_add_stages(struct compare_sides *in, struct report *r,
			      struct difference_tally *tally)
{
	const struct watch_side a = compare_side_watch(&in->sides[0]),
				b = compare_side_watch(&in->sides[1]);

	return watch_compare_report(&a, &b, r, tally);
}

static struct conns_side compare_side_conns(const struct compare_side *side)
{
	struct conns_side runs = { .n = side->n };

	for (size_t i = 0; i < side->n; i++)
		runs.runs[i] = side->inputs[i].conns;
	return runs;
}

static int compare_add_conns(struct compare_sides *in, struct report *r,
			     struct difference_tally *tally)
{
	const struct conns_side a = compare_side_conns(&in->sides[0]),
				b = compare_side_conns(&in->sides[1]);

	return conns_compare_report(&a, &b, r, tally);
}

/* ---- method ---- */

static bool compare_is_of_two(const struct compare_sides *in)
{
	return in->sides[0].n == 1 && in->sides[1].n == 1;
}

/* How much recordings of one side differ in p99, and which change would be found. */
struct compare_deviation {
	const char *of;                /* NULL: unknown */
	double deviation, found;
};

static struct compare_deviation compare_deviation_of(const struct difference_series *a,
						     const struct difference_series *b,
						     const char *of)
{
	struct compare_deviation d = { .of = of };

	d.found = calibration_found(a, b, &d.deviation);
	return isfinite(d.found) ? d : (struct compare_deviation){ 0 };
}

static int compare_get_deviation(const struct compare_sides *in, struct compare_deviation *out)
{
	struct load_series_of_runs *a = NULL, *b = NULL;
	int err = 0;

	*out = (struct compare_deviation){ 0 };
	if (compare_is_of_two(in))
		return 0;
	if (in->load) {
		const struct load_compared runs_a = compare_side_load(&in->sides[0]),
				       runs_b = compare_side_load(&in->sides[1]);

		err = load_series_new(&a, &runs_a);
		if (!err)
			err = load_series_new(&b, &runs_b);
		if (!err)
			*out = compare_deviation_of(load_series_get(a), load_series_get(b),
						    "requests");
		load_series_free(a);
		load_series_free(b);
	} else if (in->messages) {
		*out = compare_deviation_of(comparison_series(in->messages, 0),
					    comparison_series(in->messages, 1), "messages");
	}
	return err == -ENOMEM ? err : 0;
}

static void compare_say_deviation(const struct compare_deviation *d, struct report *r)
{
	report_finding(r, "Recordings of one side differ in the %s' p99 by %s (one standard "
		       "deviation): with as many of them, 9 of 10 comparisons find a change by %s "
		       "or more.", d->of, calibration_change_words(r, expm1(d->deviation)),
		       calibration_change_words(r, d->found));
}

static int compare_add_method(const struct compare_sides *in, const struct difference_tally *tally,
			      struct report *r)
{
	const bool of_two = compare_is_of_two(in);
	struct object *o = object_new(r);
	struct compare_deviation d;
	int err = compare_get_deviation(in, &d);

	object_add(o, "recordings_a", value_u64(in->sides[0].n));
	object_add(o, "recordings_b", value_u64(in->sides[1].n));
	object_add(o, "variance", value_string(of_two ? "within-recording" : "between-recordings"));
	object_add(o, "least_effect", value_fraction(DIFFERENCE_LEAST));
	object_add(o, "tested", value_u64(tally->tested));
	object_add(o, "significant", value_u64(tally->significant));
	object_add(o, "p99_of", value_string(d.of));
	object_add(o, "p99_deviation", d.of ? value_fraction(d.deviation) : value_null());
	object_add(o, "p99_found", d.of ? value_fraction(d.found) : value_null());
	object_add(&r->body, "method", value_object(o));
	if (d.of)
		compare_say_deviation(&d, r);
	else if (of_two && tally->significant)
		report_finding(r, "Significant between these two recordings; how much two "
			       "recordings of one set-up differ was not measured: give several per "
			       "side (--a, --b).");
	return err;
}

/* Adds the set-up facts of all recordings that differ. Moves them to the first of each side. */
static int compare_add_facts(struct compare_sides *in, struct report *r)
{
	int err = 0;

	for (int which = 0; !err && which < 2; which++)
		for (size_t i = 1; !err && i < in->sides[which].n; i++)
			err = compare_facts_move(&in->sides[which].inputs[i].facts,
						 &in->sides[which].inputs[0].facts);
	if (!err)
		compare_facts_report(&in->sides[0].inputs[0].facts, &in->sides[1].inputs[0].facts,
				     r);
	return err;
}

/* ---- headline ---- */

/* Returns "; new in B: gzip (4 processes)"; "" if no command is new. */
static const char *compare_new_words(struct report *r)
{
	const struct table *t = object_table(&r->body, "new_commands");
	const struct value *cells = t && t->first ? t->first->cells : NULL;

	if (!cells || cells[0].type != VALUE_STRING)
		return "";
	if (cells[1].u64 < 2)
		return report_format(r, "; new in B: %s", cells[0].string);
	return report_format(r, "; new in B: %s (%" PRIu64 " processes)", cells[0].string,
			     cells[1].u64);
}

/* Makes the first finding the headline: it is of what comes first, the requests. */
static void compare_add_headline(struct report *r)
{
	const char *first = r->findings.first ? r->findings.first->string : NULL;
	const int len = first ? (int)strlen(first) - 1 : 0;

	if (first && len > 0)
		report_headline(r, "%.*s%s.", len, first, compare_new_words(r));
	else
		report_headline(r, "A and B cannot be compared.");
}

int compare_sides_report(struct compare_sides *in, struct report *r)
{
	const struct compare_side *a = &in->sides[0], *b = &in->sides[1];
	struct difference_tally tally = { 0 };
	int err = 0;

	compare_add_title(in, r);
	compare_add_side(in, 0, r);
	compare_add_side(in, 1, r);
	report_place_findings(r);
	/* Requests come first: they are the latency that users see. */
	if (in->load)
		err = compare_add_load(in, r, &tally);
	if (!err && in->messages)
		err = comparison_report(in->messages, r, &tally);
	if (!err && in->stages)
		err = compare_add_stages(in, r, &tally);
	if (!err && in->conns)
		err = compare_add_conns(in, r, &tally);
	compare_report_only(a->messages, b->messages, "messages", r);
	compare_report_only(a->stages, b->stages, "latencies by stage", r);
	compare_report_only(a->load, b->load, "requests of a load generator", r);
	compare_report_only_conns(a, b, r);
	if (!err)
		err = compare_add_method(in, &tally, r);
	if (!err)
		err = compare_add_facts(in, r);
	if (!in->messages && !in->stages && !in->load && !in->conns)
		report_reason(r, "nothing-in-common", NULL,
			      "there is nothing that %s recordings measured",
			      compare_is_of_two(in) ? "both" : "all");
	compare_side_add_damage(a, r);
	compare_side_add_damage(b, r);
	compare_add_headline(r);
	report_place_verdict(r);
	return err ? err : report_error(r);
}
