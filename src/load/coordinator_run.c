/* SPDX-License-Identifier: Apache-2.0 */
#include "load/coordinator.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "clock/clock.h"
#include "load/agent.h"
#include "load/coordinator_state.h"
#include "load/setup.h"

/*
 * Largest size in bytes of the queue of events other than samples, which is emptied before each
 * block of samples. It is largest when the agents report their first connections.
 */
#define QUEUE_LIMIT (256UL << 20)

#define ANSWERS 16                   /* number of clock readings of each agent before the run */
#define MAKE_NS (60 * NS_PER_S)      /* time limit to log in by ssh and resolve names */
#define CONNECT_NS (30 * NS_PER_S)   /* time to connect, besides CONNECT_TIMEOUTS * timeout_ns */
#define CONNECT_TIMEOUTS 4
#define QUIET_NS (10 * NS_PER_S)     /* longest silence; agents send every LOAD_TICK_NS */
#define ASK_NS (500 * NS_PER_MS)
#define WORDS_NS (300 * NS_PER_MS) /* time to wait for stderr after the end of an agent's events */
#define START_NS (100 * NS_PER_MS)   /* time for the start command to reach all agents */
#define SLACK_NS (2 * NS_PER_S)
#define TIMES_MAX_NS NS_PER_DAY      /* event times are valid up to this long after a run */
#define POLL_NS (50 * NS_PER_MS)

#define for_each_peer(c, p)                                                                        \
	for (__typeof__(&(c)->peers[0]) p = (c)->peers; p < (c)->peers + (c)->n_peers; p++)

/* ---- deadlines and next steps ---- */

static int coordinator_check_send(struct coordinator *c, struct peer *p, int err)
{
	return err ? coordinator_lose(c, p, "a command could not be sent to the agent") : 0;
}

static int coordinator_ask_clock(struct coordinator *c, struct peer *p, uint64_t now)
{
	p->asked++;
	p->asked_ns = now;
	p->answered = false;
	return coordinator_check_send(c, p, remote_send(&p->remote, "clock %" PRIu64, p->asked));
}

/* Whether an agent must wait until the first agent has stored the keys (--preload). */
static bool must_wait(const struct coordinator *c, const struct peer *p)
{
	const struct peer *first = c->peers;

	return c->run.preload && p != first && first->state < PEER_CONNECTED;
}

static int begin_connecting(struct coordinator *c, struct peer *p, uint64_t now)
{
	p->state = PEER_CONNECTING;
	p->due_ns = c->run.preload && p == c->peers
			    ? 0 : now + CONNECT_NS + CONNECT_TIMEOUTS * c->run.timeout_ns;
	return coordinator_check_send(c, p, remote_send(&p->remote, "connect"));
}

static int coordinator_settle_clock(struct coordinator *c, struct peer *p)
{
	p->state = PEER_MADE;
	p->due_ns = 0;
	offset_settle(&p->convert.offset);
	return coordinator_put_offset(c, p);
}

static const char *coordinator_late_reason(const struct peer *p)
{
	if (p->state == PEER_RUNNING)
		return "the agent did not end in time";
	return p->state == PEER_CONNECTING ? "the agent's connections were not open in time"
					   : "the agent was not ready in time";
}

/* Whether an agent is silent for too long; it may be silent while it starts and connects. */
static bool coordinator_is_silent(const struct peer *p, uint64_t now)
{
	return p->state != PEER_MAKING && p->state != PEER_CONNECTING &&
	       now > p->heard_ns + QUIET_NS;
}

/*
 * Whether an agent gets regular clock queries: while it waits for a command or runs, it ends if its
 * stdin brings no line for AGENT_SILENCE_NS.
 */
static bool coordinator_is_asked(const struct peer *p)
{
	return p->state == PEER_MADE || p->state == PEER_CONNECTED || p->state == PEER_RUNNING;
}

/*
 * Sends an agent the next command that its state requires, or marks it as lost if it is late or
 * silent. Skips an agent whose output has ended: coordinator_read() finds the reason.
 */
static int coordinator_advance(struct coordinator *c, struct peer *p, uint64_t now)
{
	const bool asking = p->state == PEER_ASKING && !p->same_clock;
	int err = 0;

	if (p->state >= PEER_FINAL || p->remote.eof)
		return 0;
	if (p->due_ns && now > p->due_ns)
		return coordinator_lose(c, p, coordinator_late_reason(p));
	if (coordinator_is_silent(p, now))
		return coordinator_lose(c, p, "the agent sent nothing for 10 s");
	if (asking && p->answers < ANSWERS)
		return p->answered ? coordinator_ask_clock(c, p, now) : 0;
	if (p->state == PEER_ASKING)
		err = coordinator_settle_clock(c, p);
	if (err)
		return err;
	if (p->state == PEER_MADE && !must_wait(c, p))
		return begin_connecting(c, p, now);
	return coordinator_is_asked(p) && now > p->asked_ns + ASK_NS
		       ? coordinator_ask_clock(c, p, now)
		       : 0;
}

/*
 * Sends due commands to all agents, and finds late agents. Called after reading their output, so
 * that no agent counts as late only because this process was stopped.
 */
