/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "cmd/run_facts.h"
#include "cmd/live_options.h"
#include "host/task.h"
#include "watch/watch.h"

#define BIT(stage) (1ULL << (stage))
#define BY(key) (1ULL << (key))

#define STAGE_CHOICE(NAME, value, name, when) { name, BIT(value), when },
static const struct opt_choice stage_choices[] = {
	INGRESS_STAGE_LIST(STAGE_CHOICE)
	{ "ingress", INGRESS_STAGES, "all stages of received packets, link to read" },
	ARRIVAL_STAGE_LIST(STAGE_CHOICE)
	{ "arrival", ARRIVAL_STAGES | BIT(STAGE_LINK), "irq, poll and link: before the stack" },
	EGRESS_STAGE_LIST(STAGE_CHOICE)
	{ "egress", EGRESS_STAGES, "all stages of sent packets, segment to acked" },
	{ "all", INGRESS_STAGES | EGRESS_STAGES, "ingress and egress" },
	{ NULL, 0, NULL },
};

static const struct opt_choice origin_choices[] = {
	{ "auto", ORIGIN_NONE,
	  "per packet: stack if the kernel stamped the packet on receive, otherwise link" },
	{ "link", ORIGIN_LINK, "hostlat's own stamp when the stack receives the packet" },
	{ "stack", ORIGIN_STACK, "the kernel's receive stamp" },
	{ "deliver", ORIGIN_DELIVER, "the kernel's receive stamp, taken at local delivery "
				     "(loopback, veth)" },
	{ "sender", ORIGIN_SENDER, "the stamp that a sender on this host left in the packet" },
	{ NULL, 0, NULL },
};

static const struct opt_choice backend_choices[] = {
	[BACKEND_AUTO] = { "auto", BACKEND_AUTO,
			   "the first kind of hook that this kernel accepts" },
	[BACKEND_TRACEPOINT] = { "tracepoint", BACKEND_TRACEPOINT,
				 "tracepoints, netfilter and cgroup hooks" },
	[BACKEND_FENTRY] = { "fentry", BACKEND_FENTRY, "kernel functions, at stages "
						       "that have one" },
	{ NULL, 0, NULL },
};

static const struct opt_choice hol_choices[] = {
	[HOL_EXCLUDE] = { "exclude", HOL_EXCLUDE,
				"count these packets, and do not measure them from enqueued on" },
	[HOL_INCLUDE] = { "include", HOL_INCLUDE, "count this waiting time in the step enqueued" },
	[HOL_SEPARATE] = { "separate", HOL_SEPARATE,
				 "show this waiting time as a separate distribution" },
	{ NULL, 0, NULL },
};

static const struct opt_choice by_choices[] = {
	{ "cgroup", BY(GROUP_CGROUP), "the socket's control group" },
	{ "netns", BY(GROUP_NETNS), "the socket's network namespace" },
	{ "ifindex", BY(GROUP_IFINDEX), "the interface that received or sent the packet" },
	{ "port", BY(GROUP_PORT), "the socket's local port" },
	{ "cpu", BY(GROUP_CPU), "the CPU that received or sent the packet" },
	{ "rxq", BY(GROUP_RXQ), "the network card's receive queue" },
	{ "comm", BY(GROUP_COMM), "the name of the thread that reads the packet, from "
				  "runnable on" },
	{ NULL, 0, NULL },
};

