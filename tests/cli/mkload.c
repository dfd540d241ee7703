/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a recording of `load` from a script, so that the inputs of the golden tests can be read
 * and reviewed: a server with one queue, simulated. One line each, # begins a comment.
 *
 *	setup KEY VALUE          the fact load.KEY; what is not set is as below
 *	target URL
 *	seed N                   of everything
 *	pid N                    the fact run.pid
 *	service LAW              such as exponential:20us
 *	lag TIME                 mean of the time by which requests are sent late
 *	connections N            a request waits for one of so many; without it, there are enough
 *	stamps                   requests and replies have the kernel's stamps
 *	censored PERCENT         so many replies share the stamp of a later reply, 500 ns old
 *	stall LENGTH PERIOD      the server does nothing for the first LENGTH of each PERIOD
 *	slower FACTOR            services take that many times as long at the end
 *	faster FACTOR            services take that many times as long at the begin
 *	fail PERCENT             so many requests have no reply in time
 *	misses PERCENT           so many replies hold nothing
 *	no-stat                  the host's counters can't be read
 *	before-misses            as a version wrote it that did not count them
 *	noise BEGIN LENGTH       a gap of the threads; times from the start
 *	stop TIME                nothing is sent from then on, without a signal
 *	interrupt TIME           a signal: nothing is sent from then on
 *	fact KEY VALUE           a fact at the start, such as load.agent "0 symmetric a"
 *	lost AGENT TIME WHY      an agent is gone
 *	exhausted TIME           the schedule ends
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "event/writer.h"
#include "load/schedule.h"
#include "load/setup.h"
#include "../sim/words.h"

#define START_NS (1000 * NS_PER_S)
#define NOISES_MAX 1024
#define FACTS_MAX 16
#define WIRE_NS 15000 /* there and back */

struct script {
	struct words in;
	struct load_setup setup;
	char target[256], pid[32];
	struct dist service;
	uint64_t seed, lag_ns, connections, stall_ns, period_ns, end_ns, stop_ns, interrupt_ns;
	uint64_t lost_ns;
	double slower, faster, fail, misses, censored;
	bool stamps, exhausted, before_misses;
	uint32_t unread; /* flags of EV_LOAD */
	uint32_t lost_agent;
	char lost_why[64];
	struct { uint64_t begin, length; } noises[NOISES_MAX];
	uint32_t n_noises;
	struct { char key[64], value[128]; } facts[FACTS_MAX];
	uint32_t n_facts;
	struct event_writer *writer;
};

struct agent {
	struct event_sample *samples; /* by `done` */
	size_t n, told;
	struct event_load load;
};

static void check(const struct script *s, int err)
{
	if (err)
		words_die(&s->in, "%s", strerror(-err));
}

/* ---- the script ---- */

static uint64_t time_of(const struct script *s, int i)
{
	uint64_t ns;

	if (i >= s->in.n || parse_duration(s->in.word[i], &ns))
		words_die(&s->in, "a time is missing");
	return ns;
}

static uint64_t number(const struct script *s, int i)
{
	uint64_t n;

	if (i >= s->in.n || parse_u64(s->in.word[i], &n))
		words_die(&s->in, "a number is missing");
	return n;
}

static void set_service(struct script *s)
{
	struct strbuf why = STRBUF_INIT(1024);

	if (s->in.n != 2 || dist_parse(s->in.word[1], DIST_UNIT_NS, &s->service, &why))
		words_die(&s->in, "%s", strbuf_str(&why));
}

static void set_setup(struct script *s)
{
	char key[64];

	if (s->in.n != 3)
		words_die(&s->in, "setup KEY VALUE");
	snprintf(key, sizeof(key), "load.%s", s->in.word[1]);
	check(s, load_setup_add_fact(&s->setup, key, s->in.word[2]));
}

