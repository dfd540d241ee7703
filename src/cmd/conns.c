/* SPDX-License-Identifier: Apache-2.0 */
/* hostlat conns: what limits each TCP connection. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
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
#include "conns/keeps.h"

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
	{ "auto", CONNS_COLLECT_AUTO, "by BPF programs; where they can't be used, inet-diag" },
	{ "bpf", CONNS_COLLECT_BPF, "by BPF programs, or not at all" },
	{ "inet-diag", CONNS_COLLECT_INET_DIAG, "from the kernel's socket dumps: less is known" },
	{ NULL, 0, NULL },
};

static const struct opt_choice sort_choices[] = {
	{ "worst", CONNS_SORT_WORST, "time lost to problems" },
	{ "bytes", CONNS_SORT_BYTES, "sent and received" },
	{ "losses", CONNS_SORT_LOSSES, "retransmitted segments" },
	{ "rtt", CONNS_SORT_RTT, "smoothed round trip" },
	{ "app", CONNS_SORT_APP, "by name" },
	{ "remote", CONNS_SORT_REMOTE, "by remote address and port" },
	{ NULL, 0, NULL },
};

static const struct opt conns_options[] = {
	OPT_DURATION(struct conns_config, interval_ns, .name = "interval", .letter = 'n',
		     .def = "500ms", .min = 50 * NS_PER_MS, .max = NS_PER_DAY,
		     .help = "Time between two tables; a recording keeps the intervals it has"),
	OPT_U64(struct conns_config, count, .name = "count", .letter = 'c', .min = 1,
		.help = "End after this many intervals; without it, run until stopped"),
	OPT_DURATION(struct conns_config, duration_ns, .name = "for", .min = 50 * NS_PER_MS,
		     .excludes = "from", .help = "How long; without it, until stopped"),
	OPT_STRING(struct conns_config, budget, .name = "cpu-budget", .metavar = "LOW..HIGH",
		   .def = "1%..3%", .excludes = "from",
		   .help = "CPU time that hostlat itself may take, of one core: more samples "
			   "below LOW, fewer above HIGH"),
	OPT_CHOICE(struct conns_config, collect, .name = "collect", .def = "auto",
		   .choices = collect_choices, .excludes = "from",
		   .help = "How connections are followed"),
	OPT_CHOICE(struct conns_config, by, .name = "by", .choices = by_choices,
		   .help = "Add connections up by what they have in common"),
	OPT_CHOICE(struct conns_config, sort, .name = "sort", .def = "worst",
		   .choices = sort_choices, .help = "Order of the connections"),
	OPT_FLAG(struct conns_config, problems_only, .name = "problems-only",
		 .help = "Leave out connections without a problem for which data waits"),
	OPT_FLAG(struct conns_config, all, .name = "all", .letter = 'a',
		 .help = "List all connections as text, not only a screen of problems"),
	OPT_FLAG(struct conns_config, info, .name = "tcp-info", .excludes = "by,follow",
		 .help = "Show as text how connections stand by the kernel's own figures: "
			 "windows, buffers, round trips, rates"),
	OPT_STRING(struct conns_config, filter, .name = "filter", .metavar = "EXPRESSION",
		   .help = "Show only connections of which this is true, as in ss(8): "
			   "'dport = :443 and rtt > 10ms'"),
	OPT_STRING(struct conns_config, follow, .name = "follow", .metavar = "COOKIE",
		   .excludes = "by", .help = "Show one connection, interval by interval"),
	OPT_FLAG(struct conns_config, calls, .name = "calls", .excludes = "from",
		 .help = "Log each send and receive call of the connections that are shown, as "
			 "far as the CPU budget allows"),
	OPT_STRING(struct conns_config, record, .name = "record", .file = true, .excludes = "from",
		   .help = "Keep the run in FILE as well, for --from: intervals with a problem as "
			   "they are, others put together to a minute"),
	OPT_FLAG(struct conns_config, record_all, .name = "record-all", .excludes = "from",
		 .help = "Keep all intervals as they are"),
	OPT_SIZE(struct conns_config, size_limit, .name = "size-limit", .min = 64 << 10,
		 .excludes = "from",
		 .help = "The recording grows no larger, and ends when an interval doesn't fit"),
	OPT_STRING(struct conns_config, from, .name = "from", .file = true,
		   .help = "Show a recorded run (- is standard input); needs no privileges"),
	OPT_STRING(struct conns_config, peer, .name = "peer", .file = true,
		   .excludes = "follow,count",
		   .help = "With --from: a recording of another host at the same time, in which "
			   "connections have their other ends; on whose side limits lie is told of "
			   "the time that both have"),
	OPTIONS_COMMON(struct conns_config, common),
	OPT_END,
};

static int conns_from(const struct conns_config *c, struct conns_view *view)
{
	struct event_damage damage;
	int code;

	if (!recorded_file_is_of(c->from, EV_CONN))
		return EXIT_CANNOT;
	view->recorded = true;
	code = recorded_file_read(c->from, conns_view_take, view, &damage);
	return code ? code : conns_view_close(view, &damage, 0);
}

/* "1%..3%", or one number: it is the upper one. */
static bool budget_of(const char *text, double *low, double *high)
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

