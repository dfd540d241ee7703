/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/conns_live.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/bug.h"
#include "base/log.h"
#include "base/parse.h"
#include "base/rng.h"
#include "base/stop.h"
#include "clock/clock.h"
#include "clock/follow.h"
#include "cmd/cmd.h"
#include "cmd/conns_ends.h"
#include "cmd/conns_lost.h"
#include "cmd/measuring.h"
#include "cmd/recording.h"
#include "cmd/run_facts.h"
#include "conns/budget.h"
#include "conns/call_budget.h"
#include "conns/downsample.h"
#include "conns/conns.h"
#include "conns/lateness.h"
#include "event/conn_block.h"
#include "event/memsource.h"
#include "probe/connection/conns_source.h"

#define QUEUE_LIMIT (64UL << 20)
/* Longest tick in ns: at its end, records are read, and the CPU budget sets new sampling rates. */
#define TICK_NS (500 * NS_PER_MS)

static const enum conn_level levels[BUDGET_LEVELS] = {
	[BUDGET_HOT] = LEVEL_HOT, [BUDGET_WARM] = LEVEL_WARM, [BUDGET_REST] = LEVEL_REST,
};

struct live {
	const struct conns_live_config *config;
	struct conns_source *source;
	struct event_memsource *queue; /* events to pass on, except connection records and calls */
	struct event_dict *dict;
	struct clock_follow *follow;
	struct recording recording;
	struct downsample downsample;      /* reduces the records written to `recording` */
	struct stop stop;
	struct rng rng;
	struct budget budget;
	struct budget_spent spent;     /* CPU time since the start of the current tick (TICK_NS) */
	uint64_t started, began, tick; /* start of the run, the interval, its current tick */
	uint64_t cpu_before;           /* own CPU time at the start of the current tick */
	uint64_t user_ns, bpf_ns;      /* CPU time of the interval's completed ticks (TICK_NS) */
	struct call_budget call_budget; /* CPU budget of the log of calls (--calls) */
	uint64_t calls_ns;             /* own CPU time for the log of calls in the current tick */
	uint32_t cost_flags;
	struct lateness lateness;
	uint64_t seq;
	struct conns_lost_reported lost;
	struct conns_ends ends;        /* counts of new and closed connections before this tick */
	bool first, full, enough;
};

/* ---- passing events to recording and view ---- */

static bool conns_live_downsamples(const struct live *l)
{
	return l->recording.writer && !l->config->record_all;
}

/* Returns whether the recording has room for the block and the records downsampling still holds. */
static bool conns_live_fits(struct live *l, const struct event_block *block)
{
	struct event_block all = { .kind = EV_CONN, .record_size = sizeof(struct event_conn) };

	if (!conns_live_downsamples(l))
		return recording_fits(&l->recording, block);
	all.size = downsample_most(&l->downsample, 0) * sizeof(struct event_conn);
	/* Names count twice: the dictionary at the file's end repeats them. */
	all.size += block->kind == EV_CONN ? block->count * sizeof(struct event_conn) :
					     2 * block->size;
	return recording_fits(&l->recording, &all);
}

static int conns_live_record(struct live *l, const struct event_block *block)
{
	int err = 0;

	if (block->kind != EV_CONN || !conns_live_downsamples(l)) {
		recording_copy(&l->recording, block);
		return 0;
	}
	for (uint32_t i = 0; i < block->count && !err; i++) {
		struct event_conn e;

		err = downsample_add(&l->downsample, event_block_record(block, i, &e, sizeof(e)));
	}
	return err;
}

/* Records the interval's downsampled connection records; the caller adds EV_INTERVAL after them. */
static int conns_live_record_interval(struct live *l, uint64_t now, bool last)
{
	struct downsample *c = &l->downsample;
	struct event_block block;
	int err;

	if (!conns_live_downsamples(l))
		return 0;
	err = downsample_close(c, now, last);
	for (size_t at = 0; at < c->out.len && !err;) {
		at += event_conn_block(c->out.items + at, c->out.len - at, &block);
		recording_copy(&l->recording, &block);
	}
	vec_clear(&c->out);
	recording_flush(&l->recording);
	return err;
}

