/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/live_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/stop.h"
#include "clock/clock.h"
#include "cmd/cmd.h"
#include "cmd/measuring.h"
#include "cmd/recording.h"
#include "cmd/run_facts.h"
#include "cmd/live_activity.h"
#include "cmd/live_check.h"
#include "diagnose/diagnose.h"
#include "event/memsource.h"
#include "event/names.h"
#include "probe/cpu/timekeeping.h"
#include "probe/packet/pkt_probe.h"
#include "watch/watch.h"

/*
 * Time for which the run continues after the process of --pid has ended: its last packets may still
 * be sent and acknowledged.
 */
#define LAST_PACKETS_NS (200 * NS_PER_MS)

struct live_watch {
	const struct live_watch_config *config;
	struct pkt_probe_config probe_config; /* copy of *config->probe, completed by the run */
	struct live_watch_result *result;
	struct pkt_probe *probe;
	struct live_activity activity;
	struct timekeeping *clocks; /* recorder of the host's clocks; NULL: they are not recorded */
	uint64_t messages_lost, activity_lost; /* losses reported so far */
	struct event_memsource *queue;
	struct event_dict *dict;
	struct recording recording;
	struct stop stop;
	int pid_fd;   /* pidfd of --pid, readable when the process has ended; -1: none */
	bool done;
	bool misused; /* the command line is wrong: the exit code is EXIT_USAGE */
};

/* ---- the loop ---- */

/* Passes the queued events to the recording and the view. Returns 1 to end the run, 0 or -errno. */
static int live_watch_drain(struct live_watch *s)
{
	struct event_source *source = event_memsource_source(s->queue);
	struct event_block block;
	int err;

	while ((err = event_source_next(source, &block)) > 0) {
		/* A full recording ends the view, too: it shows only recorded intervals. */
		if (!recording_fits(&s->recording, &block)) {
			s->result->end = LIVE_FULL;
			s->done = true;
			continue;
		}
		recording_copy(&s->recording, &block);
		if (!s->config->feed || s->done)
			continue;
		err = s->config->feed(s->config->ctx, &block);
		if (err < 0)
			return err;
		s->done = err;
		if (err)
			s->result->end = LIVE_COUNT;
	}
	if (!err)
		recording_flush(&s->recording);
	return err ? err : s->done;
}

/* Writes messages and CPU activity to the recording. Returns 1 if it is full: the run ends. */
static int live_watch_pull(struct live_watch *s)
{
	struct recording *r = &s->recording;
	int err = 0;

	if (!r->writer)
		return 0;
	if (s->probe_config.messages)
		err = pkt_probe_messages(s->probe, r->writer);
	if (!err)
		err = live_activity_pull(&s->activity, r->writer);
	if (!err && s->clocks)
		err = timekeeping_pull(s->clocks);
	recording_failed(r, err);
	if (!r->writer || !event_writer_full(r->writer))
		return 0;
	s->result->end = LIVE_FULL;
	return 1;
}

static bool live_watch_pulls(const struct live_watch *s)
{
	return s->probe_config.messages || s->config->activity;
}

/* Logs the end of the process of --pid. Returns the time, in ns, at which the run ends. */
static uint64_t live_watch_pid_ended(struct live_watch *s)
{
	log_info("process %" PRIu64 " has ended", s->probe_config.pid);
	s->result->end = LIVE_PROCESS;
	return clock_now() + LAST_PACKETS_NS;
}

/*
 * Waits until `until`; meanwhile follows changes of the clock and records events. Returns 1 to end
 * the run, 0 or -errno.
 */
