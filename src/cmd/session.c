/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/session.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "base/parse.h"
#include "base/stop.h"
#include "clock/clock.h"
#include "cmd/cmd.h"
#include "cmd/recording.h"
#include "cmd/run_facts.h"
#include "event/memsource.h"
#include "event/names.h"
#include "host/iface.h"
#include "host/netns.h"
#include "host/task.h"
#include "probe/watch_probe.h"
#include "watch/watch.h"

#define BIT(stage) (1ULL << (stage))
#define QUEUE_LIMIT (16UL << 20)

static const struct opt_choice stage_choices[] = {
	{ "link", BIT(STAGE_LINK), "the stack receives the packet" },
	{ "ip", BIT(STAGE_IP), "IP processing starts" },
	{ "transport", BIT(STAGE_TRANSPORT), "TCP or UDP processing starts" },
	{ "enqueued", BIT(STAGE_ENQUEUED), "the payload is in the socket's queue" },
	{ "runnable", BIT(STAGE_RUNNABLE), "the reader was woken" },
	{ "running", BIT(STAGE_RUNNING), "the reader got a CPU" },
	{ "read", BIT(STAGE_READ), "the application has the bytes" },
	{ "ingress", INGRESS_STAGES, "all of these: what is received" },
	{ "segment", BIT(STAGE_SEGMENT), "TCP lets the packet go: its departure time" },
	{ "qdisc", BIT(STAGE_QDISC), "the packet enters the queueing discipline" },
	{ "driver", BIT(STAGE_DRIVER), "the driver's xmit is called" },
	{ "sent", BIT(STAGE_SENT), "transmit completion" },
	{ "acked", BIT(STAGE_ACKED), "the peer acknowledged it" },
	{ "egress", EGRESS_STAGES, "the last five: what TCP sends" },
	{ "all", INGRESS_STAGES | EGRESS_STAGES, "all of both" },
	{ NULL, 0, NULL },
};

static const struct opt_choice origin_choices[] = {
	{ "auto", ORIGIN_NONE,
	  "by packet: stack where the kernel stamped it on receive, else link" },
	{ "link", ORIGIN_LINK, "when the stack received the packet, by hostlat's own stamp" },
	{ "stack", ORIGIN_STACK, "the kernel's receive stamp" },
	{ "deliver", ORIGIN_DELIVER, "the same, put on at local delivery (loopback, veth)" },
	{ "sender", ORIGIN_SENDER, "the stamp that a sender on this host left" },
	{ NULL, 0, NULL },
};

static const struct opt_choice backend_choices[] = {
	[BACKEND_AUTO] = { "auto", BACKEND_AUTO, "the first that this kernel takes" },
	[BACKEND_TRACEPOINT] = { "tracepoint", BACKEND_TRACEPOINT,
				 "tracepoints, netfilter and cgroup hooks" },
	[BACKEND_FENTRY] = { "fentry", BACKEND_FENTRY, "functions, where a stage has one" },
	{ NULL, 0, NULL },
};

static const struct opt_choice hol_choices[] = {
	[HOL_EXCLUDE] = { "exclude", HOL_EXCLUDE,
				"they are counted, and not measured from enqueued on" },
	[HOL_INCLUDE] = { "include", HOL_INCLUDE, "that time is among the others" },
	[HOL_SEPARATE] = { "separate", HOL_SEPARATE,
				 "that time is a distribution of its own, and in no other" },
	{ NULL, 0, NULL },
};

