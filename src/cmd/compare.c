/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hostlat compare: reports the differences between two recordings. Each analysis compares its own
 * data; this file determines which data both recordings contain.
 */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "cmd/cmd.h"
#include "cmd/compare_facts.h"
#include "cmd/compare_readers.h"
#include "cmd/recorded_file.h"
#include "cmd/result.h"
#include "cmd/run_facts.h"
#include "conns/compare.h"
#include "diagnose/compare.h"
#include "load/compare.h"
#include "load/consumer.h"
#include "report/difference.h"
#include "report/human.h"
#include "report/times.h"
#include "watch/compare.h"

#define COMPARE_SCHEMA 1

struct compare_config {
	const char *a, *b;
	const char *slice;
	uint64_t slowest;
	uint32_t time;
	struct common_options common;
};

static const struct opt compare_options[] = {
	OPT_STRING(struct compare_config, a, .name = "A", .positional = true, .required = true,
		   .file = true,
		   .help = "Recording, or folder of hostlat explain, from before the change"),
	OPT_STRING(struct compare_config, b, .name = "B", .positional = true, .required = true,
		   .file = true,
		   .help = "Recording or folder of the same kind from after the change"),
	OPT_STRING(struct compare_config, slice, .name = "slice", .metavar = "FROM:TO",
		   .excludes = "slowest",
		   .help = "Compare the causes of the messages between these percentiles of the "
			   "latency, in each recording (default 99.9:100)"),
	OPT_U64(struct compare_config, slowest, .name = "slowest", .min = 1,
		.max = SUBJECTS_MAX,
		.help = "Compare the causes of the N slowest messages of each recording"),
	OPTION_TIME(struct compare_config, time),
	OPTIONS_COMMON(struct compare_config, common),
	OPT_END,
};

/* Contents of one recording, or of the recordings in a folder of `explain`. */
struct compare_input {
	const char *file, *name;       /* path; "A" for the first recording, "B" for the second */
	struct compare_readers from;
	struct run_facts run;
	struct compare_facts facts;
	struct watch_run *watch;
	struct conns_run *conns;       /* analyzed connections; NULL: the recording has none */
	bool messages, load, stages;
	/* Analysis of the load generator's requests; unused if one of the recordings has none. */
	struct load_consumer consumer;
	struct event_damage damage;
};

struct compare_inputs {
	struct compare_input both[2];
	struct comparison *messages;   /* comparison of messages; NULL: a recording has none */
	/* both recordings have stages, a load generator's requests, connections */
	bool stages, load, conns;
};

/* ---- reading ---- */

static int compare_feed_event(void *ctx, const struct event *event)
{
	struct compare_input *in = ctx;
	const char *key, *value;
	int err = 0;

	if (event->kind == EV_FACT) {
		event_fact_get(event, &key, &value);
		run_facts_feed(&in->run, key, value);
		err = compare_facts_add(&in->facts, key, value);
	}
	return err ? err : watch_run_feed(in->watch, event);
}

/* Adds the kinds of damage found in the recording `source` to those of this input. */
static void compare_note_damage(struct compare_input *in, struct event_source *source)
{
	struct event_damage damage;

	event_source_damage(source, &damage);
	in->damage.reasons |= damage.reasons;
}

static int compare_read_conns(struct compare_input *in)
{
	struct compare_readers *from = &in->from;
	struct event_source *source = event_reader_source(from->conns);
	struct event_damage damage;
	struct event_block block;
	int err = conns_run_new(&in->conns, from->folder ? conns_scope_selects : NULL,
				&from->scope);

	if (!err)
		err = event_source_rewind(source);
	while (!err && (err = event_source_next(source, &block)) > 0)
		err = conns_run_feed(in->conns, &block);
	if (err)
		return err;
	event_source_damage(source, &damage);
	compare_note_damage(in, source);
	return conns_run_finish(in->conns, &damage);
}

static int compare_read_input(struct compare_input *in)
{
	int err = watch_run_new(&in->watch);

	if (!err)
		err = recorded_file_events(in->from.host, compare_feed_event, in);
	if (!err)
		compare_note_damage(in, event_reader_source(in->from.host));
	if (!err) {
		err = event_reader_cores(in->from.host, EV_MESSAGE, NULL, 0);
		in->messages = err > 0;
	}
	in->stages = err >= 0 && watch_run_any(in->watch) && in->from.host != in->from.conns;
	in->load = in->from.load;
	if (err >= 0 && in->from.conns)
		err = compare_read_conns(in);
	if (err < 0)
		recorded_file_failed(in->file, "compare", err);
	return err < 0 ? err : 0;
}