static void set_fact(struct script *s)
{
	if (s->in.n != 3 || s->n_facts == FACTS_MAX)
		words_die(&s->in, "fact KEY VALUE, a few of them");
	snprintf(s->facts[s->n_facts].key, sizeof(s->facts[0].key), "%s", s->in.word[1]);
	snprintf(s->facts[s->n_facts++].value, sizeof(s->facts[0].value), "%s", s->in.word[2]);
}

static void set_stall(struct script *s)
{
	s->stall_ns = time_of(s, 1);
	s->period_ns = time_of(s, 2);
}

static void set_noise(struct script *s)
{
	if (s->n_noises == NOISES_MAX)
		words_die(&s->in, "too many noises");
	s->noises[s->n_noises].begin = time_of(s, 1);
	s->noises[s->n_noises++].length = time_of(s, 2);
}

static void set_lost(struct script *s)
{
	s->lost_agent = (uint32_t)number(s, 1);
	s->lost_ns = time_of(s, 2);
	snprintf(s->lost_why, sizeof(s->lost_why), "%s", s->in.n > 3 ? s->in.word[3] : "");
}

static void set_other(struct script *s)
{
	const char *word = s->in.word[0];

	if (!strcmp(word, "target") && s->in.n == 2)
		snprintf(s->target, sizeof(s->target), "%s", s->in.word[1]);
	else if (!strcmp(word, "pid") && s->in.n == 2)
		snprintf(s->pid, sizeof(s->pid), "%s", s->in.word[1]);
	else if (!strcmp(word, "seed"))
		s->seed = number(s, 1);
	else if (!strcmp(word, "lag"))
		s->lag_ns = time_of(s, 1);
	else if (!strcmp(word, "connections"))
		s->connections = number(s, 1);
	else if (!strcmp(word, "stamps"))
		s->stamps = true;
	else if (!strcmp(word, "censored"))
		s->censored = (double)number(s, 1) / 100;
	else if (!strcmp(word, "slower"))
		s->slower = (double)number(s, 1);
	else if (!strcmp(word, "faster"))
		s->faster = (double)number(s, 1);
	else if (!strcmp(word, "fail"))
		s->fail = (double)number(s, 1) / 100;
	else if (!strcmp(word, "misses"))
		s->misses = (double)number(s, 1) / 100;
	else if (!strcmp(word, "no-stat"))
		s->unread = LOAD_NO_STAT | LOAD_NO_SCHEDSTAT;
	else if (!strcmp(word, "before-misses"))
		s->before_misses = true;
	else if (!strcmp(word, "interrupt"))
		s->interrupt_ns = s->end_ns = time_of(s, 1);
	else if (!strcmp(word, "stop"))
		s->stop_ns = s->end_ns = time_of(s, 1);
	else if (!strcmp(word, "exhausted"))
		s->end_ns = time_of(s, 1), s->exhausted = true;
	else
		words_die(&s->in, "'%s' is unknown", word);
}

static void take_line(struct script *s, char *text)
{
	static const struct {
		const char *word;
		void (*set)(struct script *s);
	} words[] = {
		{ "setup", set_setup }, { "service", set_service }, { "stall", set_stall },
		{ "noise", set_noise }, { "lost", set_lost }, { "fact", set_fact },
	};

	words_split(&s->in, text);
	for (size_t i = 0; s->in.n && i < ARRAY_LEN(words); i++) {
		if (!strcmp(s->in.word[0], words[i].word)) {
			words[i].set(s);
			return;
		}
	}
	if (s->in.n)
		set_other(s);
}

static const char *const defaults[][2] = {
	{ "rate", "2000" },	      { "arrival", "poisson" },	      { "loop", "open" },
	{ "timestamps", "user" },     { "role", "symmetric" },	      { "workload", "" },
	{ "connections", "64" },      { "outstanding", "1" },	      { "threads", "1" },
	{ "requests_per_connection", "0" },			      { "duration_ns", "0" },
	{ "timeout_ns", "2000000000" }, { "drain_ns", "2000000000" }, { "seed", "7" },
	{ "pin", "0" },		      { "spin", "0" },		      { "preload", "0" },
	{ "insecure", "0" },	      { "all_rate", "2000" },	      { "agents", "1" },
	{ "probes", "0" },	      { "method", "all" },	      { "percentile", "0.99" },
	{ "ci_width_ns", "0" },	      { "confidence", "0.95" },
	{ "max_time_ns", "20000000000" },			      { "max_errors", "0.001" },
};