const struct opt probe_option_rows[] = {
	OPT_SET(struct pkt_probe_config, stages, .name = "stages",
		.group = OPT_MEASURE, .choices = stage_choices,
		.fact = "watch.stages",
		.help = "Stages to measure (default: ingress without ip, which needs two "
			"more hooks on every packet; with --from, the recorded stages)"),
	OPT_CHOICE(struct pkt_probe_config, origin, .name = "origin",
		   .group = OPT_MEASURE, .rare = true, .choices = origin_choices,
		   .fact = "watch.origin",
		   .def = "auto",
		   .help = "Time stamp from which latencies are measured"),
	OPT_CHOICE(struct pkt_probe_config, backend, .name = "backend",
		   .group = OPT_MEASURE, .rare = true,
		   .choices = backend_choices, .fact = "watch.backend",
		   .def = "auto",
		   .help = "Kind of hook to use where a stage has several"),
	OPT_CHOICE(struct pkt_probe_config, hol, .name = "hol",
		   .group = OPT_MEASURE, .rare = true, .choices = hol_choices,
		   .fact = "watch.hol",
		   .def = "exclude",
		   .help = "Treatment of TCP packets that wait behind a lost or late one "
			   "(head-of-line blocking)"),
	OPT_SET(struct pkt_probe_config, by, .name = "by",
		.group = OPT_MEASURE, .choices = by_choices,
		.fact = "watch.by",
		.help = "Show separate rows for each group of packets that have these properties "
			"in common"),
	OPT_U64(struct pkt_probe_config, pid, .name = "pid",
		.group = OPT_TARGET, .letter = 'p', .fact = "watch.pid",
		.min = 1, .max = 4194304,
		.help = "Measure only packets that this process reads or sends; the run "
			"ends with the process"),
	OPT_U64(struct pkt_probe_config, port, .name = "port",
		.group = OPT_TARGET, .min = 1, .max = 65535,
		.fact = LIVE_FACT_PORT,
		.help = "Measure only sockets bound to this local port"),
	OPT_STRING(struct pkt_probe_config, ifname, .name = "ifname",
		   .group = OPT_TARGET, .letter = 'i',
		   .metavar = "NAME", .fact = "watch.ifname",
		   .help = "Measure only packets that this interface receives or sends, in "
			   "any network namespace"),
	OPT_STRING(struct pkt_probe_config, netns, .name = "netns",
		   .group = OPT_TARGET, .metavar = "NAME",
		   .fact = "watch.netns",
		   .help = "Measure only this network namespace: a name, an inode number, "
			   "or the pid of a process in it (default: all)"),
	OPT_STRING(struct pkt_probe_config, cgroup, .name = "cgroup",
		   .group = OPT_TARGET, .metavar = "PATH",
		   .fact = "watch.cgroup",
		   .help = "Measure only sockets of this control group (cgroup2) and of its "
			   "descendants"),
	OPT_U64(struct pkt_probe_config, min_queue, .name = "min-queue",
		.group = OPT_TARGET, .rare = true, .metavar = "N",
		.fact = "watch.min_queue", .max = 65535,
		.help = "Measure only packets that find at least N unread packets in their "
			"socket's receive queue"),
	OPT_DURATION(struct pkt_probe_config, slower_than_ns, .name = "slower-than",
		     .group = OPT_MEASURE,
		     .fact = WATCH_FACT_SLOWER, .min = NS_PER_US, .max = NS_PER_DAY,
		     .help = "Report each message that takes this long or longer: when and by "
			     "which thread it was read, and how long each stage took"),
	OPT_ONE_IN(struct pkt_probe_config, one_in, .name = "sample",
		   .group = OPT_MEASURE, .excludes = "probe",
		   .fact = "watch.sample",
		   .help = "Measure one of N packets, the same packets at every stage; counts are "
			   "then estimates"),
	OPT_PERCENT(struct pkt_probe_config, max_overhead, .name = "max-overhead",
		    .group = OPT_MEASURE, .rare = true,
		    .help = "Limit hostlat's share of the CPUs' time: measure fewer "
			    "packets, and in the end none, rather than exceed it"),
	OPT_STRING(struct pkt_probe_config, probe, .name = "probe",
		   .group = OPT_MEASURE, .rare = true, .metavar = "NAME",
		   .fact = "watch.probe",
		   .help = "Add a stage: calls of this kernel function or tracepoint with "
			   "a received packet"),
	OPT_SIZE(struct pkt_probe_config, memory, .name = "memory",
		 .group = OPT_MEASURE, .rare = true, .def = "64M",
		 .min = PKT_MEMORY_FIXED + PKT_MEMORY_PER_CPU, .max = 1ULL << 40,
		 .help = "Memory for maps in the kernel: at least " LITERAL(PKT_MEMORY_FIXED_KIB)
			 "K plus " LITERAL(PKT_MEMORY_PER_CPU_KIB) "K for each CPU, and 8M more "
			 "with --by"),
	OPT_END,
};

