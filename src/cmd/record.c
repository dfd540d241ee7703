/* SPDX-License-Identifier: Apache-2.0 */
/* hostlat record: keep what happens in a file, for any analysis later, elsewhere, by anybody. */
#include "base/log.h"
#include "base/parse.h"
#include "cmd/cmd.h"
#include "cmd/session.h"

struct record_config {
	const char *file;
	uint64_t with;
	uint64_t duration_ns;
	uint64_t size_limit;
	uint64_t interval_ns;
	bool quiet;
	struct probe_options probe;
};

static const struct opt_choice with_choices[] = {
	{ "watch", 1, "latency by stage, per interval" },
	{ NULL, 0, NULL },
};

static const struct opt record_options[] = {
	OPT_STRING(struct record_config, file, .name = "output", .letter = 'o', .metavar = "FILE",
		   .file = true, .required = true, .help = "The recording"),
	OPT_SET(struct record_config, with, .name = "with", .choices = with_choices, .def = "watch",
		.help = "What to record"),
	OPT_DURATION(struct record_config, duration_ns, .name = "for", .min = 10 * NS_PER_MS,
		     .help = "How long; without it, until stopped"),
	OPT_SIZE(struct record_config, size_limit, .name = "size-limit", .min = 64 << 10,
		 .help = "The recording grows no larger; what did not fit is counted in it"),
	OPT_DURATION(struct record_config, interval_ns, .name = "interval", .letter = 'n',
		     .def = "1s", .min = 10 * NS_PER_MS, .max = NS_PER_DAY,
		     .help = "Length of the intervals that are kept"),
	OPT_FLAG(struct record_config, quiet, .name = "quiet", .letter = 'q',
		 .help = "Say nothing on standard error but warnings and errors"),
	OPTIONS_PROBE(struct record_config, probe),
	OPT_END,
};

static int run(const void *config)
{
	const struct record_config *c = config;
	const struct session_config session = {
		.probe = &c->probe,
		.interval_ns = c->interval_ns,
		.duration_ns = c->duration_ns,
		.record = c->file,
		.size_limit = c->size_limit,
	};
	struct session_result result;
	int code;

	if (c->quiet)
		log_set_level(LOG_LEVEL_WARNING);
	code = session_run(&session, &result);
	if (code)
		return code;
	log_info("%llu bytes in %s", (unsigned long long)result.recorded_bytes, c->file);
	return result.record_error ? EXIT_PARTIAL : EXIT_OK;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "keep what is measured in a file",
	.options = record_options,
	.config_size = sizeof(struct record_config),
	.run = run,
};