static int coordinator_advance_all(struct coordinator *c)
{
	int err = 0;

	for_each_peer(c, p)
		err = err ? err : coordinator_advance(c, p, clock_now());
	return err;
}

/* ---- polling of descriptors ---- */

struct poll_set {
	struct pollfd fds[3 * LOAD_AGENTS_MAX + 1];
	struct peer *peers[3 * LOAD_AGENTS_MAX + 1];
	nfds_t n;
};

static void poll_set_add(struct poll_set *set, int fd, short events, struct peer *p)
{
	if (fd < 0)
		return;
	set->fds[set->n] = (struct pollfd){ .fd = fd, .events = events };
	set->peers[set->n++] = p;
}

/* Does not poll the output of an agent with unread samples: a read would overwrite their block. */
static void coordinator_fill_poll_set(struct coordinator *c, struct poll_set *set, int stop_fd)
{
	set->n = 0;
	poll_set_add(set, stop_fd, POLLIN, NULL);
	for_each_peer(c, p) {
		if (p->state >= PEER_FINAL)
			continue;
		if (!p->n_block)
			poll_set_add(set, p->remote.out, POLLIN, p);
		poll_set_add(set, p->remote.err, POLLIN, p);
		if (remote_wants_out(&p->remote))
			poll_set_add(set, p->remote.in, POLLOUT, p);
	}
}

static bool coordinator_serve_fd(struct peer *p, int fd, uint64_t now)
{
	if (fd == p->remote.err) {
		remote_read_words(&p->remote);
		return p->remote.err < 0;
	}
	if (fd == p->remote.in) {
		remote_flush(&p->remote);
		return false;
	}
	if (fd != p->remote.out || !remote_read(&p->remote, now))
		return false;
	p->heard_ns = now;
	if (p->remote.eof)
		p->due_ns = now + WORDS_NS;
	return true;
}

/* Polls all agents. Returns 1: bytes were read; 0: timeout; -EINTR: `stop_fd` is readable. */
static int poll_all(struct coordinator *c, int stop_fd, uint64_t timeout_ns)
{
	const struct timespec ts = {
		.tv_sec = timeout_ns / NS_PER_S, .tv_nsec = timeout_ns % NS_PER_S,
	};
	struct poll_set set;
	uint64_t now;
	int any = 0;

	coordinator_fill_poll_set(c, &set, stop_fd);
	if (ppoll(set.fds, set.n, &ts, NULL) < 0)
		return errno == EINTR ? 0 : -errno;
	now = clock_now();
	for (nfds_t i = 0; i < set.n; i++) {
		if (!set.fds[i].revents)
			continue;
		if (!set.peers[i])
			return -EINTR;
		any |= coordinator_serve_fd(set.peers[i], set.fds[i].fd, now);
	}
	return any;
}

/* ---- event source ---- */

static int coordinator_next(struct event_source *source, struct event_block *block)
{
	struct coordinator *c = (void *)source;
	uint32_t idle = 0;
	int ret = event_source_next(event_memsource_source(c->queue), block);

	while (!ret && idle < c->n_peers) {
		struct peer *p = &c->peers[c->turn];

		c->turn = (c->turn + 1) % c->n_peers;
		ret = coordinator_read(c, p, block);
		idle = ret ? 0 : idle + 1;
		if (ret == 2)
			ret = event_source_next(event_memsource_source(c->queue), block);
	}
	return ret;
}

static int coordinator_rewind(struct event_source *source)
{
	(void)source;
	return -ESPIPE;
}

static int coordinator_seek(struct event_source *source, const struct event_window *window)
{
	(void)source;
	(void)window;
	return -ESPIPE;
}

static void coordinator_damage(const struct event_source *source, struct event_damage *damage)
{
	const struct coordinator *c = (const void *)source;

	event_source_damage(event_memsource_source(c->queue), damage);
}

static void coordinator_free_source(struct event_source *source)
{
	(void)source; /* frees nothing: `source` is a member of the coordinator */
}

struct event_source *coordinator_source(struct coordinator *c)
{
	return &c->source;
}

/* ---- run ---- */

/*
 * Reads the agents' answers to commands before the start of the run; other events stay in the
 * queue.
 */
static int coordinator_read_answers(struct coordinator *c)
{
	struct event_block block;
	int ret = 0;

	for_each_peer(c, p) {
		do {
			ret = coordinator_read(c, p, &block);
		} while (ret > 0);
		if (ret < 0)
			return ret;
	}
	return 0;
}

static uint32_t coordinator_count(const struct coordinator *c, enum peer_state state)
{
	uint32_t n = 0;

	for_each_peer(c, p)
		n += p->state == state;
	return n;
}

static void coordinator_put_errors(const struct coordinator *c, struct strbuf *why)
{
	const char *between = "";

	for_each_peer(c, p) {
		strbuf_printf(why, "%s%s", between, p->error);
		between = "; ";
	}
}

