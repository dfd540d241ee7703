/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "cmd/run_facts.h"
#include "cmd/session_options.h"
#include "event/names.h"
#include "host/task.h"
#include "probe/watch_config.h"
#include "watch/watch.h"

#define BIT(stage) (1ULL << (stage))
#define BY(key) (1ULL << (key))

static const struct opt_choice stage_choices[] = {
	{ "link", BIT(STAGE_LINK), "the stack receives the packet" },
	{ "ip", BIT(STAGE_IP), "IP processing starts" },
	{ "transport", BIT(STAGE_TRANSPORT), "TCP or UDP gets the packet" },
	{ "socket", BIT(STAGE_SOCKET), "TCP processes the segment on its socket" },
	{ "enqueued", BIT(STAGE_ENQUEUED), "the payload is in the socket's queue" },
	{ "runnable", BIT(STAGE_RUNNABLE), "the reader was woken" },
	{ "running", BIT(STAGE_RUNNING), "the reader got a CPU" },
	{ "read", BIT(STAGE_READ), "the application has the bytes" },
	{ "ingress", INGRESS_STAGES, "all stages of received packets, link to read" },
	{ "irq", BIT(STAGE_IRQ), "an interrupt's handler has asked for the softirq" },
	{ "poll", BIT(STAGE_POLL), "the softirq begins to poll; with link, also what GRO does" },
	{ "arrival", ARRIVAL_STAGES | BIT(STAGE_LINK), "irq, poll and link: before the stack" },
	{ "segment", BIT(STAGE_SEGMENT), "TCP lets the packet go, or UDP hands it to IP" },
	{ "qdisc", BIT(STAGE_QDISC), "the packet enters the queueing discipline" },
	{ "driver", BIT(STAGE_DRIVER), "the driver's xmit is called" },
	{ "sent", BIT(STAGE_SENT), "transmit completion" },
	{ "acked", BIT(STAGE_ACKED), "the peer acknowledged it" },
	{ "egress", EGRESS_STAGES, "all stages of sent packets, segment to acked" },
	{ "all", INGRESS_STAGES | EGRESS_STAGES, "ingress and egress" },
	{ NULL, 0, NULL },
};

static const struct opt_choice origin_choices[] = {
	{ "auto", ORIGIN_NONE,
	  "per packet: stack if the kernel stamped it on receive, otherwise link" },
	{ "link", ORIGIN_LINK, "hostlat's own stamp when the stack receives the packet" },
	{ "stack", ORIGIN_STACK, "the kernel's receive stamp" },
	{ "deliver", ORIGIN_DELIVER, "the kernel's receive stamp, taken at local delivery "
				     "(loopback, veth)" },
	{ "sender", ORIGIN_SENDER, "the stamp that a sender on this host left in the packet" },
	{ NULL, 0, NULL },
};

static const struct opt_choice backend_choices[] = {
	[BACKEND_AUTO] = { "auto", BACKEND_AUTO, "the first that this kernel accepts" },
	[BACKEND_TRACEPOINT] = { "tracepoint", BACKEND_TRACEPOINT,
				 "tracepoints, netfilter and cgroup hooks" },
	[BACKEND_FENTRY] = { "fentry", BACKEND_FENTRY, "functions, where a stage has one" },
	{ NULL, 0, NULL },
};

static const struct opt_choice hol_choices[] = {
	[HOL_EXCLUDE] = { "exclude", HOL_EXCLUDE,
				"count such packets, and do not measure them from enqueued on" },
	[HOL_INCLUDE] = { "include", HOL_INCLUDE, "count that time in the step enqueued" },
	[HOL_SEPARATE] = { "separate", HOL_SEPARATE,
				 "make that time a distribution of its own" },
	{ NULL, 0, NULL },
};