static int live_watch_wait_until(struct live_watch *s, uint64_t until)
{
	struct pollfd fds[] = {
		{ .fd = s->stop.fd, .events = POLLIN },
		{ .fd = pkt_probe_clock_fd(s->probe), .events = POLLIN },
		{ .fd = s->pid_fd, .events = POLLIN },
		{ .fd = s->config->obey_keys ? s->config->keys_fd : -1, .events = POLLIN },
	};

	for (;;) {
		uint64_t now = clock_now(), wait = now < until ? until - now : 0;
		struct timespec rest;
		int n, err;

		if (live_watch_pulls(s) && wait > ACTIVITY_PULL_NS)
			wait = ACTIVITY_PULL_NS;
		rest = (struct timespec){ .tv_sec = wait / NS_PER_S, .tv_nsec = wait % NS_PER_S };
		/* Do not wait if a signal has already stopped the run during a blocking write. */
		n = stop_requested(&s->stop) ? 0 : ppoll(fds, ARRAY_LEN(fds), &rest, NULL);
		if (stop_requested(&s->stop) || live_watch_pull(s))
			return 1;
		if (n > 0 && fds[2].revents) {
			until = live_watch_pid_ended(s);
			fds[2].fd = -1;
		}
		if (n > 0 && fds[1].revents) {
			err = pkt_probe_clock(s->probe, event_memsource_sink(s->queue));
			if (err)
				return err;
		}
		if (n > 0 && fds[3].revents) {
			err = s->config->obey_keys(s->config->keys_ctx);
			if (err)
				return err;
		}
		if (!n && clock_now() >= until)
			return s->result->end == LIVE_PROCESS;
	}
}

/* Reports events lost since the last call to the recording and the view, as EV_LOSS. */
static int live_watch_put_lost(struct live_watch *s, uint16_t kind, uint64_t lost,
			       uint64_t *reported)
{
	const struct event_loss loss = {
		.why = LOSS_PRODUCER, .kind = kind, .records = lost - *reported,
	};

	*reported = lost;
	return !loss.records ? 0 :
	       event_put(event_memsource_sink(s->queue), EV_LOSS, clock_now(), &loss, sizeof(loss));
}

static int live_watch_snapshot(struct live_watch *s, uint32_t flags)
{
	int err = live_watch_put_lost(s, EV_MESSAGE, pkt_probe_messages_lost(s->probe),
				      &s->messages_lost);

	if (!err)
		err = live_watch_put_lost(s, EV_EDGE, live_activity_lost(&s->activity),
					  &s->activity_lost);
	err = err ?: pkt_probe_snapshot(s->probe, event_memsource_sink(s->queue), s->dict,
					  flags);
	return err ? err : live_watch_drain(s);
}

static int live_watch_run_intervals(struct live_watch *s)
{
	const struct live_watch_config *c = s->config;
	uint64_t start = clock_now(), next = start;
	uint64_t end = c->duration_ns ? start + c->duration_ns : 0;
	int err = 0;

	while (!err) {
		next += c->interval_ns;
		if (end && next > end)
			next = end;
		err = live_watch_wait_until(s, next);
		if (err < 0)
			return err;
		err = live_watch_snapshot(s, err || (end && next >= end) ? INTERVAL_LAST : 0)
			      ?: err;
		if (end && next >= end) {
			if (!err)
				s->result->end = LIVE_TIME;
			return err < 0 ? err : 0;
		}
		while (next + c->interval_ns < clock_now())
			next += c->interval_ns; /* after a stall, skip the missed intervals */
	}
	return err < 0 ? err : 0;
}

/*
 * Prepares recording CPU activity. If the kernel lacks a feature that this needs, messages can
 * still be recorded: result->lacks_activity is set. Returns 0, or -errno after a message.
 */
static int live_watch_open_activity(struct live_watch *s)
{
	int err = live_activity_open(&s->activity, s->probe_config.pid, s->config->functions);

	if (!err || s->activity.activity || !s->probe_config.messages)
		return err;
	s->result->lacks_activity = true;
	return 0;
}

static int live_watch_open_probe(struct live_watch *s)
{
	char why[256];
	int err = live_check(&s->probe_config, s->config->activity);

	s->misused = err == -EINVAL;
	if (!err && s->config->activity)
		err = live_watch_open_activity(s);
	if (err)
		return err;
	s->probe_config.activity = s->activity.activity;
	err = pkt_probe_open(&s->probe, &s->probe_config, why, sizeof(why));
	if (err)
		log_error("%s", why);
	else if (!pkt_probe_proven(s->probe))
		log_warning("the BPF programs were not tested: the self-test needs CAP_SYS_ADMIN "
			    "or kernel.bpf_stats_enabled=1, and a loopback interface that is up");
	return err;
}

