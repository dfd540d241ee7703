/* SPDX-License-Identifier: Apache-2.0 */
/* The report as a whole: title, tables, sentences and reasons, in the order of the JSON. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "event/names.h"
#include "report/human.h"
#include "watch/findings.h"
#include "watch/groups.h"
#include "watch/tables.h"

/* ---- the frame ---- */

static void watch_report_interval(const struct watch *w, const struct watch_period *p,
				  struct report *r)
{
	struct object *o = object_new(r);
	bool known = p->intervals;

	object_add(o, "from_ns", value_known_ns(known, p->from_ns));
	object_add(o, "to_ns", value_known_ns(known, p->to_ns));
	object_add(o, "duration_ns", value_known_ns(known, p->to_ns - p->from_ns));
	times_add_span(&w->times, o, p->from_ns, p->to_ns);
	object_add(&r->body, "interval", value_object(o));
}

static void watch_report_clock(const struct watch *w, const struct watch_period *p,
			       struct report *r)
{
	const struct event_clock *c = &w->clock;
	struct object *o = object_new(r);
	bool known = w->clock_known;

	object_add(o, "name", value_string("monotonic"));
	object_add(o, "realtime_minus_mono_ns",
		   known ? value_sns(c->realtime_minus_mono_ns) : value_null());
	object_add(o, "tai_offset_s", known ? value_s64(c->tai_offset_s) : value_null());
	object_add(o, "steps", known ? value_u64(p->clock_steps) : value_null());
	object_add(o, "error_ns", value_known_ns(known, c->error_ns));
	object_add(&r->body, "clock", value_object(o));
}

static bool watch_report_own_fraction(const struct watch_period *p, double *fraction)
{
	if (!p->cpu_ns || p->bpf_cost_unknown)
		return false;
	*fraction = (double)(p->own_user_ns + p->own_bpf_ns) / (double)p->cpu_ns;
	return true;
}

static void watch_report_own_cost(const struct watch *w, const struct watch_period *p,
				  struct report *r)
{
	struct object *o = object_new(r);
	double fraction;
	bool known = watch_report_own_fraction(p, &fraction);

	object_add(o, "user_ns", p->cpu_ns ? value_ns(p->own_user_ns) : value_null());
	object_add(o, "bpf_ns", value_known_ns(known, p->own_bpf_ns));
	object_add(o, "fraction", known ? value_fraction(fraction) : value_null());
	object_add(o, "method", !known ? value_null() :
		   value_string(p->bpf_cost_estimated ? "estimate" : "statistics"));
	object_add(o, "why", p->bpf_cost_unknown && w->cost_unknown ?
		   value_string(w->cost_unknown) : value_null());
	object_add(&r->body, "own_cost", value_object(o));
}

/* Returns the count of the stage that saw the most packets, without --probe, which counts calls. */
static uint64_t watch_report_packets_seen(const struct watch *w, enum watch_span span)
{
	uint64_t counts[STAGE_MAX] = { 0 }, most = 0;

	vec_for_each(&w->rows, row) {
		if (watch_shows(w, (*row)->id.stage) && (*row)->id.stage != STAGE_PROBE &&
		    !watch_before_stack((*row)->id.stage))
			counts[(*row)->id.stage] += (*row)->hists[span][DIST_LATENCY].count;
	}
	for (int stage = 0; stage < STAGE_MAX; stage++)
		most = counts[stage] > most ? counts[stage] : most;
	return most;
}

/*
 * Packets that were not measured. A packet may be lost at each stage, so the sum over stages is no
 * number of packets. `most`: the largest number at one stage; `elsewhere`: other stages lost some,
 * too.
 */
struct watch_lost {
	uint64_t most;
	bool elsewhere;
};

static struct watch_lost watch_report_packets_lost(const struct watch *w, enum watch_span span)
{
	uint64_t counts[STAGE_MAX] = { 0 };
	struct watch_lost lost = { 0 };
	int stages = 0;

	vec_for_each(&w->counts, c) {
		if (c->id.what == COUNT_LOSS && watch_is_counted(w, c))
			counts[c->id.stage] += c->count[span];
	}
	for (int stage = 0; stage < STAGE_MAX; stage++) {
		lost.most = counts[stage] > lost.most ? counts[stage] : lost.most;
		stages += counts[stage] > 0;
	}
	lost.elsewhere = stages > 1;
	return lost;
}