static int conns_live_pass_on(struct live *l, const struct event_block *block)
{
	int err;

	if (l->enough)
		return 0;
	if (!conns_live_fits(l, block)) {
		l->full = true; /* ends the run: the result covers recorded events only */
		return 0;
	}
	err = conns_live_record(l, block);
	if (err)
		return err;
	err = l->config->feed(l->config->ctx, block);
	l->enough = err > 0;
	return err < 0 ? err : 0;
}

static int conns_live_drain(struct live *l)
{
	struct event_source *source = event_memsource_source(l->queue);
	struct event_block block;
	int err = 0;

	while (!err && event_source_next(source, &block) > 0)
		err = conns_live_pass_on(l, &block);
	return err;
}

/* Passes queued names to recording and view, then the connection records that refer to names. */
static int conns_live_drain_all(struct live *l)
{
	struct event_block block;
	int err = conns_live_drain(l);

	recording_flush(&l->recording);
	while (conns_source_block(l->source, &block)) {
		if (!err)
			err = conns_live_pass_on(l, &block);
	}
	recording_flush(&l->recording);
	return err;
}

/* ---- an interval ---- */

static int conns_live_sample(struct live *l, unsigned int n)
{
	struct conns_pass pass;
	int err = 0;

	for (unsigned int i = 0; i < n && !err; i++) {
		err = conns_source_sample(l->source, levels[i], l->budget.rates.sample_ns[i],
					 &pass);
		l->spent.walk_ns[i] += pass.cpu_ns;
		l->spent.walks[i]++;
		l->spent.visited[i] += pass.members;
	}
	return err;
}

/*
 * Counts the connections of each activity level for the CPU budget. Adds one to the warm level
 * (active connections), so that the budget allows sampling the next new connection from its begin.
 */
static void conns_live_count_members(struct live *l)
{
	uint64_t members[LEVELS];

	conns_source_members(l->source, members);
	for (unsigned int i = 0; i < BUDGET_LEVELS; i++)
		l->spent.members[i] = members[levels[i]];
	/* Reading the records of the least active level visits connections of all levels. */
	l->spent.members[BUDGET_REST] += members[LEVEL_HOT] + members[LEVEL_WARM];
	l->spent.members[BUDGET_WARM]++;
}

/*
 * Reads connection records, first those of connections with problems, as far as the CPU budget
 * allows. In the first and the last tick of a run, reads all records.
 */
static int conns_live_read_records(struct live *l, bool last)
{
	struct conns_pass pass;
	int err = 0;

	for (unsigned int i = 0; i < BUDGET_LEVELS && !err; i++) {
		/* In the first tick, the CPU budget does not know the connections' activity. */
		err = conns_source_read(l->source, levels[i], last || l->first ? UINT64_MAX :
				       l->budget.rates.reads[i], &pass);
		l->spent.read_ns[i] += pass.cpu_ns;
		l->spent.reads[i] += pass.members;
	}
	conns_live_count_members(l);
	return err;
}

static int conns_live_put_clock(struct live *l)
{
	struct clock_follow_params p;
	struct event_clock e;

	if (clock_follow_update(l->follow, &p))
		return 0; /* no EV_CLOCK: the clock is being set faster than it can be read */
	e = (struct event_clock){
		.mono_ns = (uint64_t)p.mono_ns, .realtime_minus_mono_ns = p.offset_ns,
		.error_ns = p.error_ns, .tai_offset_s = p.tai_offset_s,
		.flags = p.stepped ? CLOCK_STEPPED : 0,
	};
	return event_put(event_memsource_sink(l->queue), EV_CLOCK, e.mono_ns, &e, sizeof(e));
}

/* Marks time as unsampled for which the budget skipped sampling, as it cost more than planned. */
static void conns_live_report_skipped(struct live *l)
{
	const struct budget *b = &l->budget;
	uint64_t now = clock_now(), all = now - l->tick;

	for (int i = 0; i < BUDGET_LEVELS; i++)
		if (b->left[i])
			conns_source_gap(l->source, levels[i], l->tick, now,
					 all * b->left[i] / b->rates.passes[i]);
}