int coordinator_connect(struct coordinator *c, int stop_fd, struct strbuf *why)
{
	int ret = 0;

	while (ret >= 0 && coordinator_count(c, PEER_CONNECTED) + coordinator_count(c, PEER_LOST) <
				   c->n_peers) {
		ret = poll_all(c, stop_fd, POLL_NS);
		if (ret >= 0)
			ret = coordinator_read_answers(c);
		if (ret >= 0)
			ret = coordinator_advance_all(c);
	}
	if (ret >= 0 && !coordinator_count(c, PEER_CONNECTED)) {
		coordinator_put_errors(c, why);
		ret = -ECONNREFUSED;
	}
	return ret < 0 ? ret : 0;
}

static uint64_t coordinator_slowest_rtt(const struct coordinator *c)
{
	uint64_t ns = 0;

	for_each_peer(c, p)
		if (p->state == PEER_CONNECTED && p->convert.offset.rtt_ns > ns)
			ns = p->convert.offset.rtt_ns;
	return ns;
}

static int start_one(struct coordinator *c, struct peer *p, uint64_t start)
{
	const uint64_t end = start + c->run.duration_ns + c->run.timeout_ns;
	uint64_t theirs;

	if (!offset_to_theirs(&p->convert.offset, start, &theirs))
		return coordinator_lose(c, p, "the agent's clock differs too much to set a start "
					      "time");
	p->state = PEER_RUNNING;
	p->heard_ns = clock_now();
	p->due_ns = end + 2 * c->run.drain_ns + SLACK_NS;
	p->convert.from_ns = start;
	p->convert.until_ns = p->due_ns + TIMES_MAX_NS;
	return coordinator_check_send(c, p, remote_send(&p->remote, "start %" PRIu64, theirs));
}

int coordinator_start(struct coordinator *c)
{
	const uint64_t start = clock_now() + START_NS + 2 * coordinator_slowest_rtt(c);
	bool clock = true;
	int err = 0;

	for_each_peer(c, p) {
		if (err || p->state != PEER_CONNECTED)
			continue;
		/* The stream has clock readings (EV_CLOCK) of one agent: the first that runs. */
		p->convert.clock = clock;
		clock = false;
		err = start_one(c, p, start);
	}
	return err;
}

int coordinator_wait(struct coordinator *c, int stop_fd, uint64_t timeout_ns)
{
	int ret = poll_all(c, stop_fd, timeout_ns < POLL_NS ? timeout_ns : POLL_NS);
	int err = ret < 0 ? 0 : coordinator_advance_all(c);

	return err ? err : ret;
}

static void end_within(struct coordinator *c, const char *command, uint64_t ns)
{
	const uint64_t due = clock_now() + ns;

	for_each_peer(c, p) {
		if (p->state != PEER_RUNNING)
			continue;
		(void)remote_send(&p->remote, "%s", command);
		p->due_ns = due < p->due_ns ? due : p->due_ns;
	}
}

void coordinator_stop(struct coordinator *c)
{
	end_within(c, "stop", 2 * c->run.drain_ns + SLACK_NS);
}

void coordinator_cut(struct coordinator *c)
{
	end_within(c, "cut", SLACK_NS);
}

/* ---- setup and release ---- */

static int init_peer(struct coordinator *c, struct peer *p, const struct coordinator_agent *agent)
{
	int err;

	snprintf(p->name, sizeof(p->name), "%s", agent->name);
	p->role = agent->role;
	p->answered = true;
	p->same_clock = agent->same_clock;
	p->convert.agent = (uint32_t)(p - c->peers);
	p->convert.probe = agent->role == ROLE_LATENCY;
	p->convert.until_ns = INT64_MAX;
	if (agent->same_clock)
		offset_init_same(&p->convert.offset);
	err = remote_init(&p->remote, agent->in, agent->out, agent->err);
	p->heard_ns = clock_now();
	p->due_ns = p->heard_ns + MAKE_NS;
	return err ? err : remote_send(&p->remote, "%smake", strbuf_str(agent->setup));
}

int coordinator_new(struct coordinator **out, const struct coordinator_config *config)
{
	static const struct event_source_ops ops = {
		.next = coordinator_next, .rewind = coordinator_rewind, .seek = coordinator_seek,
		.damage = coordinator_damage, .free = coordinator_free_source,
	};
	struct coordinator *c = calloc(1, sizeof(*c));
	int err = 0;

	BUG_ON(!config->n_agents || config->n_agents > LOAD_AGENTS_MAX);
	if (!c)
		return -ENOMEM;
	c->source.ops = &ops;
	c->run = *config->run;
	c->lost = config->lost;
	c->ctx = config->ctx;
	c->n_peers = config->n_agents;
	for (uint32_t i = 0; i < c->n_peers; i++) {
		int failed = init_peer(c, &c->peers[i], &config->agents[i]);

		err = err ? err : failed;
	}
	if (!err)
		err = event_memsource_new(&c->queue, QUEUE_LIMIT);
	if (!err)
		err = coordinator_put_facts(c);
	if (err)
		coordinator_free(c);
	else
		*out = c;
	return err;
}

void coordinator_free(struct coordinator *c)
{
	if (!c)
		return;
	for_each_peer(c, p)
		remote_release(&p->remote);
	event_memsource_free(c->queue);
	free(c);
}