static void watch_report_put_words(struct strbuf *out, unsigned int mask,
				   const char *(*name)(unsigned int))
{
	const char *between = "";

	for (unsigned int i = 0; mask >> i; i++) {
		if (!(mask >> i & 1))
			continue;
		strbuf_printf(out, "%s%s", between, name(i));
		between = row_table_several(mask >> (i + 1)) ? ", " : " and ";
	}
}

static const char *watch_report_protocol(unsigned int protocol)
{
	return protocol == PROTO_TCP ? "TCP" : protocol == PROTO_UDP ? "UDP" : "any protocol";
}

static const char *watch_report_direction(unsigned int direction)
{
	return direction == DIR_EGRESS ? "send" : "receive";
}

/* Adds the title, such as "memcached (pid 4711), TCP, receive, from link". */
static int watch_report_title(const struct watch *w, const struct watch_common *c, struct report *r)
{
	struct strbuf title = STRBUF_INIT(4096);
	unsigned int protocols = c->protocols;
	int err;

	strbuf_puts(&title, w->target ? w->target : "unknown sockets");
	strbuf_puts(&title, ", ");
	if (row_table_several(protocols))
		protocols &= ~(1U << PROTO_ANY);
	watch_report_put_words(&title, protocols, watch_report_protocol);
	strbuf_puts(&title, ", ");
	watch_report_put_words(&title, c->directions ? c->directions : 1U << DIR_INGRESS,
			       watch_report_direction);
	if (c->origins) {
		strbuf_puts(&title, ", from ");
		watch_report_put_words(&title, c->origins, origin_name);
	}
	err = title.error;
	report_title(r, "%s", strbuf_str(&title));
	strbuf_release(&title);
	return err;
}

/* Origins with timestamps of another clock than the monotonic one: conversion has an error. */
#define CONVERTED_ORIGINS (1U << ORIGIN_STACK | 1U << ORIGIN_DELIVER)

/* Adds the field "sample" with the sampling 1/N; null if every packet was measured. */
static void watch_report_sample(const struct watch_period *p, struct report *r)
{
	struct object *o;

	if (p->one_in_max < 2) {
		object_add(&r->body, "sample", value_null());
		return;
	}
	o = object_new(r);
	object_add(o, "one_in", value_u64(p->one_in));
	object_add(o, "one_in_max", value_u64(p->one_in_max));
	object_add(&r->body, "sample", value_object(o));
}

/* Returns true if a shown stage counts packets, unlike `irq` and `poll`. */
static bool watch_report_counts_packets(const struct watch *w)
{
	bool before = false;

	vec_for_each(&w->bindings, b) {
		if (!watch_requested(w, b))
			continue;
		if (!watch_before_stack(b->stage))
			return true;
		before = true;
	}
	return !before;
}

static void watch_report_summary(const struct watch *w, enum watch_span span,
				 const struct watch_common *c, struct report *r)
{
	const struct watch_period *p = &w->periods[span];
	uint64_t packets = watch_report_packets_seen(w, span);
	struct watch_lost lost = watch_report_packets_lost(w, span);
	char buf[HUMAN_MAX];
	double fraction;

	report_summary(r, "%s%s", human_ns(buf, p->to_ns - p->from_ns),
		       span == WATCH_TOTAL && p->intervals > 1 ? " in total" : "");
	if (watch_report_counts_packets(w))
		report_summary(r, "%s%s", p->one_in_max > 1 ? "about " : "",
			       human_counted(buf, packets, "packet"));
	if (p->one_in_max > 1 && p->one_in != p->one_in_max)
		report_summary(r, "one of %" PRIu64 " measured, or fewer", p->one_in);
	else if (p->one_in_max > 1)
		report_summary(r, "one of %" PRIu64 " measured", p->one_in);
	report_summary(r, "%s%s lost%s", lost.elsewhere ? "at most " : "",
		       human_count(buf, lost.most), lost.elsewhere ? " at any one stage" : "");
	if (watch_lacks_drops(w))
		report_summary(r, "drops unknown");
	else if (watch_total(w, span, COUNT_DROP))
		report_summary(r, "%s dropped", human_count(buf, watch_total(w, span, COUNT_DROP)));
	if (watch_report_own_fraction(p, &fraction))
		report_summary(r, "overhead %s%s of all CPUs",
			       p->bpf_cost_estimated ? "about " : "",
			       human_fraction(buf, fraction));
	if (w->clock_known && c->origins & CONVERTED_ORIGINS)
		report_summary(r, "clock ±%s", human_ns(buf, w->clock.error_ns));
	if (p->intervals)
		times_add_span_text(&w->times, r, "", p->from_ns, p->to_ns);
}