/*
 * Records how messages are delimited, by requests or by marks, as a fact. In a recording without
 * this fact, a message is the data of one receive call.
 */
static int live_watch_put_boundary(struct live_watch *s)
{
	const uint32_t messages = s->probe_config.messages;
	const char *boundary = messages == MESSAGES_BY_REQUEST ? DIAGNOSE_BY_REQUEST :
			       messages == MESSAGES_BY_MARK ? DIAGNOSE_BY_MARK : NULL;

	if (!boundary)
		return 0;
	return event_put_fact(event_memsource_sink(s->queue), clock_now(), DIAGNOSE_FACT_BOUNDARY,
			      boundary);
}

static int live_watch_measure(struct live_watch *s)
{
	int err = event_memsource_new(&s->queue, live_options_queue_bytes(s->probe_config.memory));

	s->dict = event_dict_new();
	if (!err && !s->dict)
		err = -ENOMEM;
	if (!err)
		err = live_options_put_facts(&s->probe_config, s->config->interval_ns,
					     event_memsource_sink(s->queue), clock_now());
	if (!err)
		err = live_watch_put_boundary(s);
	if (!err)
		err = pkt_probe_describe(s->probe, event_memsource_sink(s->queue), s->dict);
	if (!err)
		err = live_watch_drain(s);
	if (err < 0)
		return err;
	if (err)
		return 0;
	if (s->recording.writer && live_watch_pulls(s))
		recording_failed(&s->recording,
				 timekeeping_start(&s->clocks,
						   event_writer_sink(s->recording.writer)));
	err = live_activity_start(&s->activity);
	if (err)
		return err;
	measuring_begin();
	return live_watch_run_intervals(s);
}

/*
 * Writes the events since the last live_watch_pull() to the recording, and ends the spans of CPU
 * activity that are still open.
 */
static void live_watch_end_pulling(struct live_watch *s)
{
	if (s->recording.writer && s->probe_config.messages)
		recording_failed(&s->recording,
				 pkt_probe_messages(s->probe, s->recording.writer));
	if (s->recording.writer)
		recording_failed(&s->recording,
				 live_activity_end(&s->activity, s->recording.writer));
	recording_failed(&s->recording, timekeeping_stop(s->clocks));
}

/* Opens a pidfd before hooks are attached: the run ends even if the process ends meanwhile. */
static void live_watch_follow_pid(struct live_watch *s)
{
	const uint64_t pid = s->probe_config.pid;

	s->pid_fd = pid ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1;
	/* ESRCH, no such process: live_check() reports it */
	if (pid && s->pid_fd < 0 && errno != ESRCH)
		log_warning("--pid: the run will not end with the process: pidfd_open() failed "
			    "(%s)",
			    strerror(errno));
}

int live_watch_run(const struct live_watch_config *config, struct live_watch_result *result)
{
	struct live_watch s = {
		.config = config, .probe_config = *config->probe, .result = result, .pid_fd = -1,
	};
	bool said = true;
	int err;

	*result = (struct live_watch_result){ 0 };
	s.probe_config.stages = live_options_stages(config->probe);
	err = stop_init(&s.stop);
	live_watch_follow_pid(&s);
	if (!err)
		err = live_watch_open_probe(&s);
	if (!err)
		err = recording_open(&s.recording, config->record, config->size_limit,
				     config->result_fd);
	if (!err) {
		recording_begin(&s.recording);
		err = live_watch_measure(&s);
		said = false;
	}
	if (!said)
		live_watch_end_pulling(&s);
	recording_close(&s.recording);
	result->record_error = s.recording.error;
	result->recorded_bytes = s.recording.bytes;
	live_activity_release(&s.activity);
	pkt_probe_free(s.probe);
	event_memsource_free(s.queue);
	event_dict_free(s.dict);
	if (s.pid_fd >= 0)
		close(s.pid_fd);
	stop_release(&s.stop);
	if (err && !said && err != -ECANCELED)
		log_error("the measurement failed: %s", strerror(-err));
	if (s.misused)
		return EXIT_USAGE;
	return err ? EXIT_CANNOT : EXIT_OK;
}