static void read_script(struct script *s)
{
	FILE *file = fopen(s->in.path, "r");
	char text[512];

	if (!file)
		words_die(&s->in, "can't be read");
	for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
		char key[64];

		snprintf(key, sizeof(key), "load.%s", defaults[i][0]);
		check(s, load_setup_add_fact(&s->setup, key, defaults[i][1]));
	}
	s->service = (struct dist){ .kind = DIST_KIND_EXPONENTIAL, .a = 100000 };
	while (fgets(text, sizeof(text), file)) {
		s->in.line++;
		take_line(s, text);
	}
	fclose(file);
	check(s, load_setup_complete(&s->setup));
	if (!s->end_ns)
		s->end_ns = s->setup.analysis.max_time_ns;
}

/* ---- the server ---- */

static double not_stalled(const struct script *s, double at)
{
	uint64_t phase = s->period_ns ? (uint64_t)at % s->period_ns : 0;

	return s->period_ns && phase < s->stall_ns ? at + (double)(s->stall_ns - phase) : at;
}

static double service(const struct script *s, struct rng *rng, double at)
{
	double share = at / (double)s->setup.analysis.max_time_ns;

	return dist_draw(&s->service, rng) * (1 + fmax(s->slower - 1, 0) * share +
						    fmax(s->faster - 1, 0) * (1 - share));
}

static double late(const struct script *s, struct rng *rng, double at)
{
	double sent = at + (s->lag_ns ? rng_exponential(rng, (double)s->lag_ns) : 500);

	for (uint32_t i = 0; i < s->n_noises; i++) {
		double begin = (double)s->noises[i].begin;
		double end = begin + (double)s->noises[i].length;

		if (sent >= begin && sent < end)
			sent = end;
	}
	return sent;
}

static void stamp(struct event_sample *e)
{
	e->sched_ns = 1200;
	e->snd_ns = 3000;
	e->ack_ns = 20000;
	e->rx_ns = 6000;
	e->wake_ns = 2000;
	e->flags |= SAMPLE_ASLEEP;
}

/* Fills in a request that is due at `at`; the server is free from `*free` on. */
static void serve(const struct script *s, struct rng *rng, double at, double waits, double *free,
		  struct event_sample *e)
{
	double sent = late(s, rng, fmax(at, waits)), start, done;

	start = not_stalled(s, fmax(sent + WIRE_NS / 2, *free));
	*free = start + service(s, rng, start);
	done = *free + WIRE_NS / 2;
	*e = (struct event_sample){
		.intended = START_NS + (uint64_t)at, .sent = START_NS + (uint64_t)sent,
		.done = START_NS + (uint64_t)done, .tx_bytes = 64, .rx_bytes = 64,
	};
	if (rng_uniform(rng) < s->fail) {
		e->done = e->sent + s->setup.config.timeout_ns;
		e->flags = SAMPLE_FAILED | SAMPLE_TIMEOUT;
	} else if (s->stamps) {
		stamp(e);
		if (s->censored > 0 && rng_uniform(rng) < s->censored) {
			e->flags |= SAMPLE_CENSORED;
			e->rx_ns = e->wake_ns = 500;
		}
	}
}

static int by_done(const void *a, const void *b)
{
	const struct event_sample *x = a, *y = b;

	return (x->done > y->done) - (x->done < y->done);
}

/* A closed loop: each request is due when the reply of the one before on its connection came. */
static struct schedule make_schedule(const struct script *s, uint32_t agent)
{
	struct strbuf why = STRBUF_INIT(1024);
	const struct load_analysis_config *c = &s->setup.analysis;
	struct schedule schedule;