/* ---- reasons ---- */

static void watch_report_loss_reason(const struct watch *w, enum watch_span span, struct report *r)
{
	struct watch_lost lost = watch_report_packets_lost(w, span);
	struct strbuf evidence = STRBUF_INIT(4096);
	char buf[HUMAN_MAX];

	if (!lost.most)
		return;
	vec_for_each(&w->counts, c) {
		const char *reason = watch_name(w, DICT_STRING, c->id.reason);

		if (c->id.what == COUNT_LOSS && c->count[span] && watch_is_counted(w, c))
			strbuf_printf(&evidence, "%s%s%s%s: %s", evidence.len ? ", " : "",
				      c->id.stage ? stage_name(c->id.stage) : "",
				      c->id.stage ? " " : "", reason ? reason : "unknown",
				      human_count(buf, c->count[span]));
	}
	report_reason(r, "losses", strbuf_str(&evidence),
		      "%s%s at %s stage should have been measured and %s not",
		      lost.elsewhere ? "at most " : "", human_counted(buf, lost.most, "packet"),
		      lost.elsewhere ? "any one" : "one", lost.most == 1 ? "was" : "were");
	strbuf_release(&evidence);
}

static void watch_report_unbound_reasons(const struct watch *w, struct report *r)
{
	vec_for_each(&w->bindings, b) {
		const char *why = watch_name(w, DICT_STRING, b->why);

		if (b->bound || !watch_requested(w, b) || !watch_is_missed(w, b))
			continue;
		report_reason(r, "stage-not-measured", why, "`%s` (%s, %s) is not measured",
			      stage_name(b->stage), direction_name(b->direction),
			      protocol_name(b->protocol));
	}
}

/* Returns true if a missing hook (WATCH_FACT_MISSING) would help a shown stage. */
static bool watch_report_helps_shown(const struct watch *w, const char *missing)
{
	char *end;
	const unsigned long stages = strtoul(missing, &end, 16);

	for (unsigned int i = 0; *end == ' ' && i < STAGE_MAX; i++)
		if (stages >> i & 1 && watch_shows(w, i))
			return true;
	return false;
}

static void watch_report_stream_reasons(const struct watch *w, enum watch_span span,
					struct report *r)
{
	const struct watch_period *p = &w->periods[span];
	struct strbuf evidence = STRBUF_INIT(1024);
	char buf[HUMAN_MAX];

	vec_for_each(&w->missing, hook)
		if (watch_report_helps_shown(w, *hook))
			report_reason(
				r, "hook-missing", strchr(*hook, ' ') + 1,
				"a hook is missing: some numbers may be incomplete or less exact");
	vec_for_each(&w->uncovered, name)
		report_reason(r, "namespace-not-covered", *name,
			      "a network namespace was not measured all the time");
	if (p->lost_records)
		report_reason(r, "events-lost", NULL, "%s lost before hostlat read %s",
			      human_were(buf, p->lost_records, "event"),
			      p->lost_records == 1 ? "it" : "them");
	if (p->names_lost)
		report_reason(r, "names-not-kept", NULL, "%s dropped: a run stores at most "
			      "65,536 names of each kind and 4 MiB in total",
			      human_were(buf, p->names_lost, "name"));
	if (p->refused)
		report_reason(r, "events-invalid", NULL, "%s ignored because of impossible values",
			      human_were(buf, p->refused, "event"));
	if (p->beyond)
		report_reason(r, "limit", NULL, "%s ignored: hostlat watch had reached a limit, "
			      "such as the largest number of rows",
			      human_were(buf, p->beyond, "event"));
	if (p->no_room)
		report_reason(r, "limit", NULL, "%s not added to the distributions, which may use "
			      "%zu MiB of memory in total",
			      human_were(buf, p->no_room, "update"), w->hist_bytes_max >> 20);
	if (span == WATCH_TOTAL)
		event_damage_put(&w->damage, &evidence);
	if (evidence.len)
		report_reason(r, "damaged", strbuf_str(&evidence),
			      "the recording is damaged: the report covers its readable part");
	if (p->shed)
		report_reason(r, "overhead", NULL, "hostlat stopped measuring: it exceeded "
			      "--max-overhead even with one packet of %" PRIu64 " measured",
			      p->one_in_max);
	if (p->partial && !r->partial)
		report_reason(r, "incomplete", NULL,
			      "some intervals are incomplete, or their overhead is unknown and may "
			      "exceed --max-overhead");
	strbuf_release(&evidence);
}