const struct opt probe_option_rows[] = {
	OPT_SET(struct probe_options, stages, .name = "stages", .choices = stage_choices,
		.help = "What to measure; without it, ingress but for ip, which needs two more "
			"hooks on every packet, or what the recording has"),
	OPT_CHOICE(struct probe_options, origin, .name = "origin", .choices = origin_choices,
		   .def = "auto", .help = "What latencies are measured from"),
	OPT_CHOICE(struct probe_options, backend, .name = "backend", .choices = backend_choices,
		   .def = "auto", .help = "Which hooks measure a stage that has several"),
	OPT_CHOICE(struct probe_options, hol, .name = "hol", .choices = hol_choices,
		   .def = "exclude", .help = "TCP's packets that wait behind a lost or late one "
					     "(head-of-line blocking)"),
	OPT_U64(struct probe_options, pid, .name = "pid", .letter = 'p', .min = 1, .max = 4194304,
		.help = "Only packets that this process reads, or sends"),
	OPT_U64(struct probe_options, port, .name = "port", .min = 1, .max = 65535,
		.help = "Only sockets whose local port it is"),
	OPT_STRING(struct probe_options, ifname, .name = "ifname", .letter = 'i', .metavar = "NAME",
		   .help = "Only packets that come by this interface, or leave by it, in whatever "
			   "namespace"),
	OPT_STRING(struct probe_options, netns, .name = "netns", .metavar = "NAME",
		   .help = "Only this network namespace: a name, an inode number, or the pid of a "
			   "process in it. Without it, all"),
	OPT_DURATION(struct probe_options, slower_than_ns, .name = "slower-than",
		     .min = NS_PER_US, .max = NS_PER_DAY,
		     .help = "Tell of each message that takes this long or longer: when it was "
			     "read, by whom, and how long each stage took"),
	OPT_SIZE(struct probe_options, memory, .name = "memory", .def = "64M",
		 .min = WATCH_MEMORY_FIXED + WATCH_MEMORY_PER_CPU, .max = 1ULL << 40,
		 .help = "What the maps in the kernel may take: 2048K and 392K for each CPU, or "
			 "more"),
	OPT_END,
};

uint64_t session_stages(const struct probe_options *o)
{
	return o->stages ? o->stages : INGRESS_STAGES & ~BIT(STAGE_IP);
}

struct session {
	const struct session_config *config;
	struct session_result *result;
	struct watch_probe *probe;
	struct event_memsource *queue;
	struct event_dict *dict;
	struct recording recording;
	struct stop stop;
	bool done;
	bool misused; /* the command line's fault */
};

/* ---- what the options name must exist ---- */

static int check_netns(const struct probe_options *o, uint64_t *inode)
{
	struct host_netns_vec list = {};
	const struct host_netns *ns = NULL;

	if (!o->netns)
		return 0;
	if (!host_netns_list(NULL, &list))
		ns = host_netns_lookup(NULL, &list, o->netns);
	if (ns)
		*inode = ns->inode;
	else
		log_error("--netns %s: no such network namespace; `ip netns` and `lsns -t net` "
			  "list them", o->netns);
	host_netns_vec_release(&list);
	return ns ? 0 : -ENOENT;
}

/* In how many namespaces the packets of this interface come by others, whose names `below` gets. */
static int count_uppers(const struct host_netns_vec *list, const char *name, struct strbuf *below)
{
	int n = 0;

	for (size_t i = 0; i < list->len; i++) {
		struct host_iface_vec ifaces = {};

		if (host_iface_index(&list->items[i], name) > 0 &&
		    !host_iface_list(&list->items[i], &ifaces))
			n += host_iface_comes_by(&ifaces, name, below);
		host_iface_vec_release(&ifaces);
	}
	return n;
}

/* Packets are told by the interface that they came by: a bond, for instance, has none. */
static int check_lowest(const char *name, const struct host_netns_vec *list, int found)
{
	struct strbuf below = STRBUF_INIT(4096);
	int n = count_uppers(list, name, &below), err = 0;
	const char *names = below.len ? strbuf_str(&below) : "the interface below it, which is in "
							     "another network namespace";

	if (n == found) {
		log_error("--ifname %s: its packets come in by another interface, and are counted "
			  "there: name %s", name, names);
		err = -EOPNOTSUPP;
	} else if (n) {
		log_warning("--ifname %s: in %d of %d network namespaces its packets come in by "
			    "another interface, and are not seen: %s", name, n, found, names);
	}
	strbuf_release(&below);
	return err;
}

static int check_iface(const struct probe_options *o)
{
	struct host_netns_vec list = {};
	size_t unknown = 0;
	int found = 0, err = 0;

	if (!o->ifname)
		return 0;
	if (!host_netns_list(NULL, &list))
		found = host_iface_exists(&list, o->ifname, NULL, &unknown);
	if (found > 0 && (session_stages(o) & INGRESS_STAGES))
		err = check_lowest(o->ifname, &list, found);
	host_netns_vec_release(&list);
	if (found > 0)
		return err;
	log_error("--ifname %s: no interface of this name in any network namespace%s", o->ifname,
		  unknown ? " that can be entered from here" : "");
	return -ENODEV;
}

/* The kernel's programs see pids of the first pid namespace; include/linux/proc_ns.h. */
#define PROC_PID_INIT_INO 0xeffffffcU

