/* SPDX-License-Identifier: Apache-2.0 */
/* hostlat record: writes events to a file, for later analysis on any host. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/parse.h"
#include "cmd/cmd.h"
#include "cmd/mark_names.h"
#include "cmd/recording.h"
#include "cmd/live_watch.h"
#include "cmd/measuring.h"
#include "cmd/watch_view.h"
#include "probe/packet/pkt_config.h"

struct record_config {
	const char *file;
	uint64_t with;
	uint32_t boundary; /* enum message_boundary */
	const char *mark_begin, *mark_end;
	bool mark_id;
	uint64_t duration_ns;
	uint64_t size_limit;
	uint64_t interval_ns;
	uint32_t activity;           /* enum activity_source */
	struct tracefs_config functions;
	struct pkt_probe_config probe;
	struct common_options common;
};

/*
 * Bits of --with. `watch` (bit 0) needs no name, as the latency of the stages is always recorded:
 * its overhead is negligible, and its events include the losses.
 */
enum { RECORD_MESSAGES = 2, RECORD_ACTIVITY = 4 };

static const struct opt_choice with_choices[] = {
	{ "watch", 1, "latency at each stage, per interval" },
	{ "messages", RECORD_MESSAGES,
	  "each receive and send call, with its times on the way through the host" },
	{ "activity", RECORD_ACTIVITY, "what each CPU does: tasks, interrupts, wakeups" },
	{ NULL, 0, NULL },
};

static const struct opt_choice boundaries[] = {
	{ "receive", MESSAGES_BY_CALL, "a receive call" },
	{ "request", MESSAGES_BY_REQUEST,
	  "a request of memcached, Redis (RESP) or HTTP/1.1, until its reply is sent" },
	{ "mark", MESSAGES_BY_MARK,
	  "the bytes that a thread reads before --mark-begin, until --mark-end" },
	{ NULL, 0, NULL },
};

enum activity_source { ACTIVITY_SCHED, ACTIVITY_FUNCGRAPH };

static const struct opt_choice activity_choices[] = {
	{ "sched", ACTIVITY_SCHED, "tasks, interrupts, softirqs, system calls, faults, idling" },
	{ "funcgraph", ACTIVITY_FUNCGRAPH,
	  "sched, plus calls of kernel functions (function_graph tracer): slow" },
	{ NULL, 0, NULL },
};

/*
 * Functions on a packet's path from the driver's poll to the reader and from the sender to the
 * driver, and system calls that receive, send and wait for data. Tracing all of the kernel's some
 * 50,000 functions would be many times slower; `sched` covers scheduler, timers and idling.
 */
#define FUNCTIONS "net_rx_action,net_tx_action,*napi_poll,napi_*,process_backlog," \
	"*netif_receive_skb*,ip_*,ip6_*,ipv6_*,*tcp_*,udp*,__udp*,sock_*,skb_*," \
	"*dev_queue_xmit,dev_hard_start_xmit,sch_direct_xmit,__qdisc_run,*release_sock," \
	"ep_*,*_sys_read,*_sys_readv,*_sys_recvfrom,*_sys_recvmsg,*_sys_recvmmsg,*_sys_write," \
	"*_sys_writev,*_sys_sendto,*_sys_sendmsg,*_sys_sendmmsg,*_sys_epoll_*wait,*_sys_*poll," \
	"*_sys_*select*,*_sys_accept4"

/* Default depth of traced calls. A message over loopback causes some 30 calls of FUNCTIONS. */
#define FUNCTIONS_DEPTH "36"

