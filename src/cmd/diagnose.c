/* SPDX-License-Identifier: Apache-2.0 */
/* hostlat diagnose: explains why the slow messages of a recording were slow. */
#include <string.h>

#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/recorded_file.h"
#include "cmd/remedy.h"
#include "cmd/result.h"
#include "cmd/run_facts.h"
#include "diagnose/diagnose.h"
#include "diagnose/paper.h"

struct diagnose_config {
	const char *file;
	const char *slice;
	uint64_t slowest;
	const char *against;
	uint32_t direction;
	uint32_t time;
	bool paper;
	struct common_options common;
};

static const struct opt_choice direction_choices[] = {
	{ "ingress", DIR_INGRESS, "received messages" },
	{ "egress", DIR_EGRESS, "sent messages, from the send call to the driver" },
	{ NULL, 0, NULL },
};

static const struct opt diagnose_options[] = {
	OPT_STRING(struct diagnose_config, file, .name = "FILE",
		   .group = OPT_TARGET, .positional = true,
		   .required = true, .file = true,
		   .help = "Recording with messages and activity, made by hostlat record"),
	OPT_STRING(struct diagnose_config, slice, .name = "slice",
		   .group = OPT_MEASURE, .metavar = "FROM:TO",
		   .excludes = "slowest",
		   .help = "Explain the messages between these percentiles of the latency (default "
			   "99.9:100)"),
	OPT_U64(struct diagnose_config, slowest, .name = "slowest",
		.group = OPT_MEASURE, .min = 1,
		.max = SUBJECTS_MAX, .help = "Explain the N slowest messages"),
	OPT_STRING(struct diagnose_config, against, .name = "against",
		   .group = OPT_MEASURE,
		   .metavar = "FROM:TO|fastest|FILE", .file = true,
		   .help = "Baseline of the comparison: this slice of the same application's "
			   "messages (default 40:60, or the fastest 10 % where the median is more "
			   "than 3 times p5), the application's fastest 1 %, or the same slice of "
			   "another recording"),
	OPT_CHOICE(struct diagnose_config, direction, .name = "direction",
		   .group = OPT_MEASURE,
		   .choices = direction_choices, .def = "ingress",
		   .help = "Direction of the messages to explain"),
	OPT_FLAG(struct diagnose_config, paper, .name = "paper",
		 .group = OPT_MEASURE, .rare = true,
		 .help = "Attribute excess by the rules of NSight (Haecki et al., NSDI 2022): "
			 "count every excess above the recording's granularity, however much the "
			 "baseline varies"),
	OPTION_TIME(struct diagnose_config, time),
	OPTIONS_COMMON(struct diagnose_config, common),
	OPT_END,
};

/*
 * Sets the messages to explain and their reference messages, from --slice, --slowest and --against.
 * *file: path of the recording with the reference messages; NULL: the same recording. Returns false
 * after a message.
 */
static bool diagnose_selection(const struct diagnose_config *c, struct message_selection *s,
			       const char **file)
{
	*s = (struct message_selection){ .direction = (enum direction)c->direction,
				 .from = 0.999, .to = 1, .slowest = c->slowest,
				 .against = AGAINST_AUTO, .against_from = 0.4,
				 .against_to = 0.6, .wider = true };
	*file = NULL;
	if (c->slice && !recorded_slice_parse(c->slice, &s->from, &s->to)) {
		log_error("--slice takes two percentiles, such as 99.9:100, not '%s'", c->slice);
		return false;
	}
	if (!c->against)
		return true;
	if (!strcmp(c->against, "fastest"))
		s->against = AGAINST_FASTEST;
	else if (recorded_slice_parse(c->against, &s->against_from, &s->against_to))
		s->against = AGAINST_SLICE;
	else
		*file = c->against;
	return true;
}

/* Stores host, version or start time of the run from a fact event. */
static int diagnose_feed_fact(void *facts, const struct event *event)
{
	const char *key, *value;

	if (event->kind == EV_FACT) {
		event_fact_get(event, &key, &value);
		run_facts_feed(facts, key, value);
	}
	return 0;
}

static int diagnose_recording(const struct diagnose_config *c,
			      const struct diagnose_options *options, struct event_reader *reader,
			      struct event_reader *against)
{
	struct run_facts facts = { 0 };
	struct provenance who;
	struct diagnosis *d;
	struct report report;
	int code = EXIT_CANNOT;
	int err = diagnosis_new(&d, options);

	if (!err)
		err = diagnosis_run(d, reader, against);
	if (err) {
		recorded_file_failed(c->file, "diagnose", err);
		diagnosis_free(d);
		return code;
	}
	recorded_file_events(reader, diagnose_feed_fact, &facts);
	who = run_facts_provenance(&facts, "diagnose", DIAGNOSE_SCHEMA);
	report_init(&report, &who);
	err = diagnosis_report(d, &report);
	remedy_add(d, &report);
	if (err)
		recorded_file_failed(c->file, "diagnose", err);
	else
		code = result_print(&report, &c->common);
	report_release(&report);
	diagnosis_free(d);
	return code;
}

static int cmd_diagnose_run(const void *config)
{
	const struct diagnose_config *c = config;
	struct diagnose_options options = {
		.times = c->time, .method = c->paper ? &paper_method : NULL,
	};
	struct event_reader *reader, *other = NULL;
	const char *against;
	int code = EXIT_CANNOT;

	common_begin(&c->common);
	if (!diagnose_selection(c, &options.selection, &against))
		return EXIT_USAGE;
	reader = recorded_file_open(c->file);
	if (reader && against)
		other = recorded_file_open(against);
	if (reader && (other || !against))
		code = diagnose_recording(c, &options, reader, other);
	event_reader_free(other);
	event_reader_free(reader);
	return code;
}

const struct command cmd_diagnose = {
	.name = "diagnose",
	.reads_only = true,
	.summary = "explain why the slow messages of a recording were slow",
	.examples = {
		{ "hostlat diagnose slow.hlat",
		  "Explain the slowest thousandth of the recorded messages" },
		{ "hostlat diagnose slow.hlat --slowest 100 --against before.hlat",
		  "Compare the hundred slowest messages with those of an earlier recording" },
		{ "hostlat diagnose slow.hlat --direction egress --slowest 100",
		  "Explain the hundred send calls that took longest to reach the device" },
	},
	.options = diagnose_options,
	.config_size = sizeof(struct diagnose_config),
	.run = cmd_diagnose_run,
};