static const struct opt_choice by_choices[] = {
	{ "cgroup", BY(GROUP_CGROUP), "the socket's control group" },
	{ "netns", BY(GROUP_NETNS), "the socket's network namespace" },
	{ "ifindex", BY(GROUP_IFINDEX), "the interface that received or sent it" },
	{ "port", BY(GROUP_PORT), "the socket's local port" },
	{ "cpu", BY(GROUP_CPU), "the CPU that received or sent it" },
	{ "rxq", BY(GROUP_RXQ), "the card's receive queue" },
	{ "comm", BY(GROUP_COMM), "the name of the thread that reads it, from runnable on" },
	{ NULL, 0, NULL },
};

const struct opt probe_option_rows[] = {
	OPT_SET(struct probe_options, stages, .name = "stages", .choices = stage_choices,
		.help = "Stages to measure (default: ingress without ip, which needs two more "
			"hooks on every packet; with --from, the recorded stages)"),
	OPT_CHOICE(struct probe_options, origin, .name = "origin", .choices = origin_choices,
		   .def = "auto", .help = "Time stamp from which latencies are measured"),
	OPT_CHOICE(struct probe_options, backend, .name = "backend", .choices = backend_choices,
		   .def = "auto", .help = "Kind of hook to use where a stage has several"),
	OPT_CHOICE(struct probe_options, hol, .name = "hol", .choices = hol_choices,
		   .def = "exclude",
		   .help = "Treatment of TCP packets that wait behind a lost or late one "
			   "(head-of-line blocking)"),
	OPT_SET(struct probe_options, by, .name = "by", .choices = by_choices,
		.help = "Give each group of packets that have these in common its own rows"),
	OPT_U64(struct probe_options, pid, .name = "pid", .letter = 'p', .min = 1, .max = 4194304,
		.help = "Measure only packets that this process reads or sends; the run ends with "
			"the process"),
	OPT_U64(struct probe_options, port, .name = "port", .min = 1, .max = 65535,
		.help = "Measure only sockets bound to this local port"),
	OPT_STRING(struct probe_options, ifname, .name = "ifname", .letter = 'i', .metavar = "NAME",
		   .help = "Measure only packets that this interface receives or sends, in any "
			   "network namespace"),
	OPT_STRING(struct probe_options, netns, .name = "netns", .metavar = "NAME",
		   .help = "Measure only this network namespace: a name, an inode number, or the "
			   "pid of a process in it (default: all)"),
	OPT_STRING(struct probe_options, cgroup, .name = "cgroup", .metavar = "PATH",
		   .help = "Measure only sockets of this control group (cgroup2) and of those "
			   "below it"),
	OPT_U64(struct probe_options, min_queue, .name = "min-queue", .metavar = "N", .max = 65535,
		.help = "Measure only packets that find at least N unread packets in their "
			"socket's receive queue"),
	OPT_DURATION(struct probe_options, slower_than_ns, .name = "slower-than",
		     .min = NS_PER_US, .max = NS_PER_DAY,
		     .help = "Report each message that takes this long or longer: when and by whom "
			     "it was read, and how long each stage took"),
	OPT_ONE_IN(struct probe_options, one_in, .name = "sample", .excludes = "probe",
		   .help = "Measure one packet of N, the same at every stage; counts are then "
			   "estimates"),
	OPT_PERCENT(struct probe_options, max_overhead, .name = "max-overhead",
		    .help = "Limit hostlat's share of the CPUs' time: measure fewer packets, and "
			    "in the end none, rather than exceed it"),
	OPT_STRING(struct probe_options, probe, .name = "probe", .metavar = "NAME",
		   .help = "Add a stage: calls of this kernel function or tracepoint with a "
			   "received packet"),
	OPT_SIZE(struct probe_options, memory, .name = "memory", .def = "64M",
		 .min = WATCH_MEMORY_FIXED + WATCH_MEMORY_PER_CPU, .max = 1ULL << 40,
		 .help = "Memory for maps in the kernel: at least 2352K plus 444K for each CPU, "
			 "and 8M more with --by"),
	OPT_END,
};

#define QUEUE_LEAST (16UL << 20)