static const struct opt record_options[] = {
	OPTION_OUTPUT(struct record_config, file, .aliases = "recording", .required = true,
		      .help = "Recording to write"),
	OPT_SET(struct record_config, with, .name = "with",
		.group = OPT_MEASURE, .choices = with_choices,
		.def = "watch,messages,activity",
		.help = "Kinds of events to record"),
	OPT_CHOICE(struct record_config, boundary, .name = "boundary",
		   .group = OPT_MEASURE, .choices = boundaries,
		   .def = "receive", .help = "Unit that counts as a received message"),
	OPT_STRING(struct record_config, mark_begin, .name = "mark-begin",
		   .group = OPT_MEASURE, .rare = true, .metavar = "MARK",
		   .help = "USDT probe at which work on a message begins, for --boundary mark: "
			   "[PATH:]PROVIDER:NAME, with the PATH of the program or library "
			   "(default: that of --pid)"),
	OPT_STRING(struct record_config, mark_end, .name = "mark-end",
		   .group = OPT_MEASURE, .rare = true, .metavar = "MARK",
		   .help = "USDT probe at which work on a message ends, for --boundary mark: "
			   "[PATH:]PROVIDER:NAME (default PATH: that of --mark-begin)"),
	OPT_FLAG(struct record_config, mark_id, .name = "mark-id",
		 .group = OPT_MEASURE, .rare = true,
		 .help = "Match begin and end marks by their first argument, in any thread"),
	OPTION_FOR(struct record_config, duration_ns, .min = 10 * NS_PER_MS,
		   .help = "Stop after this time; without it, run until interrupted"),
	OPT_SIZE(struct record_config, size_limit, .name = "size-limit",
		 .group = OPT_STOP, .rare = true, .min = 64 << 10,
		 .help = "Largest size of the recording, which ends when the next interval does "
			 "not fit"),
	OPT_DURATION(struct record_config, interval_ns, .name = "interval",
		     .group = OPT_MEASURE, .letter = 'n',
		     .def = "1s", .min = 10 * NS_PER_MS, .max = NS_PER_DAY,
		     .help = "Length of the recorded intervals"),
	OPT_CHOICE(struct record_config, activity, .name = "activity",
		   .group = OPT_MEASURE, .choices = activity_choices,
		   .def = "sched", .help = "Detail of the recorded CPU activity"),
	OPT_STRING(struct record_config, functions.functions, .name = "funcgraph-filter",
		   .group = OPT_MEASURE, .rare = true,
		   .metavar = "LIST",
		   .help = "Kernel functions that funcgraph traces, with * as a wildcard (default: "
			   "the path of packets, and the system calls that move or wait for data)"),
	OPT_U64(struct record_config, functions.depth, .name = "funcgraph-depth",
		.group = OPT_MEASURE, .rare = true, .metavar = "N",
		.def = FUNCTIONS_DEPTH, .min = 1, .max = 40,
		.help = "Largest call depth that funcgraph traces"),
	OPT_SIZE(struct record_config, functions.buffer, .name = "funcgraph-buffer",
		 .group = OPT_MEASURE, .rare = true, .def = "8M",
		 .min = 64 << 10, .max = 1 << 30,
		 .help = "Kernel memory of funcgraph for each CPU"),
	OPTIONS_PROBE(struct record_config, probe),
	OPTIONS_COMMON_SUMMARY(struct record_config, common),
	OPT_END,
};

/* Values of "ended" in the result; hostlat-json(7) lists them. */
static const char *const ends[] = {
	[LIVE_STOPPED] = "signal",
	[LIVE_TIME] = "time",
	[LIVE_FULL] = RECORD_ENDED_FULL,
	[LIVE_PROCESS] = "process",
};

static struct tracefs_config record_functions(const struct record_config *c)
{
	struct tracefs_config functions = c->functions;

	if (!functions.functions)
		functions.functions = FUNCTIONS;
	return functions;
}

/* Returns the probe's configuration. Without --stages, messages of both directions are recorded. */
static struct pkt_probe_config record_probe_config(const struct record_config *c)
{
	struct pkt_probe_config o = c->probe;

	o.messages = c->with & RECORD_MESSAGES ? c->boundary : MESSAGES_NONE;
	if (o.messages && !o.stages)
		o.stages = live_options_stages(&o) | SENDING_STAGES;
	return o;
}

/*
 * Checks that --boundary request is given with messages and the sending stages: a request ends with
 * the send call of its reply.
 */
static bool record_can_follow(const struct record_config *c, const struct pkt_probe_config *o)
{
	const uint64_t sends = SENDING_STAGES;

	if (!(c->with & RECORD_MESSAGES))
		log_error("--boundary request needs --with messages");
	else if ((live_options_stages(o) & sends) != sends)
		log_error("--boundary request needs send calls: --stages must include segment, "
			  "qdisc, driver and sent");
	else
		return true;
	return false;
}

struct mark_names {
	char begin[MARK_TEXT], end[MARK_TEXT], exe[64];
	char begin_path[MARK_PATH], end_path[MARK_PATH];
	struct pkt_marks marks;
};