static int compare_read_load(struct compare_input *in)
{
	const struct load_question none = { 0 };
	struct event_source *source = event_reader_source(in->from.load);
	struct event_block block;
	int err = event_source_rewind(source);

	load_consumer_init(&in->consumer, &none);
	while (!err && (err = event_source_next(source, &block)) > 0) {
		err = load_consumer_add(&in->consumer, &block);
		err = err < 0 ? err : 0;
	}
	if (!err)
		err = load_consumer_finish(&in->consumer);
	if (!err)
		compare_note_damage(in, source);
	if (err)
		recorded_file_failed(in->file, "compare", err);
	return err;
}

static int compare_open_messages(struct compare_inputs *in,
				 const struct message_selection *selection)
{
	struct compare_input *a = &in->both[0], *b = &in->both[1];
	const struct hostlat_pids pids[2] = { a->from.hostlat, b->from.hostlat };
	const struct event_reader *which;
	int err;

	if (!a->messages || !b->messages)
		return 0;
	err = comparison_new(&in->messages, selection, a->from.host, b->from.host, pids,
			     &which);
	if (err)
		recorded_file_failed(which == b->from.host ? b->file : a->file, "compare", err);
	return err;
}

static bool compare_has_conns(const struct compare_input *in)
{
	return in->conns && conns_run_any(in->conns);
}

static int compare_read_inputs(struct compare_inputs *in, const struct message_selection *selection)
{
	struct compare_input *a = &in->both[0], *b = &in->both[1];
	int err = compare_read_input(a);

	if (!err)
		err = compare_read_input(b);
	if (err)
		return err;
	in->stages = a->stages && b->stages;
	in->conns = compare_has_conns(a) && compare_has_conns(b);
	in->load = a->load && b->load;
	err = compare_open_messages(in, selection);
	if (!err && in->load)
		err = compare_read_load(a);
	if (!err && in->load)
		err = compare_read_load(b);
	return err;
}

/* ---- the result ---- */

static uint64_t compare_duration_ns(const struct compare_inputs *in, int side)
{
	const struct compare_input *one = &in->both[side];
	struct load_status status;

	if (in->messages)
		return comparison_duration_ns(in->messages, side);
	if (one->stages)
		return watch_run_duration_ns(one->watch);
	if (in->conns)
		return conns_run_duration_ns(one->conns);
	if (!in->load)
		return 0;
	load_analysis_status(one->consumer.analysis, &status);
	return status.elapsed_ns;
}

static void compare_add_input(const struct compare_inputs *in, int side, struct report *r)
{
	const struct compare_input *one = &in->both[side];
	const struct times *times = watch_run_times(one->watch);
	const uint64_t duration = compare_duration_ns(in, side);
	struct object *o = object_new(r);

	object_add(o, "file", value_string(report_format(r, "%s", one->file)));
	object_add(o, "host", value_string(*one->run.host ?
					   report_format(r, "%s", one->run.host) : NULL));
	object_add(o, "started_ns", one->run.started_ns ? value_ns(one->run.started_ns) :
							  value_null());
	times_add_span(times, o, times->clocks.begin_ns, times->clocks.end_ns);
	object_add(o, "duration_ns", duration ? value_ns(duration) : value_null());
	object_add(o, "messages", in->messages ?
		   value_u64(comparison_messages(in->messages, side)) :
		   one->messages ? value_null() : value_u64(0));
	object_add(&r->body, side ? "b" : "a", value_object(o));
}

static void compare_add_title(const struct compare_inputs *in, struct report *r)
{
	char a[HUMAN_MAX], b[HUMAN_MAX];

	report_title(r, "A: %s, B: %s", in->both[0].file, in->both[1].file);
	if (in->messages)
		report_summary(r, "%s and %s messages",
			       human_count(a, comparison_messages(in->messages, 0)),
			       human_count(b, comparison_messages(in->messages, 1)));
	for (int side = 0; side < 2; side++) {
		const struct times *t = watch_run_times(in->both[side].watch);

		times_add_span_text(t, r, side ? "B: " : "A: ", t->clocks.begin_ns,
				    t->clocks.end_ns);
	}
}

static void compare_report_only(bool a, bool b, const char *what, struct report *r)
{
	if (a != b)
		report_finding(r, "Only %s has %s.", a ? "A" : "B", what);
}

/*
 * Reports that only one recording has connections. A recording of connections without any is not
 * one of a run without connections: they were not seen.
 */
static void compare_report_only_conns(const struct compare_input *a, const struct compare_input *b,
				      struct report *r)
{
	const bool in_a = compare_has_conns(a);

	if (in_a == compare_has_conns(b))
		return;
	if (in_a ? b->conns && !b->from.scope.no_tcp : a->conns && !a->from.scope.no_tcp)
		report_finding(r, "The connections of %s were not seen: what limits connections is "
			       "not compared.", in_a ? "B" : "A");
	else
		compare_report_only(in_a, !in_a, "connections", r);
}

static void compare_add_damage(const struct compare_input *in, struct report *r)
{
	struct strbuf evidence = STRBUF_INIT(1024);

	event_damage_put(&in->damage, &evidence);
	if (evidence.len)
		report_reason(r, "damaged", strbuf_str(&evidence),
			      "%s: the recording is damaged: the readable part is compared",
			      in->name);
	strbuf_release(&evidence);
}

