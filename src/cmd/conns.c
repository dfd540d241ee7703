/* SPDX-License-Identifier: Apache-2.0 */
/* hostlat conns: reports what limits each TCP connection. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/outfile.h"
#include "base/parse.h"
#include "base/privilege.h"
#include "clock/clock.h"
#include "cmd/cmd.h"
#include "cmd/conns_live.h"
#include "cmd/conns_peer.h"
#include "cmd/conns_view.h"
#include "cmd/measuring.h"
#include "cmd/recorded_file.h"
#include "cmd/recording.h"
#include "conns/filter.h"
#include "conns/filter_conn.h"

struct conns_config {
	uint64_t interval_ns;
	uint64_t count;
	uint64_t duration_ns;
	const char *budget;
	uint32_t collect;
	const char *filter;
	const char *record;
	uint64_t size_limit;
	bool record_all;
	uint32_t by;
	uint32_t sort;
	bool problems_only;
	bool all;
	bool info;
	uint64_t top;
	const char *metrics;
	const char *follow;
	bool calls;
	const char *from;
	const char *peer;
	struct common_options common;
};

static const struct opt_choice by_choices[] = {
	{ "app", CONNS_BY_APP, "container, unit or command" },
	{ "peer", CONNS_BY_PEER, "remote address" },
	{ "listener", CONNS_BY_LISTENER, "local address and port of accepted connections" },
	{ NULL, 0, NULL },
};

static const struct opt_choice collect_choices[] = {
	{ "auto", CONNS_COLLECT_AUTO, "BPF programs or, where the kernel refuses them, inet-diag" },
	{ "bpf", CONNS_COLLECT_BPF, "BPF programs; fail where the kernel refuses them" },
	{ "inet-diag", CONNS_COLLECT_INET_DIAG, "the kernel's socket dumps, which report less" },
	{ NULL, 0, NULL },
};

static const struct opt_choice sort_choices[] = {
	{ "worst", CONNS_SORT_WORST, "time lost to problems" },
	{ "bytes", CONNS_SORT_BYTES, "bytes sent and received" },
	{ "losses", CONNS_SORT_LOSSES, "retransmitted segments" },
	{ "rtt", CONNS_SORT_RTT, "smoothed round-trip time" },
	{ "app", CONNS_SORT_APP, "name of the application" },
	{ "remote", CONNS_SORT_REMOTE, "remote address and port" },
	{ NULL, 0, NULL },
};

static const struct opt conns_options[] = {
	OPT_DURATION(struct conns_config, interval_ns, .name = "interval",
		     .group = OPT_MEASURE, .letter = 'n',
		     .def = "500ms", .min = 50 * NS_PER_MS, .max = NS_PER_DAY,
		     .help = "Length of an interval; with --from the recorded intervals are shown"),
	OPT_U64(struct conns_config, count, .name = "count",
		.group = OPT_STOP, .aliases = "c", .min = 1,
		.help = "Stop after N intervals; without it, run until interrupted"),
	OPTION_FOR(struct conns_config, duration_ns, .min = 50 * NS_PER_MS, .excludes = "from",
		   .help = "Stop after this time; without it, run until interrupted"),
	OPT_STRING(struct conns_config, budget, .name = "cpu-budget",
		   .group = OPT_MEASURE, .rare = true, .metavar = "LOW..HIGH",
		   .def = "1%..3%", .excludes = "from",
		   .help = "Share of one core that hostlat may use: it samples more often below "
			   "LOW and less often above HIGH"),
	OPT_CHOICE(struct conns_config, collect, .name = "collect",
		   .group = OPT_MEASURE, .rare = true, .def = "auto",
		   .choices = collect_choices, .excludes = "from",
		   .help = "Source of the connections' data"),
	OPT_CHOICE(struct conns_config, by, .name = "by",
		   .group = OPT_MEASURE, .choices = by_choices,
		   .help = "Sum up the connections that have this in common"),
	OPT_CHOICE(struct conns_config, sort, .name = "sort",
		   .group = OPT_OUTPUT, .def = "worst",
		   .choices = sort_choices, .help = "Order in which connections are listed"),
	OPT_FLAG(struct conns_config, problems_only, .name = "problems-only",
		 .group = OPT_OUTPUT,
		 .help = "Show only connections with a problem that makes data wait"),
	OPT_FLAG(struct conns_config, all, .name = "all",
		 .group = OPT_OUTPUT, .letter = 'a',
		 .help = "List all connections in text output, not only the worst that fit a "
			 "screen"),
	OPT_U64(struct conns_config, top, .name = "top",
		.group = OPT_OUTPUT, .def = "20", .min = 1, .max = 1000,
		.help = "Most connections, or groups of --by, that text output lists, worst first, "
			"and applications with --metrics of their own"),
	OPT_FLAG(struct conns_config, info, .name = "tcp-info",
		 .group = OPT_OUTPUT, .excludes = "by,follow",
		 .help = "Show the kernel's own figures of each connection in text output: "
			 "windows, buffers, round trips, rates"),
	OPT_STRING(struct conns_config, filter, .name = "filter",
		   .group = OPT_TARGET, .metavar = "EXPRESSION",
		   .help = "Show only connections that match, in the syntax of ss(8): 'dport = "
			   ":443 and rtt > 10ms'"),
	OPT_STRING(struct conns_config, follow, .name = "follow",
		   .group = OPT_TARGET, .metavar = "COOKIE",
		   .excludes = "by",
		   .help = "Show the connection with this cookie, interval by interval"),
	OPT_FLAG(struct conns_config, calls, .name = "calls",
		 .group = OPT_MEASURE, .excludes = "from",
		 .help = "Log each send and receive call of the listed connections, as far as "
			 "--cpu-budget allows"),
	OPT_STRING(struct conns_config, record, .name = "record",
		   .group = OPT_OUTPUT, .file = true, .excludes = "from",
		   .help = "Write the run to FILE as well, for --from: intervals with a problem in "
			   "full, other intervals summed up to one minute"),
	OPT_FLAG(struct conns_config, record_all, .name = "record-all",
		 .group = OPT_OUTPUT, .rare = true, .excludes = "from",
		 .help = "Write every interval to --record in full"),
	OPT_SIZE(struct conns_config, size_limit, .name = "size-limit",
		 .group = OPT_STOP, .rare = true, .min = 64 << 10,
		 .excludes = "from",
		 .help = "Largest size of the recording, which ends when the next interval does "
			 "not fit"),
	OPT_STRING(struct conns_config, metrics, .name = "metrics",
		   .group = OPT_OUTPUT, .file = true, .excludes = "filter,follow,peer",
		   .help = "Write counters of each application's connections to FILE as well, each "
			   "5 s: OpenMetrics, or for a name that ends in .prom the text that "
			   "node_exporter reads"),
	OPT_STRING(struct conns_config, from, .name = "from",
		   .group = OPT_MEASURE, .file = true,
		   .help = "Show a recorded run instead of measuring (- is standard input); needs "
			   "no privileges"),
	OPT_STRING(struct conns_config, peer, .name = "peer",
		   .group = OPT_MEASURE, .file = true,
		   .excludes = "follow,count",
		   .help = "Match --from with a recording made on the other host at the same time "
			   "and report, for the overlap, which side limits each connection"),
	OPTIONS_COMMON(struct conns_config, common),
	OPT_END,
};

static int conns_show_recording(const struct conns_config *c, struct conns_view *view)
{
	struct event_damage damage;
	int code;

	if (!recorded_file_is_of(c->from, EV_CONN))
		return EXIT_CANNOT;
	view->recorded = true;
	code = recorded_file_read(c->from, conns_view_feed, view, &damage);
	return code ? code : conns_view_close(view, &damage, 0);
}

/* Parses "1%..3%", or one percentage, which is `high`, into shares of one core, 0..1. */
static bool conns_parse_budget(const char *text, double *low, double *high)
{
	const char *dots = strstr(text, "..");
	char first[32];

	*low = 0;
	if (dots && (size_t)(dots - text) < sizeof(first)) {
		memcpy(first, text, (size_t)(dots - text));
		first[dots - text] = '\0';
		if (parse_percent(first, low))
			return false;
		text = dots + 2;
	}
	return !parse_percent(text, high) && *low >= 0 && *high > *low && *high <= 1;
}