static bool record_parse_marks(const struct record_config *c, struct mark_names *names)
{
	struct pkt_mark *begin = &names->marks.begin, *end = &names->marks.end;
	const char *bad = !mark_parse(c->mark_begin, names->begin, begin) ? c->mark_begin :
			  !mark_parse(c->mark_end, names->end, end) ? c->mark_end : NULL;

	if (bad) {
		log_error("a mark is [PATH:]PROVIDER:NAME, not %s", bad);
		return false;
	}
	begin->path = mark_path(begin->path, c->probe.pid, names->begin_path);
	end->path = mark_path(end->path, c->probe.pid, names->end_path);
	snprintf(names->exe, sizeof(names->exe), "/proc/%" PRIu64 "/exe", c->probe.pid);
	if (!begin->path && c->probe.pid)
		begin->path = names->exe;
	if (!end->path)
		end->path = begin->path;
	names->marks.by_id = c->mark_id;
	if (!begin->path)
		log_error("--mark-begin %s names no program (put the program's path and a colon "
			  "before the probe, or use --pid)", c->mark_begin);
	return begin->path;
}

static bool record_check_marks(const struct record_config *c, struct mark_names *names)
{
	const bool some = c->mark_begin || c->mark_end || c->mark_id;

	if (c->boundary != MESSAGES_BY_MARK) {
		if (some)
			log_error("--mark-begin, --mark-end and --mark-id need --boundary mark");
		return !some;
	}
	if (!(c->with & RECORD_MESSAGES))
		log_error("--boundary mark needs --with messages");
	else if (!c->mark_begin || !c->mark_end)
		log_error("--boundary mark needs --mark-begin and --mark-end");
	else
		return record_parse_marks(c, names);
	return false;
}

static int cmd_record_run(const void *config)
{
	const struct record_config *c = config;
	struct pkt_probe_config probe = record_probe_config(c);
	const struct tracefs_config functions = record_functions(c);
	const struct interval_view_config shown = {
		.common = &c->common,
		.command = "record",
		.totals_only = true,
	};
	struct watch_view view;
	struct live_watch_config live = {
		.probe = &probe,
		.interval_ns = c->interval_ns,
		.duration_ns = c->duration_ns,
		.record = c->file,
		.size_limit = c->size_limit,
		.activity = c->with & RECORD_ACTIVITY,
		.functions = c->activity == ACTIVITY_FUNCGRAPH ? &functions : NULL,
		.feed = watch_view_feed,
		.ctx = &view,
	};
	struct live_watch_result result;
	struct mark_names names;
	int code = EXIT_CANNOT;

	common_begin(&c->common);
	if (!strcmp(c->file, "-")) {
		log_error("-o needs a file: the result goes to standard output");
		return EXIT_USAGE;
	}
	if (c->boundary == MESSAGES_BY_REQUEST && !record_can_follow(c, &probe))
		return EXIT_USAGE;
	if (!record_check_marks(c, &names))
		return EXIT_USAGE;
	if (c->boundary == MESSAGES_BY_MARK)
		probe.marks = &names.marks;
	if (live.functions && !live.activity) {
		log_error("--activity funcgraph needs --with activity");
		return EXIT_USAGE;
	}
	if (!recording_is_apart(c->file, c->common.output))
		return EXIT_USAGE;
	measuring_prepare();
	if (!watch_view_open(&view, &shown, live_options_stages(&probe))) {
		live.result_fd = view.shown.out.fd;
		code = live_watch_run(&live, &result);
	}
	if (!code) {
		if (!result.record_error)
			log_info("%llu bytes in %s", (unsigned long long)result.recorded_bytes,
				 c->file);
		view.shown.ended = ends[result.end];
		code = watch_view_close(&view, NULL, result.record_error);
		if (!code && result.lacks_activity)
			code = EXIT_PARTIAL;
	}
	watch_view_release(&view);
	return code;
}

const struct command cmd_record = {
	.name = "record",
	.summary = "record measurements to a file for later analysis",
	.examples = {
		{ "sudo hostlat record --port 11211 --for 10s -o slow.hlat",
		  "Record ten seconds of this port's sockets and of the CPUs' activity" },
		{ "sudo hostlat record --port 11211 --boundary request -o slow.hlat",
		  "Record each request with the time until its reply" },
		{ "sudo hostlat record --pid $(pgrep -o redis-server) --for 10s -o slow.hlat",
		  "Record one process; the run also ends with the process" },
	},
	.options = record_options,
	.config_size = sizeof(struct record_config),
	.run = cmd_record_run,
};