static int check_pid(const struct probe_options *o)
{
	struct host_task task;
	struct stat ns;

	if (!o->pid)
		return 0;
	if (!stat("/proc/self/ns/pid", &ns) && ns.st_ino != PROC_PID_INIT_INO) {
		log_error("--pid: hostlat runs in a pid namespace of its own, where pids are not "
			  "the kernel's; run it on the host, or use --port or --netns");
		return -EXDEV;
	}
	if (!host_task_get(NULL, o->pid, &task)) {
		if (task.tgid == task.pid)
			return 0;
		log_error("--pid %d: that is thread %d of process %d: take --pid %d", task.pid,
			  task.pid, task.tgid, task.tgid);
		return -EINVAL;
	}
	log_error("--pid %" PRIu64 ": there is no such process", o->pid);
	return -ESRCH;
}

static int check_origin(const struct probe_options *o)
{
	if (o->origin == ORIGIN_NONE || (session_stages(o) & INGRESS_STAGES))
		return 0;
	log_error("--origin is for ingress stages: what is sent has one origin at each stage");
	return -EINVAL;
}

static int check_slower_than(const struct probe_options *o)
{
	if (!o->slower_than_ns || (session_stages(o) & BIT(STAGE_READ)))
		return 0;
	log_error("--slower-than: a message is judged when it is read: --stages must have read");
	return -EINVAL;
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
	if (!text.len)
		strbuf_puts(&text, "all sockets");
	err = text.error ? text.error : event_put_fact(sink, now, WATCH_FACT_TARGET,
						       strbuf_str(&text));
	strbuf_release(&text);
	return err;
}

static int put_facts(struct session *s)
{
	const struct probe_options *o = s->config->probe;
	struct event_sink *sink = event_memsource_sink(s->queue);
	uint64_t now = clock_mono_ns(clock_system());
	int err = run_facts_put(sink, now);

	if (!err)
		err = put_target(sink, now, o);
	if (!err)
		err = put_number(sink, now, "watch.interval_ns", s->config->interval_ns);
	if (!err)
		err = put_number(sink, now, "watch.stages", session_stages(o));
	if (!err)
		err = put_number(sink, now, "watch.pid", o->pid);
	if (!err)
		err = put_number(sink, now, "watch.port", o->port);
	if (!err)
		err = put_number(sink, now, WATCH_FACT_SLOWER, o->slower_than_ns);
	if (!err && o->ifname)
		err = event_put_fact(sink, now, "watch.ifname", o->ifname);
	if (!err && o->netns)
		err = event_put_fact(sink, now, "watch.netns", o->netns);
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
	FACT_BACKEND, FACT_HOL, FACT_MAX,
};

static const char *const filter_facts[FACT_MAX] = {
	"watch.pid", "watch.port", "watch.ifname", "watch.netns", "watch.origin", "watch.stages",
	WATCH_FACT_SLOWER, "watch.backend", "watch.hol",
};

static const char *const filter_options[FACT_MAX] = {
	"--pid", "--port", "--ifname", "--netns", "--origin", "--stages", "--slower-than",
	"--backend", "--hol",
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
	case FACT_ORIGIN:
		differs = text_differs(o->origin ? origin_name(o->origin) : NULL, value);
		break;
	case FACT_BACKEND:
		differs = text_differs(o->backend ? backend_choices[o->backend].name : NULL, value);
		break;
	case FACT_HOL:
		differs = text_differs(o->hol ? hol_choices[o->hol].name : NULL, value);
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
		[FACT_HOL] = o->hol,
	};

	for (int i = 0; i < FACT_MAX; i++)
		if (asked[i] && !(recorded & 1U << i))
			return filter_options[i];
	return NULL;
}

/* ---- the loop ---- */

/* Hands on what waits in the queue. 1: enough; -errno. */
static int drain(struct session *s)
{
	struct event_source *source = event_memsource_source(s->queue);
	struct event_block block;
	int err;

	while ((err = event_source_next(source, &block)) > 0) {
		if (!recording_fits(&s->recording, &block)) { /* what is told is what is in it */
			s->result->end = SESSION_FULL;
			s->done = true;
			continue;
		}
		recording_copy(&s->recording, &block);
		if (!s->config->take || s->done)
			continue;
		err = s->config->take(s->config->ctx, &block);
		if (err < 0)
			return err;
		s->done = err;
		if (err)
			s->result->end = SESSION_COUNT;
	}
	if (!err)
		recording_flush(&s->recording);
	return err ? err : s->done;
}

static uint64_t now_ns(void)
{
	return clock_mono_ns(clock_system());
}

