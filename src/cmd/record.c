/* SPDX-License-Identifier: Apache-2.0 */
/* hostlat record: keep what happens in a file, for any analysis later, elsewhere, by anybody. */
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "cmd/cmd.h"
#include "cmd/recording.h"
#include "cmd/session.h"
#include "cmd/watch_view.h"

struct record_config {
	const char *file;
	uint64_t with;
	uint64_t duration_ns;
	uint64_t size_limit;
	uint64_t interval_ns;
	struct probe_options probe;
	struct common_options common;
};

/* `watch` is always with them: it costs next to nothing, and says what was lost. */
enum { RECORD_MESSAGES = 2, RECORD_ACTIVITY = 4 };

static const struct opt_choice with_choices[] = {
	{ "watch", 1, "latency by stage, per interval" },
	{ "messages", RECORD_MESSAGES, "each receive call's, with its way through the host" },
	{ "activity", RECORD_ACTIVITY, "what each CPU does: tasks, interrupts, wakings" },
	{ NULL, 0, NULL },
};

static const struct opt record_options[] = {
	OPT_STRING(struct record_config, file, .name = "recording", .letter = 'o', .file = true,
		   .required = true, .help = "The file that is made"),
	OPT_SET(struct record_config, with, .name = "with", .choices = with_choices, 
		.def = "watch,messages,activity",
		.help = "What to record"),
	OPT_DURATION(struct record_config, duration_ns, .name = "for", .min = 10 * NS_PER_MS,
		     .help = "How long; without it, until stopped"),
	OPT_SIZE(struct record_config, size_limit, .name = "size-limit", .min = 64 << 10,
		 .help = "The recording grows no larger, and ends when an interval doesn't fit"),
	OPT_DURATION(struct record_config, interval_ns, .name = "interval", .letter = 'n',
		     .def = "1s", .min = 10 * NS_PER_MS, .max = NS_PER_DAY,
		     .help = "Length of the intervals that are kept"),
	OPTIONS_PROBE(struct record_config, probe),
	OPTIONS_COMMON(struct record_config, common),
	OPT_END,
};

/* In JSON; its man page has them. */
static const char *const ends[] = {
	[SESSION_STOPPED] = "signal",
	[SESSION_TIME] = "time",
	[SESSION_FULL] = RECORD_ENDED_FULL,
};

static int run(const void *config)
{
	const struct record_config *c = config;
	const struct watch_view_config shown = {
		.common = &c->common,
		.command = "record",
		.stages = session_stages(&c->probe),
		.totals_only = true,
	};
	struct watch_view view;
	struct session_config session = {
		.probe = &c->probe,
		.interval_ns = c->interval_ns,
		.duration_ns = c->duration_ns,
		.record = c->file,
		.size_limit = c->size_limit,
		.messages = c->with & RECORD_MESSAGES,
		.activity = c->with & RECORD_ACTIVITY,
		.take = watch_view_take,
		.ctx = &view,
	};
	struct session_result result;
	int code = EXIT_CANNOT;

	common_begin(&c->common);
	if (!strcmp(c->file, "-")) {
		log_error("-o takes a file: standard output is where the result goes");
		return EXIT_USAGE;
	}
	if (!recording_is_apart(c->file, c->common.output))
		return EXIT_USAGE;
	if (!watch_view_open(&view, &shown)) {
		session.result_fd = view.out.fd;
		code = session_run(&session, &result);
	}
	if (!code) {
		log_info("%llu bytes in %s", (unsigned long long)result.recorded_bytes, c->file);
		view.ended = ends[result.end];
		code = watch_view_close(&view, NULL, result.record_error);
	}
	watch_view_release(&view);
	return code;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "keep what is measured in a file",
	.options = record_options,
	.config_size = sizeof(struct record_config),
	.run = run,
};