/* Accounts for the CPU time of this tick; sets the sampling and reading rates of the next one. */
static void conns_live_account(struct live *l, uint64_t now)
{
	uint64_t cpu = clock_cpu();
	struct conns_push push;
	struct conns_ends ends;

	if (!conns_source_cost(l->source, &push))
		l->cost_flags |= INTERVAL_NO_BPF_COST;
	else if (!push.exact)
		l->cost_flags |= INTERVAL_BPF_ESTIMATE;
	/* Excludes the log of calls, which has its own budget. */
	l->spent.cpu_ns = cpu - l->cpu_before - l->calls_ns;
	l->spent.push_ns = push.ns;
	l->spent.length_ns = now - l->tick;
	l->user_ns += cpu - l->cpu_before;
	l->bpf_ns += push.ns;
	conns_source_ends(l->source, &ends);
	conns_ends_account(&l->ends, &ends, push.ends_ns, &l->spent);
	budget_close(&l->budget, &l->spent, &l->rng, now);
	conns_source_thin(l->source, l->budget.rates.thin_one_in);
	conns_source_follow(l->source, l->budget.rates.follow_one_in);
	for (int i = 0; i < BUDGET_LEVELS; i++) {
		const struct budget_rates *r = &l->budget.rates;

		conns_source_aim(l->source, levels[i], r->hz[i]);
		conns_source_cover(l->source, levels[i], r->sampled[i] || !r->hz[i], now);
	}
	l->tick = now;
	l->cpu_before = cpu;
	l->calls_ns = 0;
	l->spent = (struct budget_spent){ 0 };
}

/* Reads the logged calls, and sets how many more calls the budget allows. */
static int conns_live_read_calls(struct live *l)
{
	const uint64_t before = clock_cpu();
	const uint64_t grant = call_budget_grant(&l->call_budget, l->budget.config.interval_ns);
	struct event_block block;
	uint64_t n = 0;
	int err;

	if (!l->config->log.on)
		return 0;
	err = conns_source_calls(l->source, grant);
	while (conns_source_call_block(l->source, &block)) {
		n += block.count;
		if (!err)
			err = conns_live_pass_on(l, &block);
	}
	recording_flush(&l->recording);
	l->calls_ns = clock_cpu() - before;
	call_budget_spend(&l->call_budget, n, l->calls_ns);
	return err;
}

/* Reads the records of connections that have closed since the last read. */
static int conns_live_read_ends(struct live *l)
{
	struct conns_pass pass;
	int err = conns_source_read(l->source, LEVEL_HOT, 0, &pass);

	l->spent.ends_ns += pass.cpu_ns;
	return err;
}

/*
 * Passes all connection records to the recording and the view. Charges the CPU time for the records
 * of closed connections to spent.ends_ns, by their share in the number of records.
 */
static int conns_live_drain_records(struct live *l)
{
	const uint64_t before = clock_cpu();
	struct conns_ends now;
	int err = conns_live_drain_all(l);

	conns_source_ends(l->source, &now);
	if (now.records > l->ends.records)
		l->spent.ends_ns += (clock_cpu() - before) * (now.closed - l->ends.closed) /
				    (now.records - l->ends.records);
	return err;
}

static int conns_live_close_tick(struct live *l, bool last)
{
	int err = conns_live_read_ends(l) ?: conns_live_read_records(l, last);
	const uint64_t now = clock_now();

	err = err ?: conns_live_drain_records(l) ?: conns_live_read_calls(l);
	conns_live_account(l, now);
	l->first = false;
	return err;
}

static int conns_live_choose(void *source, uint64_t cookie)
{
	return conns_source_choose(source, cookie);
}

static int conns_live_choose_logged(struct live *l)
{
	const struct conns_live_config *c = l->config;
	int err;

	if (!c->log.on || c->log.all || c->log.cookie || l->enough)
		return 0;
	err = c->choose(c->ctx, conns_live_choose, l->source);
	/* The map of connections to log is full: more are chosen after the next interval. */
	return err == -E2BIG || err == -ENOMEM || err == -EBUSY || err == -EAGAIN ? 0 : err;
}

