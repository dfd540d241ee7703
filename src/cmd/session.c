/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/session.h"

#include <errno.h>
#include <fcntl.h>
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
#include "base/version.h"
#include "clock/clock.h"
#include "cmd/cmd.h"
#include "cmd/watch_view.h"
#include "event/memsource.h"
#include "event/names.h"
#include "event/writer.h"
#include "host/facts_collect.h"
#include "host/iface.h"
#include "host/netns.h"
#include "host/task.h"
#include "probe/watch_probe.h"

#define BIT(stage) (1ULL << (stage))
#define QUEUE_LIMIT (16UL << 20)
/* BPF statistics are on for a tenth of each interval. */
#define METER_SHARE 10

static const struct opt_choice stage_choices[] = {
	{ "link", BIT(STAGE_LINK), "the stack receives the packet" },
	{ "ip", BIT(STAGE_IP), "IP processing starts" },
	{ "transport", BIT(STAGE_TRANSPORT), "TCP or UDP processing starts" },
	{ "enqueued", BIT(STAGE_ENQUEUED), "the payload is in the socket's queue" },
	{ "runnable", BIT(STAGE_RUNNABLE), "the reader was woken" },
	{ "running", BIT(STAGE_RUNNING), "the reader got a CPU" },
	{ "read", BIT(STAGE_READ), "the application has the bytes" },
	{ "all", BIT(STAGE_LINK) | BIT(STAGE_IP) | BIT(STAGE_TRANSPORT) | BIT(STAGE_ENQUEUED) |
	  BIT(STAGE_RUNNABLE) | BIT(STAGE_RUNNING) | BIT(STAGE_READ), "all of these" },
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

const struct opt probe_option_rows[] = {
	OPT_SET(struct probe_options, stages, .name = "stages", .choices = stage_choices,
		.def = "link,transport,enqueued,runnable,running,read",
		.help = "What to measure; ip needs two more hooks on every packet"),
	OPT_CHOICE(struct probe_options, origin, .name = "origin", .choices = origin_choices,
		   .def = "auto", .help = "What latencies are measured from"),
	OPT_U64(struct probe_options, pid, .name = "pid", .letter = 'p', .min = 1, .max = 4194304,
		.help = "Only packets that this process reads"),
	OPT_U64(struct probe_options, port, .name = "port", .min = 1, .max = 65535,
		.help = "Only sockets whose local port it is"),
	OPT_STRING(struct probe_options, ifname, .name = "ifname", .letter = 'i', .metavar = "NAME",
		   .help = "Only packets that came by this interface, in whatever namespace"),
	OPT_STRING(struct probe_options, netns, .name = "netns", .metavar = "NAME",
		   .help = "Only this network namespace: a name, an inode number, or the pid of a "
			   "process in it. Without it, all"),
	OPT_SIZE(struct probe_options, memory, .name = "memory", .def = "64M", .min = 64 << 10,
		 .max = 1ULL << 40, .help = "What the maps in the kernel may take"),
	OPT_END,
};

struct session {
	const struct session_config *config;
	struct session_result *result;
	struct watch_probe *probe;
	struct event_memsource *queue;
	struct event_dict *dict;
	struct event_writer *writer;
	struct stop stop;
	int file;
	bool done;
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

static int check_iface(const struct probe_options *o)
{
	struct host_netns_vec list = {};
	size_t unknown = 0;
	int found = 0;

	if (!o->ifname)
		return 0;
	if (!host_netns_list(NULL, &list))
		found = host_iface_exists(&list, o->ifname, NULL, &unknown);
	host_netns_vec_release(&list);
	if (found > 0)
		return 0;
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
	if (!host_task_get(NULL, o->pid, &task))
		return 0;
	log_error("--pid %" PRIu64 ": there is no such process", o->pid);
	return -ESRCH;
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

static int put_host_facts(struct event_sink *sink, uint64_t now)
{
	struct host_facts facts;
	int err = host_facts_collect(NULL, &facts);

	for (size_t i = 0; !err && i < facts.len; i++)
		err = event_put_fact(sink, now, facts.items[i].key, facts.items[i].value);
	host_facts_release(&facts);
	return err;
}

static int put_facts(struct session *s)
{
	const struct probe_options *o = s->config->probe;
	struct event_sink *sink = event_memsource_sink(s->queue);
	uint64_t now = clock_mono_ns(clock_system());
	char host[256] = "";
	int err;

	gethostname(host, sizeof(host) - 1);
	err = event_put_fact(sink, now, FACT_VERSION, hostlat_version());
	if (!err)
		err = event_put_fact(sink, now, FACT_HOST, host);
	if (!err)
		err = put_number(sink, now, FACT_STARTED, clock_real_ns(clock_system()));
	if (!err)
		err = put_target(sink, now, o);
	if (!err)
		err = put_number(sink, now, "watch.interval_ns", s->config->interval_ns);
	if (!err)
		err = put_number(sink, now, "watch.stages", o->stages);
	if (!err)
		err = put_number(sink, now, "watch.pid", o->pid);
	if (!err)
		err = put_number(sink, now, "watch.port", o->port);
	if (!err && o->ifname)
		err = event_put_fact(sink, now, "watch.ifname", o->ifname);
	if (!err && o->netns)
		err = event_put_fact(sink, now, "watch.netns", o->netns);
	if (!err)
		err = event_put_fact(sink, now, "watch.origin",
				     o->origin ? origin_name(o->origin) : "auto");
	return err ? err : put_host_facts(sink, now);
}

enum { FACT_PID, FACT_PORT, FACT_IFNAME, FACT_NETNS, FACT_ORIGIN, FACT_STAGES, FACT_MAX };

static const char *const filter_facts[FACT_MAX] = {
	"watch.pid", "watch.port", "watch.ifname", "watch.netns", "watch.origin", "watch.stages",
};

static const char *const filter_options[FACT_MAX] = {
	"--pid", "--port", "--ifname", "--netns", "--origin", "--stages",
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

	return parse_u64(value, &recorded) || !(recorded & asked);
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
	};

	for (int i = 0; i < FACT_MAX; i++)
		if (asked[i] && !(recorded & 1U << i))
			return filter_options[i];
	return NULL;
}

/* ---- recording ---- */

static bool both_there(const char *name)
{
	log_error("%s would be both the recording and the result: name two files", name);
	return false;
}

bool session_files_differ(const char *record, const char *output)
{
	return !record || !output || strcmp(record, output) || both_there(record);
}

/* The recording's file is where the result goes: one would overwrite the other. */
static bool is_result(const struct session *s)
{
	struct stat file, result;

	return !fstat(s->file, &file) && !fstat(s->config->result_fd, &result) &&
	       file.st_dev == result.st_dev && file.st_ino == result.st_ino;
}

static int open_record(struct session *s)
{
	struct event_writer_options options = {
		.size_limit = s->config->size_limit,
		.started_ns = clock_real_ns(clock_system()),
	};
	int err;

	if (!s->config->record)
		return 0;
	s->file = open(s->config->record, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
	err = s->file < 0 ? -errno : 0;
	if (!err && is_result(s)) {
		both_there(s->config->record);
		return -EEXIST;
	}
	if (!err && ftruncate(s->file, 0) && errno != EINVAL) /* EINVAL: a pipe or a device */
		err = -errno;
	if (!err)
		err = event_writer_new(&s->writer, s->file, &options);
	if (err)
		log_error("can't record into %s: %s", s->config->record, strerror(-err));
	return err;
}

/* A recording that fails is said once; the measurement goes on. */
static void record_failed(struct session *s, int err)
{
	if (!err || s->result->record_error)
		return;
	s->result->record_error = err;
	log_error("recording into %s failed: %s; what was written so far can be read",
		  s->config->record, strerror(-err));
}

static void close_record(struct session *s)
{
	if (s->writer) {
		if (event_writer_full(s->writer))
			log_warning("the recording reached its size limit");
		record_failed(s, event_writer_close(s->writer));
	}
	if (s->file >= 0) {
		struct stat file;

		if (!fstat(s->file, &file))
			s->result->recorded_bytes = file.st_size;
		if (close(s->file))
			record_failed(s, -errno);
	}
	s->writer = NULL;
	s->file = -1;
}

/* ---- the loop ---- */

/* Hands on what waits in the queue. 1: enough; -errno. */
static int drain(struct session *s)
{
	struct event_source *source = event_memsource_source(s->queue);
	struct event_block block;
	int err;

	while ((err = event_source_next(source, &block)) > 0) {
		if (s->writer)
			record_failed(s, event_writer_copy(s->writer, &block));
		if (!s->config->take || s->done)
			continue;
		err = s->config->take(s->config->ctx, &block);
		if (err < 0)
			return err;
		s->done = err;
	}
	if (!err && s->writer)
		record_failed(s, event_writer_flush(s->writer));
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
		int n = ppoll(fds, 2, &rest, NULL), err;

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
	uint64_t now;
	int err = 0;

	while (!err) {
		next += c->interval_ns;
		if (end && next > end)
			next = end;
		now = now_ns();
		watch_probe_meter(s->probe, true);
		err = wait_until(s, next > now ? now + (next - now) / METER_SHARE : now);
		watch_probe_meter(s->probe, false);
		if (!err)
			err = wait_until(s, next);
		if (err < 0)
			return err;
		err = snapshot(s, err || (end && next >= end) ? INTERVAL_LAST : 0) ?: err;
		if (end && next >= end)
			return err < 0 ? err : 0;
		while (next + c->interval_ns < now_ns())
			next += c->interval_ns; /* we were stopped: no rush of intervals */
	}
	return err < 0 ? err : 0;
}

static int open_probe(struct session *s)
{
	const struct probe_options *o = s->config->probe;
	struct watch_probe_config config = {
		.stages = o->stages, .origin = o->origin, .pid = o->pid, .port = o->port,
		.ifname = o->ifname, .memory = o->memory,
	};
	char why[256];
	int err;

	err = check_netns(o, &config.netns);
	if (!err)
		err = check_iface(o);
	if (!err)
		err = check_pid(o);
	if (err)
		return err;
	err = watch_probe_open(&s->probe, &config, why, sizeof(why));
	if (err)
		log_error("%s", why);
	else if (!watch_probe_proven(s->probe))
		log_warning("the hooks are not proven: the self-test needs CAP_SYS_ADMIN and a "
			    "loopback interface that is up");
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
	log_info("measuring");
	return run_intervals(s);
}

int session_run(const struct session_config *config, struct session_result *result)
{
	struct session s = { .config = config, .result = result, .file = -1 };
	bool said = true;
	int err;

	*result = (struct session_result){ 0 };
	err = stop_init(&s.stop);
	if (!err)
		err = open_probe(&s);
	if (!err)
		err = open_record(&s);
	if (!err) {
		err = run(&s);
		said = false;
	}
	close_record(&s);
	watch_probe_free(s.probe);
	event_memsource_free(s.queue);
	event_dict_free(s.dict);
	stop_release(&s.stop);
	if (err && !said && err != -ECANCELED)
		log_error("the measurement failed: %s", strerror(-err));
	return err ? EXIT_CANNOT : EXIT_OK;
}