	if (schedule_make(&schedule, &c->arrival, c->rate / c->agents, s->end_ns, s->seed + agent,
			  &why))
		words_die(&s->in, "%s", strbuf_str(&why));
	return schedule;
}

static void simulate(const struct script *s, uint32_t number, struct agent *a)
{
	struct schedule schedule = make_schedule(s, number);
	bool closed = s->setup.config.loop == LOOP_CLOSED;
	uint64_t k = s->connections ? s->connections : UINT64_MAX;
	double free_ns = 0;
	struct rng rng;

	rng_init(&rng, 1000 * s->seed + number);
	a->samples = calloc(schedule.n, sizeof(*a->samples));
	BUG_ON(!a->samples);
	for (a->n = 0; a->n < schedule.n; a->n++) {
		double at = (double)schedule.at_ns[a->n];
		double waits = a->n >= k ? (double)(a->samples[a->n - k].done - START_NS) : 0;

		if (closed)
			at = waits;
		if (closed && at >= (double)s->end_ns)
			break;
		serve(s, &rng, at, waits, &free_ns, &a->samples[a->n]);
		a->samples[a->n].flow = LOAD_FLOW(number, 1 + a->n % s->setup.config.connections);
	}
	qsort(a->samples, a->n, sizeof(*a->samples), by_done);
	schedule_release(&schedule);
}

/* ---- the stream ---- */

static void put_facts(struct script *s)
{
	struct event_sink *sink = event_writer_sink(s->writer);

	check(s, event_put_fact(sink, START_NS, "run.version", "0.1.0"));
	check(s, event_put_fact(sink, START_NS, "run.host", "example"));
	check(s, event_put_fact(sink, START_NS, "run.started_ns", "1700000000000000000"));
	if (*s->pid)
		check(s, event_put_fact(sink, START_NS, "run.pid", s->pid));
	check(s, load_setup_put(&s->setup, sink, START_NS));
	check(s, event_put_fact(sink, START_NS, LOAD_FACT_TARGET, s->target));
	for (uint32_t i = 0; i < s->n_facts; i++)
		check(s, event_put_fact(sink, START_NS, s->facts[i].key, s->facts[i].value));
	check(s, event_writer_flush(s->writer));
}

/* Everything that ended before `now`; then the counters. */
static void put_tick(struct script *s, uint32_t number, struct agent *a, uint64_t now, bool final)
{
	const uint64_t end = START_NS + s->end_ns;
	struct event_load *l = &a->load;

	for (; a->told < a->n && a->samples[a->told].done <= now; a->told++) {
		const struct event_sample *e = &a->samples[a->told];

		check(s, event_writer_span(s->writer, LOAD_CORE(number, 0), 0, EV_SAMPLE,
					   e->intended, e->done, e));
		l->completed += !(e->flags & SAMPLE_FAILED);
		l->failed += (e->flags & SAMPLE_FAILED) != 0;
		l->timeouts += (e->flags & SAMPLE_TIMEOUT) != 0;
	}
	l->agent = number;
	l->misses = (uint64_t)((double)l->completed * s->misses);
	l->flags = LOAD_STARTED | (final ? LOAD_FINAL : 0) |
		   (s->before_misses ? 0 : LOAD_MISSES | LOAD_CLOSES) | s->unread |
		   (now >= end && s->exhausted ? LOAD_EXHAUSTED : 0) |
		   (now >= end && !s->interrupt_ns && !s->stop_ns ? LOAD_EXHAUSTED : 0);
	l->started_ns = START_NS;
	l->oldest_ns = now;
	l->in_flight = l->unsent = 0;
	for (size_t i = a->told; i < a->n; i++) {
		if (a->samples[i].intended > now)
			continue;
		l->oldest_ns = a->samples[i].intended < l->oldest_ns ? a->samples[i].intended
								     : l->oldest_ns;
		l->unsent += a->samples[i].sent > now;
		l->in_flight += a->samples[i].sent <= now;
	}
	l->scheduled = l->completed + l->failed + l->in_flight + l->unsent;
	l->bytes_sent = 64 * (l->scheduled - l->unsent);
	l->bytes_received = 64 * l->completed;
	l->connects = l->open_connections =
		s->connections ? s->connections : s->setup.config.connections;
	l->cpu_ns = (now - START_NS) / 10;
	check(s, event_writer_flush(s->writer));
	check(s, event_writer_put(s->writer, EVENT_CORE_NONE, EV_LOAD, now, l,
				  s->before_misses ? offsetof(struct event_load, misses) :
						     sizeof(*l)));
	check(s, event_writer_flush(s->writer));
}