/*
 * Returns the connections with logged calls: all connections, or chosen ones. The connection of
 * --follow is chosen at the start of the run, others at the end of each interval.
 */
static struct conns_log conns_log_config(const struct conns_config *c,
					 const struct conns_options *shown)
{
	return (struct conns_log){
		.on = c->calls, .cookie = shown->follow,
		.all = !shown->follows && !shown->select && !shown->problems_only,
	};
}

static int conns_measure(const struct conns_config *c, const struct conns_options *shown,
			 struct conns_view *view)
{
	struct conns_live_config live = {
		.interval_ns = c->interval_ns, .duration_ns = c->duration_ns, .count = c->count,
		.record = c->record, .collect = c->collect,
		.record_all = c->record_all,
		.size_limit = c->size_limit, .result_fd = view->shown.out.fd,
		.log = conns_log_config(c, shown), .choose = conns_view_choose,
		.feed = conns_view_feed, .ctx = view, .keys_fd = -1,
		.obey_keys = interval_view_obey_keys, .keys_ctx = &view->shown,
		.seed = clock_mono_ns(clock_system()),
	};
	int record_error, code;

	if (!conns_parse_budget(c->budget, &live.low, &live.high)) {
		log_error("--cpu-budget takes two shares of one core, such as 1%%..3%%, not '%s'",
			  c->budget);
		return EXIT_USAGE;
	}
	interval_view_take_keys(&view->shown);
	if (view->shown.keys.active)
		live.keys_fd = view->shown.keys.fd;
	code = conns_live_run(&live, &record_error);
	return code ? code : conns_view_close(view, NULL, record_error);
}