static int conns_live_close_interval(struct live *l, bool last)
{
	const struct event_interval it = {
		.seq = l->seq++, .from_ns = l->began, .to_ns = l->tick,
		.own_user_ns = l->user_ns, .own_bpf_ns = l->bpf_ns,
		.ncpus = 1, /* the cost is reported as a share of one core */
		.flags = l->cost_flags | (last ? INTERVAL_LAST : 0) |
			 (l->lateness.is_late ? INTERVAL_LATE : 0) |
			 (conns_source_looked(l->source) ? 0 : INTERVAL_UNSEEN),
	};
	int err = conns_lost_put(&l->lost, l->source, event_memsource_sink(l->queue), l->dict,
				 it.to_ns);

	if (!err)
		err = conns_live_record_interval(l, it.to_ns, last || l->full) ?:
		      event_dict_put_loss(l->dict, event_memsource_sink(l->queue), it.to_ns) ?:
		      conns_live_put_clock(l);
	if (!err)
		err = event_put(event_memsource_sink(l->queue), EV_INTERVAL, it.to_ns, &it,
				sizeof(it));
	if (!err)
		err = conns_live_drain(l);
	if (!err)
		err = conns_live_choose_logged(l);
	recording_flush(&l->recording);
	l->began = it.to_ns;
	l->user_ns = l->bpf_ns = 0;
	l->cost_flags = 0;
	return err;
}

/*
 * Waits until the time `until`. Meanwhile reads the records of closed connections when their BPF
 * ring buffer fills. Returns 0, 1 if the run was stopped, or -errno.
 */
static int conns_live_wait_until(struct live *l, uint64_t until)
{
	struct pollfd fds[] = { { .fd = l->stop.fd, .events = POLLIN },
				{ .fd = conns_source_fd(l->source), .events = POLLIN },
				{ .fd = l->config->keys_fd, .events = POLLIN } };
	int n, err = 0;

	while (!err && !stop_requested(&l->stop)) {
		uint64_t now = clock_now(), ns = now < until ? until - now : 0;
		struct timespec rest = { .tv_sec = (time_t)(ns / NS_PER_S),
					 .tv_nsec = (long)(ns % NS_PER_S) };

		if (!ns)
			return 0;
		n = ppoll(fds, ARRAY_LEN(fds), &rest, NULL);
		if (n > 0 && fds[1].revents)
			err = conns_live_read_ends(l);
		if (!err && n > 0 && fds[2].revents)
			err = l->config->obey_keys(l->config->keys_ctx);
	}
	return err ? err : 1;
}

/* Samples connections at the budget's random times up to `end`. Returns 1 if the run is stopped. */
static int conns_live_run_tick(struct live *l, uint64_t end)
{
	unsigned int n;
	bool given_up = false;
	uint64_t at, busy;
	int err = 0;

	while (!err) {
		busy = clock_now();
		if (!budget_next(&l->budget, &l->rng, clock_cpu() - l->cpu_before, &at, &n)) {
			given_up = l->budget.left[0];
			break;
		}
		if (at >= end)
			break;
		err = conns_live_wait_until(l, at);
		lateness_note(&l->lateness, at, busy, clock_now());
		if (!err)
			err = conns_live_sample(l, n);
	}
	if (!err)
		err = conns_live_wait_until(l, end);
	/* not if the run was stopped: the dropped passes may have been due after the stop */
	if (!err && given_up)
		conns_live_report_skipped(l);
	return err;
}

/*
 * Runs an interval up to `until`, in ticks of at most TICK_NS. *last: on entry, this is the last
 * planned interval; set if the run is stopped. Returns 0 or -errno.
 */
static int conns_live_run_interval(struct live *l, uint64_t until, bool *last)
{
	const bool at_end = *last;
	int err = 0;

	while (!err && l->tick < until) {
		uint64_t left = until - l->tick, end = l->tick + left / ((left - 1) / TICK_NS + 1);

		err = conns_live_run_tick(l, end);
		*last |= err == 1;
		if (err >= 0)
			err = conns_live_close_tick(l, err == 1 || (at_end && end == until)) ?: err;
	}
	return err == 1 ? 0 : err;
}

static int conns_live_run_intervals(struct live *l)
{
	const struct conns_live_config *c = l->config;
	uint64_t end = c->duration_ns ? clock_now() + c->duration_ns : UINT64_MAX;
	bool last = false;
	int err = 0;

	while (!err && !last) {
		uint64_t until = l->began + c->interval_ns;

		last = until >= end || l->seq + 1 == c->count;
		err = conns_live_run_interval(l, until < end ? until : end, &last);
		if (!err)
			err = conns_live_close_interval(l, last);
		last |= l->enough || l->full;
	}
	return err;
}

/* ---- a run ---- */