/* All of them, or those that are chosen: one that is followed is known from the beginning on. */
static struct conns_log log_of(const struct conns_config *c, const struct conns_options *shown)
{
	return (struct conns_log){
		.on = c->calls, .cookie = shown->follow,
		.all = !shown->follows && !shown->keep && !shown->problems_only,
	};
}

static int conns_live(const struct conns_config *c, const struct conns_options *shown,
		      struct conns_view *view)
{
	struct conns_live_config live = {
		.interval_ns = c->interval_ns, .duration_ns = c->duration_ns, .count = c->count,
		.record = c->record, .collect = c->collect,
		.record_all = c->record_all,
		.size_limit = c->size_limit, .result_fd = view->shown.out.fd,
		.log = log_of(c, shown), .choose = conns_view_choose,
		.take = conns_view_take, .ctx = view, .seed = clock_mono_ns(clock_system()),
	};
	int record_error, code;

	if (!budget_of(c->budget, &live.low, &live.high)) {
		log_error("--cpu-budget takes two shares of one core, such as 1%%..3%%, not '%s'",
			  c->budget);
		return EXIT_USAGE;
	}
	measuring_prepare();
	code = conns_live_run(&live, &record_error);
	return code ? code : conns_view_close(view, NULL, record_error);
}

/* What goes with what, beyond single options. */
static bool is_usage(const struct conns_config *c)
{
	if (c->record_all && !c->record)
		log_error("conns: --record-all says what goes into --record FILE, which is "
			  "missing");
	else if (c->peer && !c->from)
		log_error("conns: --peer is the other host's recording; --from FILE, this "
			  "host's, is missing");
	else if (c->peer && c->common.json_lines)
		log_error("conns: --json-lines shows intervals; two recordings are joined by "
			  "their totals: --json has them");
	else
		return recording_is_apart(c->record, c->common.output);
	return false;
}

static int filter_of(const char *text, struct filter **filter)
{
	struct strbuf why = STRBUF_INIT(1024);
	int err = filter_parse(text, filter, &why);

	if (err)
		log_error("--filter: %s", why.len ? strbuf_str(&why) : strerror(-err));
	strbuf_release(&why);
	return err;
}

static bool log_is_possible(const struct conns_config *c)
{
	if (c->calls && c->collect == CONNS_COLLECT_INET_DIAG) {
		log_error("conns: --calls needs BPF programs: inet-diag does not tell of calls");
		return false;
	}
	if (c->calls && !c->follow && !c->record && !c->common.json_lines) {
		log_error("conns: --calls says what is logged: add where to, --follow COOKIE, "
			  "--record FILE or --json-lines");
		return false;
	}
	return true;
}

static int run(const void *config)
{
	const struct conns_config *c = config;
	struct conns_options options = {
		.by = c->by, .sort = c->sort, .problems_only = c->problems_only, .all = c->all,
		.info = c->info,
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
	if (!is_usage(c) || !log_is_possible(c))
		return EXIT_USAGE;
	if (c->filter)
		err = filter_of(c->filter, &filter);
	if (err)
		return err == -ENOMEM ? EXIT_CANNOT : EXIT_USAGE;
	options.keep = filter ? conns_filter_keeps : NULL;
	options.ctx = filter;
	if (!conns_view_open(&view, &c->common, &options, c->count))
		code = c->peer ? conns_peer_show(c->from, c->peer, &view) :
		       c->from ? conns_from(c, &view) : conns_live(c, &options, &view);
	conns_view_release(&view);
	filter_free(filter);
	return code;
}

const struct command cmd_conns = {
	.name = "conns",
	.summary = "show what limits each TCP connection",
	.options = conns_options,
	.config_size = sizeof(struct conns_config),
	.run = run,
};