uint64_t session_queue_bytes(uint64_t memory)
{
	return QUEUE_LEAST + 2 * memory;
}

uint64_t session_stages(const struct probe_options *o)
{
	uint64_t stages = o->stages ? o->stages : INGRESS_STAGES & ~BIT(STAGE_IP);

	return o->probe ? stages | BIT(STAGE_PROBE) : stages;
}

/* ---- the facts that open a stream ---- */

static int put_number(struct event_sink *sink, uint64_t now, const char *key, uint64_t value)
{
	char text[24];

	if (!value)
		return 0;
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return event_put_fact(sink, now, key, text);
}

static int put_target(struct event_sink *sink, uint64_t now, const struct probe_options *o)
{
	struct strbuf text = STRBUF_INIT(4 * HOST_CMDLINE_MAX);
	char who[HOST_CMDLINE_MAX + 64];
	struct host_task task;
	int err;

	if (o->pid && !host_task_get(NULL, o->pid, &task)) {
		host_task_describe(&task, who, sizeof(who));
		strbuf_puts(&text, who);
	}
	if (o->port)
		strbuf_printf(&text, "%sport %" PRIu64, text.len ? ", " : "", o->port);
	if (o->ifname)
		strbuf_printf(&text, "%sinterface %s", text.len ? ", " : "", o->ifname);
	if (o->netns)
		strbuf_printf(&text, "%snetwork namespace %s", text.len ? ", " : "", o->netns);
	if (o->cgroup)
		strbuf_printf(&text, "%scontrol group %s", text.len ? ", " : "", o->cgroup);
	if (!text.len)
		strbuf_puts(&text, "all sockets");
	if (o->min_queue)
		strbuf_printf(&text, ", queues of %" PRIu64 " or more", o->min_queue);
	err = text.error ? text.error : event_put_fact(sink, now, WATCH_FACT_TARGET,
						       strbuf_str(&text));
	strbuf_release(&text);
	return err;
}

int session_put_facts(const struct probe_options *o, uint64_t interval_ns, struct event_sink *sink,
		      uint64_t now)
{
	int err = run_facts_put(sink, now);

	if (!err)
		err = put_target(sink, now, o);
	if (!err)
		err = put_number(sink, now, "watch.interval_ns", interval_ns);
	if (!err)
		err = put_number(sink, now, "watch.stages", session_stages(o));
	if (!err)
		err = put_number(sink, now, "watch.pid", o->pid);
	if (!err)
		err = put_number(sink, now, "watch.by", o->by);
	if (!err)
		err = put_number(sink, now, "watch.sample", o->one_in);
	if (!err)
		err = put_number(sink, now, SESSION_FACT_PORT, o->port);
	if (!err)
		err = put_number(sink, now, "watch.min_queue", o->min_queue);
	if (!err)
		err = put_number(sink, now, WATCH_FACT_SLOWER, o->slower_than_ns);
	if (!err && o->ifname)
		err = event_put_fact(sink, now, "watch.ifname", o->ifname);
	if (!err && o->netns)
		err = event_put_fact(sink, now, "watch.netns", o->netns);
	if (!err && o->cgroup)
		err = event_put_fact(sink, now, "watch.cgroup", o->cgroup);
	if (!err && o->probe)
		err = event_put_fact(sink, now, "watch.probe", o->probe);
	if (!err)
		err = event_put_fact(sink, now, "watch.backend", backend_choices[o->backend].name);
	if (!err)
		err = event_put_fact(sink, now, "watch.hol", hol_choices[o->hol].name);
	if (!err)
		err = event_put_fact(sink, now, "watch.origin",
				     o->origin ? origin_name(o->origin) : "auto");
	return err ? err : run_facts_put_host(sink, now);
}

enum {
	FACT_PID, FACT_PORT, FACT_IFNAME, FACT_NETNS, FACT_ORIGIN, FACT_STAGES, FACT_SLOWER,
	FACT_BACKEND, FACT_HOL, FACT_BY, FACT_CGROUP,
	FACT_PROBE, FACT_SAMPLE, FACT_MIN_QUEUE, FACT_MAX,
};