static int conns_live_put_facts(struct live *l)
{
	struct event_sink *sink = event_memsource_sink(l->queue);
	char low[32], high[32];
	uint64_t now = clock_now();
	int err = run_facts_put(sink, now);

	snprintf(low, sizeof(low), "%g", l->config->low);
	snprintf(high, sizeof(high), "%g", l->config->high);
	if (!err)
		err = event_put_fact(sink, now, CONNS_FACT_BUDGET_LOW, low);
	if (!err)
		err = event_put_fact(sink, now, CONNS_FACT_BUDGET_HIGH, high);
	if (!err)
		err = run_facts_put_host(sink, now);
	if (!err)
		err = conns_source_describe(l->source, sink);
	return err ? err : conns_live_put_clock(l);
}

static int conns_live_begin(struct live *l)
{
	struct budget_config budget;
	int err = event_memsource_new(&l->queue, QUEUE_LIMIT);

	l->dict = event_dict_new();
	if (!err && !l->dict)
		err = -ENOMEM;
	if (!err)
		err = conns_live_put_facts(l);
	if (!err)
		err = conns_live_drain(l);
	if (err)
		return err;
	conns_source_output(l->source, event_memsource_sink(l->queue), l->dict);
	rng_init(&l->rng, l->config->seed);
	budget_config_default(&budget);
	budget.low = l->config->low;
	budget.high = l->config->high;
	if (l->config->log.on) {
		call_budget_init(&l->call_budget, call_budget_share(budget.low, budget.high));
		budget.high -= l->call_budget.share;
	}
	/* Divide the interval into equal ticks of at most TICK_NS. */
	budget.interval_ns = l->config->interval_ns /
			     ((l->config->interval_ns - 1) / TICK_NS + 1);
	l->started = l->began = l->tick = clock_now();
	l->cpu_before = clock_cpu();
	budget_init(&l->budget, &budget, &l->rng, l->began);
	l->first = true;
	conns_source_ends(l->source, &l->ends);
	conns_live_count_members(l);
	budget_close(&l->budget, &l->spent, &l->rng, l->began);
	l->spent = (struct budget_spent){ 0 };
	err = conns_live_read_calls(l);
	if (!err)
		measuring_begin();
	return err ? err : conns_live_run_intervals(l);
}

/* Logs the size of the recording, and its growth per day. */
static void conns_live_log_volume(const struct live *l)
{
	const double mb = (double)l->recording.bytes / 1e6;
	const double day = mb / 1e3 * (double)NS_PER_DAY / (double)(l->began - l->started);

	if (l->config->record_all)
		log_info("recorded %.3g MB: %.3g GB a day at this rate", mb, day);
	else
		log_info("recorded %.3g MB: %.3g GB a day at this rate; %" PRIu64 " records of "
			 "connections were summed up into %" PRIu64, mb, day,
			 l->downsample.added, l->downsample.written);
}

int conns_live_run(const struct conns_live_config *config, int *record_error)
{
	struct live l = { .config = config };
	char why[512];
	int err;

	err = stop_init(&l.stop) ?: downsample_init(&l.downsample);
	if (!err)
		err = clock_follow_open(&l.follow, clock_system());
	if (!err) {
		err = conns_source_open(&l.source, config->collect, &config->log, why, sizeof(why));
		if (err)
			log_error("%s", why);
		else if (conns_source_is_fallback(l.source))
			log_warning("%s; using inet_diag instead, which reports less: the result "
				    "lists what is not measured", why);
	}
	if (!err)
		err = recording_open(&l.recording, config->record, config->size_limit,
				     config->result_fd);
	if (!err) {
		recording_begin(&l.recording);
		err = conns_live_begin(&l);
		if (err && err != -ECANCELED)
			log_error("the measurement failed: %s", strerror(-err));
		/* After an early end, write the records that downsampling still holds. */
		conns_live_record_interval(&l, clock_now(), true);
	}
	recording_close(&l.recording);
	if (!err && l.recording.bytes && l.began > l.started)
		conns_live_log_volume(&l);
	*record_error = l.recording.error;
	conns_source_free(l.source);
	clock_follow_free(l.follow);
	event_memsource_free(l.queue);
	event_dict_free(l.dict);
	downsample_release(&l.downsample);
	stop_release(&l.stop);
	return err ? EXIT_CANNOT : EXIT_OK;
}
