/* SPDX-License-Identifier: Apache-2.0 */
/* hostlat watch: shows latency by stage, live or from a recording. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/privilege.h"
#include "cmd/cmd.h"
#include "cmd/recorded_file.h"
#include "cmd/recording.h"
#include "cmd/live_watch.h"
#include "cmd/measuring.h"
#include "cmd/watch_view.h"

struct watch_config {
	uint64_t interval_ns;
	uint64_t count;
	uint64_t duration_ns;
	bool cumulative;
	uint32_t time;
	const char *record;
	const char *from;
	struct pkt_probe_config probe;
	struct common_options common;
};

static const struct opt watch_options[] = {
	OPT_DURATION(struct watch_config, interval_ns, .name = "interval",
		     .group = OPT_MEASURE, .letter = 'n',
		     .def = "1s", .min = 10 * NS_PER_MS, .max = NS_PER_DAY,
		     .help = "Length of an interval; with --from the recorded intervals are shown"),
	OPT_U64(struct watch_config, count, .name = "count",
		.group = OPT_STOP, .aliases = "c", .min = 1,
		.help = "Stop after N intervals; without it, run until interrupted"),
	OPTION_FOR(struct watch_config, duration_ns, .min = 10 * NS_PER_MS, .excludes = "from",
		   .help = "Stop after this time; without it, run until interrupted"),
	OPT_FLAG(struct watch_config, cumulative, .name = "cumulative",
		 .group = OPT_OUTPUT,
		 .help = "Show the totals since the start at each interval"),
	OPT_STRING(struct watch_config, record, .name = "record",
		   .group = OPT_OUTPUT, .file = true, .excludes = "from",
		   .help = "Write the run to FILE as well, for --from"),
	OPT_STRING(struct watch_config, from, .name = "from",
		   .group = OPT_MEASURE, .file = true,
		   .excludes = "max-overhead,memory",
		   .help = "Show a recorded run instead of measuring (- is standard input); needs "
			   "no privileges"),
	OPTION_TIME(struct watch_config, time),
	OPTIONS_PROBE(struct watch_config, probe),
	OPTIONS_COMMON(struct watch_config, common),
	OPT_END,
};

static int watch_live(const struct watch_config *c, struct watch_view *view)
{
	const struct live_watch_config live = {
		.probe = &c->probe,
		.interval_ns = c->interval_ns,
		.duration_ns = c->duration_ns,
		.record = c->record,
		.result_fd = view->shown.out.fd,
		.feed = watch_view_feed,
		.ctx = view,
		.keys_fd = view->shown.keys.active ? view->shown.keys.fd : -1,
		.obey_keys = interval_view_obey_keys,
		.keys_ctx = &view->shown,
	};
	struct live_watch_result result;
	int code = live_watch_run(&live, &result);

	return code ? code : watch_view_close(view, NULL, result.record_error);
}

/*
 * Refuses options with other values than those of the recording, which it stores as facts. Sets the
 * bit in *recorded of each option that has a fact. Returns 0, or -EINVAL after a message.
 */
static int watch_check_facts(const struct watch_config *c, const struct event_block *block,
			     uint32_t *recorded)
{
	const char *key, *value, *option = NULL;
	struct event event;
	size_t at = 0;

	while (!option && event_block_next(block, &at, &event)) {
		if (event.kind == EV_FACT) {
			event_fact_get(&event, &key, &value);
			option = live_options_fact_differs(&c->probe, key, value, recorded);
		} else if (event.kind == EV_INTERVAL) { /* no facts follow the first interval */
			option = live_options_fact_missing(&c->probe, *recorded);
		}
	}
	if (!option)
		return 0;
	log_error("%s was recorded %s --%s and lacks the requested data", c->from,
		  event.kind == EV_FACT ? "with another" : "without", option);
	return -EINVAL;
}

struct watch_file {
	const struct watch_config *config;
	struct watch_view *view;
	uint32_t recorded; /* mask of the options of which the recording stores a value */
};

static int watch_file_feed(void *ctx, const struct event_block *block)
{
	struct watch_file *file = ctx;

	if (watch_check_facts(file->config, block, &file->recorded))
		return -ECANCELED;
	return watch_view_feed(file->view, block);
}

static int watch_from(const struct watch_config *c, struct watch_view *view)
{
	struct watch_file file = { .config = c, .view = view };
	struct event_damage damage;
	int code;

	if (!recorded_file_is_of(c->from, EV_HIST))
		return EXIT_CANNOT;
	code = recorded_file_read(c->from, watch_file_feed, &file, &damage);
	return code ? code : watch_view_close(view, &damage, 0);
}

static int cmd_watch_run(const void *config)
{
	const struct watch_config *c = config;
	const uint64_t stages = c->from ? c->probe.stages : live_options_stages(&c->probe);
	const struct interval_view_config shown = {
		.common = &c->common,
		.command = "watch",
		.count = c->count,
		.cumulative = c->cumulative,
		.findings_first = true,
	};
	struct watch_view view;
	int code = EXIT_CANNOT;

	common_begin(&c->common);
	if (c->from)
		privilege_read_only();
	if (!recording_is_apart(c->record, c->common.output))
		return EXIT_USAGE;
	if (!c->from)
		measuring_prepare();
	if (!watch_view_open(&view, &shown, stages)) {
		watch_set_times(view.watch, c->time);
		if (!c->from)
			interval_view_take_keys(&view.shown);
		code = c->from ? watch_from(c, &view) : watch_live(c, &view);
	}
	watch_view_release(&view);
	return code;
}

const struct command cmd_watch = {
	.name = "watch",
	.summary = "show the latency of each network stack layer",
	.examples = {
		{ "sudo hostlat watch --port 443",
		  "Show in which layer packets of this port wait, second by second" },
		{ "sudo hostlat watch --pid $(pgrep -o memcached)",
		  "Watch one process with its threads, without its child processes" },
		{ "sudo hostlat watch --slower-than 5ms",
		  "Report each slow message: its time at each stage, its reader, and who had the "
		  "CPU" },
	},
	.options = watch_options,
	.config_size = sizeof(struct watch_config),
	.run = cmd_watch_run,
};