#define QUEUE_LEAST (16UL << 20)

uint64_t live_options_queue_bytes(uint64_t memory)
{
	return QUEUE_LEAST + 2 * memory;
}

uint64_t live_options_stages(const struct pkt_probe_config *o)
{
	uint64_t stages = o->stages ? o->stages : INGRESS_STAGES & ~BIT(STAGE_IP);

	return o->probe ? stages | BIT(STAGE_PROBE) : stages;
}

/* ---- facts at the start of a stream ---- */

static int live_options_put_target(struct event_sink *sink, uint64_t now,
				   const struct pkt_probe_config *o)
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

#define NUMBER_TEXT 24

/*
 * Returns the option's value as the text that a recording stores as a fact, or NULL if it has no
 * value; a choice always has one. The text is borrowed from the option or its row, or in `number`.
 */
static const char *live_options_fact_value(const struct opt *row,
					   const struct pkt_probe_config *c,
					   char number[NUMBER_TEXT])
{
	const void *member = (const char *)c + row->offset;
	const struct opt_choice *choice = row->choices;

	switch (row->type) {
	case OPT_TYPE_STRING:
		return *(const char *const *)member;
	case OPT_TYPE_CHOICE:
		while (choice->value != *(const uint32_t *)member)
			choice++;
		return choice->name;
	default:
		snprintf(number, NUMBER_TEXT, "%" PRIu64, *(const uint64_t *)member);
		return *(const uint64_t *)member ? number : NULL;
	}
}

int live_options_put_facts(const struct pkt_probe_config *c, uint64_t interval_ns,
			   struct event_sink *sink, uint64_t now)
{
	char number[NUMBER_TEXT];
	int err = run_facts_put(sink, now);

	if (!err)
		err = live_options_put_target(sink, now, c);
	snprintf(number, sizeof(number), "%" PRIu64, interval_ns);
	if (!err)
		err = event_put_fact(sink, now, "watch.interval_ns", number);
	for (const struct opt *row = probe_option_rows; !err && row->type; row++) {
		const char *text = row->fact ? live_options_fact_value(row, c, number) : NULL;

		err = text ? event_put_fact(sink, now, row->fact, text) : 0;
	}
	return err ? err : run_facts_put_host(sink, now);
}

_Static_assert(ARRAY_LEN(probe_option_rows) <= 32, "a bit for each option");

/*
 * Returns the value of this option with which a recording must have been made. NULL: any value,
 * because the option is not given or has its default (a choice of value 0).
 */
static const char *live_options_required_value(const struct opt *row,
					       const struct pkt_probe_config *c,
					       char number[NUMBER_TEXT])
{
	if (!row->fact ||
	    (row->type == OPT_TYPE_CHOICE && !*(const uint32_t *)((const char *)c + row->offset)))
		return NULL;
	return live_options_fact_value(row, c, number);
}

/* Returns whether a recording lacks all requested stages; a view may show some of its stages. */
static bool live_options_has_no_stage(const struct pkt_probe_config *c, const char *value)
{
	uint64_t recorded = 0;

	return parse_u64(value, &recorded) || !(recorded & c->stages);
}

const char *live_options_fact_differs(const struct pkt_probe_config *config, const char *key,
				      const char *value, uint32_t *recorded)
{
	char number[NUMBER_TEXT];

	for (const struct opt *row = probe_option_rows; row->type; row++) {
		const char *text;

		if (!row->fact || strcmp(key, row->fact))
			continue;
		*recorded |= 1U << (row - probe_option_rows);
		text = live_options_required_value(row, config, number);
		if (text &&
		    (row->choices == stage_choices ? live_options_has_no_stage(config, value)
						   : strcmp(text, value) != 0))
			return row->name;
	}
	return NULL;
}

const char *live_options_fact_missing(const struct pkt_probe_config *config, uint32_t recorded)
{
	char number[NUMBER_TEXT];

	for (const struct opt *row = probe_option_rows; row->type; row++)
		if (row->choices != stage_choices &&
		    live_options_required_value(row, config, number) &&
		    !(recorded & 1U << (row - probe_option_rows)))
			return row->name;
	return NULL;
}