static int compare_add_load(struct compare_inputs *in, struct report *r)
{
	int err = load_compare_report(in->both[0].consumer.analysis, in->both[1].consumer.analysis,
				      r);

	for (int side = 0; !err && side < 2; side++) {
		struct compare_input *one = &in->both[side];
		struct report own;

		report_init(&own, &r->provenance);
		err = load_consumer_report(&one->consumer, &own);
		difference_add_reasons(r, &own, one->name);
		report_release(&own);
		if (!err && (one->consumer.unwritten || !load_consumer_ended(&one->consumer)))
			report_reason(r, "recording-incomplete", NULL,
				      "%s: the recording stops before the end of the run",
				      one->name);
	}
	return err;
}

static int compare_fill_report(struct compare_inputs *in, struct report *r)
{
	struct compare_input *a = &in->both[0], *b = &in->both[1];
	int err = 0;

	compare_add_title(in, r);
	compare_add_input(in, 0, r);
	compare_add_input(in, 1, r);
	report_place_findings(r);
	if (in->messages)
		err = comparison_report(in->messages, r);
	if (!err && in->stages)
		err = watch_compare_report(a->watch, b->watch, r);
	if (!err && in->load)
		err = compare_add_load(in, r);
	if (!err && in->conns)
		err = conns_compare_report(a->conns, b->conns, r);
	compare_report_only(a->messages, b->messages, "messages", r);
	compare_report_only(a->stages, b->stages, "latencies by stage", r);
	compare_report_only(a->load, b->load, "requests of a load generator", r);
	compare_report_only_conns(a, b, r);
	compare_facts_report(&a->facts, &b->facts, r);
	if (!in->messages && !in->stages && !in->load && !in->conns)
		report_reason(r, "nothing-in-common", NULL,
			      "there is nothing that both recordings measured");
	compare_add_damage(a, r);
	compare_add_damage(b, r);
	report_place_verdict(r);
	return err ? err : report_error(r);
}

static int compare_print(const struct compare_config *c, struct compare_inputs *in)
{
	struct provenance who = run_facts_provenance(&in->both[1].run, "compare", COMPARE_SCHEMA);
	struct report report;
	int err, code = EXIT_CANNOT;

	report_init(&report, &who);
	for (int side = 0; side < 2; side++)
		watch_run_times(in->both[side].watch)->style = c->time;
	err = compare_fill_report(in, &report);
	if (err)
		log_error("cannot make the result: %s", strerror(-err));
	else
		code = result_print(&report, &c->common);
	report_release(&report);
	return code;
}

/* ---- the command ---- */

static bool compare_selection(const struct compare_config *c, struct message_selection *s)
{
	/*
	 * The struct needs a slice of reference messages, although a comparison of two recordings
	 * does not use any.
	 */
	*s = (struct message_selection){ .from = 0.999, .to = 1, .slowest = c->slowest,
				 .against_from = 0.5, .against_to = 0.5 };
	if (!c->slice || recorded_slice_parse(c->slice, &s->from, &s->to))
		return true;
	log_error("--slice takes two percentiles, such as 99.9:100, not '%s'", c->slice);
	return false;
}

static void compare_release_inputs(struct compare_inputs *in)
{
	comparison_free(in->messages);
	for (int side = 0; side < 2; side++) {
		load_consumer_release(&in->both[side].consumer);
		watch_run_free(in->both[side].watch);
		compare_facts_release(&in->both[side].facts);
		conns_run_free(in->both[side].conns);
		compare_readers_release(&in->both[side].from);
	}
	free(in);
}

static int cmd_compare_run(const void *config)
{
	const struct compare_config *c = config;
	struct message_selection selection;
	struct compare_inputs *in;
	int code = EXIT_CANNOT;

	common_begin(&c->common);
	if (!compare_selection(c, &selection))
		return EXIT_USAGE;
	in = calloc(1, sizeof(*in));
	if (!in) {
		log_error("%s", strerror(ENOMEM));
		return EXIT_CANNOT;
	}
	in->both[0].file = c->a;
	in->both[0].name = "A";
	in->both[1].file = c->b;
	in->both[1].name = "B";
	for (int side = 0; side < 2; side++)
		compare_facts_init(&in->both[side].facts);
	if (!compare_readers_open(&in->both[0].from, c->a) &&
	    !compare_readers_open(&in->both[1].from, c->b) && !compare_read_inputs(in, &selection))
		code = compare_print(c, in);
	compare_release_inputs(in);
	return code;
}

const struct command cmd_compare = {
	.name = "compare",
	.reads_only = true,
	.summary = "show how two recordings differ",
	.options = compare_options,
	.config_size = sizeof(struct compare_config),
	.run = cmd_compare_run,
};