/* Sleeps until `until`; the clock's changes are followed meanwhile. 1: asked to stop. */
static int wait_until(struct session *s, uint64_t until)
{
	struct pollfd fds[2] = {
		{ .fd = s->stop.fd, .events = POLLIN },
		{ .fd = watch_probe_clock_fd(s->probe), .events = POLLIN },
	};

	for (;;) {
		uint64_t now = now_ns();
		struct timespec rest = {
			.tv_sec = now < until ? (until - now) / NS_PER_S : 0,
			.tv_nsec = now < until ? (until - now) % NS_PER_S : 0,
		};
		/* A signal may have been seen by what waited for the recording's reader. */
		int n = stop_requested(&s->stop) ? 0 : ppoll(fds, 2, &rest, NULL), err;

		if (stop_requested(&s->stop))
			return 1;
		if (n > 0 && fds[1].revents) {
			err = watch_probe_clock(s->probe, event_memsource_sink(s->queue));
			if (err)
				return err;
		}
		if (!n && now_ns() >= until)
			return 0;
	}
}

static int snapshot(struct session *s, uint32_t flags)
{
	int err = watch_probe_snapshot(s->probe, event_memsource_sink(s->queue), s->dict, flags);

	return err ? err : drain(s);
}

static int run_intervals(struct session *s)
{
	const struct session_config *c = s->config;
	uint64_t start = now_ns(), next = start, end = c->duration_ns ? start + c->duration_ns : 0;
	int err = 0;

	while (!err) {
		next += c->interval_ns;
		if (end && next > end)
			next = end;
		err = wait_until(s, next);
		if (err < 0)
			return err;
		err = snapshot(s, err || (end && next >= end) ? INTERVAL_LAST : 0) ?: err;
		if (end && next >= end) {
			if (!err)
				s->result->end = SESSION_TIME;
			return err < 0 ? err : 0;
		}
		while (next + c->interval_ns < now_ns())
			next += c->interval_ns; /* we were stopped: no rush of intervals */
	}
	return err < 0 ? err : 0;
}

static int open_probe(struct session *s)
{
	const struct probe_options *o = s->config->probe;
	struct watch_probe_config config = {
		.stages = session_stages(o), .origin = o->origin, .backend = o->backend,
		.hol = o->hol, .pid = o->pid, .port = o->port, .ifname = o->ifname,
		.slower_than_ns = o->slower_than_ns, .memory = o->memory,
	};
	char why[256];
	int err;

	err = check_origin(o);
	if (!err)
		err = check_slower_than(o);
	if (!err)
		err = check_netns(o, &config.netns);
	if (!err)
		err = check_iface(o);
	if (!err)
		err = check_pid(o);
	s->misused = err == -EINVAL;
	if (err)
		return err;
	err = watch_probe_open(&s->probe, &config, why, sizeof(why));
	if (err)
		log_error("%s", why);
	else if (!watch_probe_proven(s->probe))
		log_warning("the hooks are not proven: the self-test needs CAP_SYS_ADMIN or "
			    "kernel.bpf_stats_enabled=1, and a loopback interface that is up");
	return err;
}

static int run(struct session *s)
{
	int err = event_memsource_new(&s->queue, QUEUE_LIMIT);

	s->dict = event_dict_new();
	if (!err && !s->dict)
		err = -ENOMEM;
	if (!err)
		err = put_facts(s);
	if (!err)
		err = watch_probe_describe(s->probe, event_memsource_sink(s->queue), s->dict);
	if (!err)
		err = drain(s);
	if (err < 0)
		return err;
	if (err)
		return 0;
	log_info("measuring");
	return run_intervals(s);
}

int session_run(const struct session_config *config, struct session_result *result)
{
	struct session s = { .config = config, .result = result };
	bool said = true;
	int err;

	*result = (struct session_result){ 0 };
	err = stop_init(&s.stop);
	if (!err)
		err = open_probe(&s);
	if (!err)
		err = recording_open(&s.recording, config->record, config->size_limit,
				     config->result_fd);
	if (!err) {
		recording_begin(&s.recording);
		err = run(&s);
		said = false;
	}
	recording_close(&s.recording);
	result->record_error = s.recording.error;
	result->recorded_bytes = s.recording.bytes;
	watch_probe_free(s.probe);
	event_memsource_free(s.queue);
	event_dict_free(s.dict);
	stop_release(&s.stop);
	if (err && !said && err != -ECANCELED)
		log_error("the measurement failed: %s", strerror(-err));
	if (s.misused)
		return EXIT_USAGE;
	return err ? EXIT_CANNOT : EXIT_OK;
}