/* ---- traffic that no stage covers ---- */

static const struct {
	enum count_what what;
	const char *path, *words;
} uncovered[] = {
	{ COUNT_UNCOVERED, "local", "for this host" },
	{ COUNT_FORWARDED, "forwarded", "forwarded" },
};

static bool watch_report_counts_others(const struct watch *w)
{
	return w->other_traffic && strcmp(w->other_traffic, "counted") == 0;
}

/* Adds the traffic that no stage covers, by protocol; null with a reason if it was not counted. */
static void watch_report_uncovered(const struct watch *w, enum watch_span span, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "protocol" }, { .name = "way" }, { .name = "count" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	for (size_t i = 0; i < ARRAY_LEN(uncovered); i++)
		vec_for_each(&w->counts, c) {
			if (c->id.what != uncovered[i].what || !c->count[span])
				continue;
			TABLE_ADD(t, value_string(watch_name(w, DICT_STRING, c->id.reason)),
				  value_string(uncovered[i].path), value_u64(c->count[span]));
		}
	object_add(&r->body, "uncovered",
		   watch_report_counts_others(w) ? value_table(t) : value_null());
	object_add(&r->body, "uncovered_why",
		   watch_report_counts_others(w) || !w->other_traffic
			   ? value_null()
			   : value_string(w->other_traffic));
}

static int watch_finding_uncovered(const struct watch *w, enum watch_span span, struct report *r)
{
	struct strbuf text = STRBUF_INIT(4096);
	char count[HUMAN_MAX];
	int err;

	for (size_t i = 0; i < ARRAY_LEN(uncovered); i++) {
		const char *between = text.len ? "; " : "";
		bool any = false;

		vec_for_each(&w->counts, c) {
			const char *name = watch_name(w, DICT_STRING, c->id.reason);

			if (c->id.what != uncovered[i].what || !c->count[span])
				continue;
			if (!any)
				strbuf_printf(&text, "%s%s: ", between, uncovered[i].words);
			strbuf_printf(&text, "%s%s %s", any ? ", " : "",
				      human_count(count, c->count[span]), name ? name : "unknown");
			any = true;
		}
	}
	err = text.error;
	if (text.len)
		report_finding(r, "Packets that no stage measures: %s.", strbuf_str(&text));
	strbuf_release(&text);
	return err;
}

int watch_report(struct watch *w, enum watch_span span, struct report *r)
{
	const struct watch_period *p = &w->periods[span];
	struct watch_common common = watch_common(w);
	int err;

	err = watch_order_rows(w);
	if (!err)
		err = watch_report_title(w, &common, r);
	watch_report_summary(w, span, &common, r);
	watch_report_interval(w, p, r);
	watch_report_clock(w, p, r);
	watch_report_sample(p, r);
	watch_add_stages(w, span, &common, r);
	if (common.before_stack)
		watch_add_arrival(w, span, &common, r);
	watch_add_counts(w, span, COUNT_DROP, r);
	watch_add_counts(w, span, COUNT_LOSS, r);
	watch_add_counts(w, span, COUNT_EXCLUDED, r);
	watch_report_uncovered(w, span, r);
	watch_add_bindings(w, r);
	if (!err)
		err = watch_add_scheduler(w, span, r);
	watch_add_culprits(w, span, r);
	watch_add_slow(w, span, r);
	report_place_findings(r);
	if (!err)
		err = watch_findings(w, span, r);
	if (!err)
		err = watch_finding_uncovered(w, span, r);
	if (!err)
		err = watch_headline(w, span, r);
	report_place_verdict(r);
	watch_report_loss_reason(w, span, r);
	watch_report_unbound_reasons(w, r);
	watch_report_stream_reasons(w, span, r);
	watch_report_own_cost(w, p, r);
	return err ? err : report_error(r);
}