/* Returns false, after a message, unless the metrics have a file of their own. */
static bool conns_check_metrics(const struct conns_config *c)
{
	if (!c->metrics)
		return true;
	if (outfile_same(c->metrics, c->common.output))
		log_error("%s cannot be both the metrics and the result: add --output FILE",
			  c->metrics);
	else if (c->record && outfile_same(c->metrics, c->record))
		log_error("%s cannot be both the metrics and the recording: name two files",
			  c->metrics);
	else if (!c->from && !strcmp(c->metrics, "-"))
		log_error("conns: --metrics - needs --from FILE: a live run writes its metrics "
			  "again and again, to a file");
	else
		return true;
	return false;
}

/* Checks that the options can be combined. Logs an error and returns false if they cannot. */
static bool conns_check_options(const struct conns_config *c)
{
	if (c->record_all && !c->record)
		log_error("conns: --record-all needs --record FILE");
	else if (c->peer && !c->from)
		log_error("conns: --peer needs --from FILE, this host's recording");
	else if (c->peer && c->common.json_lines)
		log_error("conns: --peer shows totals, not intervals: use --json instead of "
			  "--json-lines");
	else
		return recording_is_apart(c->record, c->common.output) && conns_check_metrics(c);
	return false;
}

static int conns_parse_filter(const char *text, struct filter **filter)
{
	struct strbuf why = STRBUF_INIT(1024);
	int err = filter_parse(text, filter, &why);

	if (err)
		log_error("--filter: %s", why.len ? strbuf_str(&why) : strerror(-err));
	strbuf_release(&why);
	return err;
}

static bool conns_check_log(const struct conns_config *c)
{
	if (c->calls && c->collect == CONNS_COLLECT_INET_DIAG) {
		log_error("conns: --calls needs BPF programs: inet-diag does not report calls");
		return false;
	}
	if (c->calls && !c->follow && !c->record && !c->common.json_lines) {
		log_error("conns: --calls needs a place for the log: add --follow COOKIE, --record "
			  "FILE or --json-lines");
		return false;
	}
	return true;
}

static int conns_command_run(const void *config)
{
	const struct conns_config *c = config;
	struct conns_options options = {
		.by = c->by, .sort = c->sort, .problems_only = c->problems_only, .all = c->all,
		.info = c->info, .top = (uint32_t)c->top,
		.follows = c->follow, .totals_only = c->follow || c->peer,
		.text_only = !c->common.json && !c->common.json_lines,
	};
	struct filter *filter = NULL;
	struct conns_view view;
	int err = 0, code = EXIT_CANNOT;

	common_begin(&c->common);
	if (c->from)
		privilege_read_only();
	if (c->follow && parse_u64(c->follow, &options.follow)) {
		log_error("conns: --follow takes a connection's cookie, a whole number, not '%s'",
			  c->follow);
		return EXIT_USAGE;
	}
	if (!conns_check_options(c) || !conns_check_log(c))
		return EXIT_USAGE;
	if (c->filter)
		err = conns_parse_filter(c->filter, &filter);
	if (err)
		return err == -ENOMEM ? EXIT_CANNOT : EXIT_USAGE;
	options.select = filter ? filter_conn_match : NULL;
	options.ctx = filter;
	if (!c->from)
		measuring_prepare();
	if (!conns_view_open(&view, &c->common, &options, c->count) &&
	    !conns_metrics_open(&view.metrics, c->metrics, options.top, view.conns, !c->from))
		code = c->peer ? conns_peer_show(c->from, c->peer, &view) :
		       c->from ? conns_show_recording(c, &view) : conns_measure(c, &options, &view);
	conns_view_release(&view);
	filter_free(filter);
	return code;
}

const struct command cmd_conns = {
	.name = "conns",
	.summary = "show what limits each TCP connection",
	.task = "which connection waits, for what",
	.try = "sudo hostlat conns",
	.examples = {
		{ "sudo hostlat conns",
		  "Show connections with problems, twice a second" },
		{ "sudo hostlat conns --filter 'dport = :443 and rtt > 10ms' --all",
		  "Show all connections to port 443 with a long round trip" },
		{ "sudo hostlat conns --for 1m --record run.hlat --json -o run.json",
		  "Record one minute, and print it as JSON" },
		{ "hostlat conns --from run.hlat --by app --top 5",
		  "List the five applications that lost most time to problems" },
	},
	.options = conns_options,
	.config_size = sizeof(struct conns_config),
	.run = conns_command_run,
};