static const char *const filter_facts[FACT_MAX] = {
	"watch.pid", SESSION_FACT_PORT, "watch.ifname", "watch.netns", "watch.origin",
	"watch.stages", WATCH_FACT_SLOWER, "watch.backend", "watch.hol", "watch.by",
	"watch.cgroup", "watch.probe", "watch.sample", "watch.min_queue",
};

static const char *const filter_options[FACT_MAX] = {
	"--pid", "--port", "--ifname", "--netns", "--origin", "--stages", "--slower-than",
	"--backend", "--hol", "--by", "--cgroup", "--probe",
	"--sample", "--min-queue",
};

static int fact_index(const char *key)
{
	for (int i = 0; i < FACT_MAX; i++)
		if (!strcmp(key, filter_facts[i]))
			return i;
	return -1;
}

uint32_t session_fact_bit(const char *key)
{
	int i = fact_index(key);

	return i < 0 ? 0 : 1U << i;
}

static bool number_differs(uint64_t asked, const char *value)
{
	uint64_t recorded = 0;

	return asked && (parse_u64(value, &recorded) || recorded != asked);
}

/* Of the stages asked for, at least one must be there. */
static bool stages_differ(uint64_t asked, const char *value)
{
	uint64_t recorded = 0;

	return asked && (parse_u64(value, &recorded) || !(recorded & asked));
}

static bool text_differs(const char *asked, const char *value)
{
	return asked && strcmp(asked, value);
}

const char *session_fact_differs(const struct probe_options *o, const char *key, const char *value)
{
	int i = fact_index(key);
	bool differs = false;

	switch (i) {
	case FACT_PID:
		differs = number_differs(o->pid, value);
		break;
	case FACT_PORT:
		differs = number_differs(o->port, value);
		break;
	case FACT_IFNAME:
		differs = text_differs(o->ifname, value);
		break;
	case FACT_NETNS:
		differs = text_differs(o->netns, value);
		break;
	case FACT_CGROUP:
		differs = text_differs(o->cgroup, value);
		break;
	case FACT_PROBE:
		differs = text_differs(o->probe, value);
		break;
	case FACT_ORIGIN:
		differs = text_differs(o->origin ? origin_name(o->origin) : NULL, value);
		break;
	case FACT_BACKEND:
		differs = text_differs(o->backend ? backend_choices[o->backend].name : NULL, value);
		break;
	case FACT_HOL:
		differs = text_differs(o->hol ? hol_choices[o->hol].name : NULL, value);
		break;
	case FACT_BY:
		differs = number_differs(o->by, value);
		break;
	case FACT_SAMPLE:
		differs = number_differs(o->one_in, value);
		break;
	case FACT_MIN_QUEUE:
		differs = number_differs(o->min_queue, value);
		break;
	case FACT_SLOWER:
		differs = number_differs(o->slower_than_ns, value);
		break;
	case FACT_STAGES:
		differs = stages_differ(o->stages, value);
		break;
	}
	return differs ? filter_options[i] : NULL;
}

const char *session_fact_missing(const struct probe_options *o, uint32_t recorded)
{
	const bool asked[FACT_MAX] = {
		[FACT_PID] = o->pid, [FACT_PORT] = o->port, [FACT_IFNAME] = o->ifname,
		[FACT_NETNS] = o->netns, [FACT_ORIGIN] = o->origin,
		[FACT_SLOWER] = o->slower_than_ns, [FACT_BACKEND] = o->backend,
		[FACT_HOL] = o->hol, [FACT_BY] = o->by, [FACT_CGROUP] = o->cgroup,
		[FACT_PROBE] = o->probe, [FACT_SAMPLE] = o->one_in,
		[FACT_MIN_QUEUE] = o->min_queue,
	};

	for (int i = 0; i < FACT_MAX; i++)
		if (asked[i] && !(recorded & 1U << i))
			return filter_options[i];
	return NULL;
}