static void put_noise(struct script *s, uint64_t from, uint64_t to)
{
	for (uint32_t i = 0; i < s->n_noises; i++) {
		uint64_t end = START_NS + s->noises[i].begin + s->noises[i].length;
		struct event_noise noise = {
			.what = NOISE_GAP, .begin = START_NS + s->noises[i].begin, .end = end,
			.amount = s->noises[i].length,
		};

		if (end > from && end <= to)
			check(s, event_writer_put(s->writer, EVENT_CORE_NONE, EV_NOISE, end,
						  &noise, sizeof(noise)));
	}
}

static void put_incident(struct script *s, uint64_t now, const char *key, const char *value)
{
	check(s, event_writer_flush(s->writer));
	check(s, event_put_fact(event_writer_sink(s->writer), now, key, value));
	check(s, event_writer_flush(s->writer));
}

static void put_lost(struct script *s, uint64_t now)
{
	char text[96];

	snprintf(text, sizeof(text), "%" PRIu32 ": %s", s->lost_agent, s->lost_why);
	put_incident(s, now, LOAD_FACT_AGENT_LOST, text);
}

static bool all_told(const struct script *s, const struct agent *agents)
{
	for (uint32_t i = 0; i < s->setup.analysis.agents; i++)
		if (agents[i].told < agents[i].n && !(s->lost_ns && i == s->lost_agent))
			return false;
	return true;
}

static void put_run(struct script *s, struct agent *agents)
{
	uint64_t now = START_NS, end = START_NS + s->end_ns;
	bool interrupted = false, lost = false, final = false;

	while (!final) {
		put_noise(s, now, now + LOAD_TICK_NS);
		now += LOAD_TICK_NS;
		if (s->lost_ns && !lost && now > START_NS + s->lost_ns) {
			put_lost(s, now);
			lost = true;
		}
		if (s->interrupt_ns && !interrupted && now > end) {
			put_incident(s, now, LOAD_FACT_INTERRUPTED, "1");
			interrupted = true;
		}
		final = now > end && all_told(s, agents);
		for (uint32_t i = 0; i < s->setup.analysis.agents; i++)
			if (!lost || i != s->lost_agent)
				put_tick(s, i, &agents[i], now, final);
	}
}

int main(int argc, char **argv)
{
	static struct script s = { .seed = 1, .target = "echo://server:4300" };
	static struct agent agents[LOAD_AGENTS_MAX];
	const struct event_writer_options options = { .started_ns = 1700000000 * NS_PER_S };
	int fd;

	if (argc != 3) {
		fputs("usage: mkload SCRIPT RECORDING\n", stderr);
		return 1;
	}
	s.in.path = argv[1];
	read_script(&s);
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC, 0666);
	if (fd < 0)
		words_die(&s.in, "%s: %s", argv[2], strerror(errno));
	check(&s, event_writer_new(&s.writer, fd, &options));
	put_facts(&s);
	for (uint32_t i = 0; i < s.setup.analysis.agents; i++)
		simulate(&s, i, &agents[i]);
	put_run(&s, agents);
	check(&s, event_writer_close(s.writer));
	for (uint32_t i = 0; i < s.setup.analysis.agents; i++)
		free(agents[i].samples);
	return close(fd) ? 1 : 0;
}
