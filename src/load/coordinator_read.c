/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the agents' events: handles answers to commands, and puts other events into the stream. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "base/version.h"
#include "clock/clock.h"
#include "load/agent.h"
#include "load/causes.h"
#include "load/coordinator_state.h"
#include "load/dial_times.h"
#include "load/polled.h"
#include "load/agent_list.h"
#include "load/setup.h"
#include "load/cluster_counts.h"
#include "load/tls_counts.h"

#define KEY_MAX 128

static uint32_t coordinator_peer_number(const struct coordinator *c, const struct peer *p)
{
	return (uint32_t)(p - c->peers);
}

static struct event_sink *coordinator_sink(struct coordinator *c)
{
	return event_memsource_sink(c->queue);
}

/* ---- the coordinator's facts ---- */

int coordinator_put_facts(struct coordinator *c)
{
	struct event_sink *sink = coordinator_sink(c);
	const uint64_t now = clock_now();
	struct strbuf why = STRBUF_INIT(4096);
	struct url_list urls;
	int err = url_list_make(&urls, c->run.targets, c->run.n_targets, c->run.urls_file, &why);

	if (!err)
		err = load_setup_put_targets(sink, now, &urls);
	url_list_release(&urls);
	strbuf_release(&why);
	for (uint32_t i = 0; !err && i < c->n_peers; i++)
		err = agent_list_put_agent(sink, now, i, c->peers[i].role, c->peers[i].name);
	return err;
}

int coordinator_put_offset(struct coordinator *c, struct peer *p)
{
	p->reported_error_ns = p->convert.offset.error_ns;
	return agent_list_put_clock(coordinator_sink(c), clock_now(), coordinator_peer_number(c, p),
				    &p->convert.offset);
}

/* ---- lost agents ---- */

int coordinator_lose(struct coordinator *c, struct peer *p, const char *why)
{
	const uint32_t n = coordinator_peer_number(c, p);
	char text[4 * PEER_NAME_MAX];
	const char *words;

	remote_read_words(&p->remote);
	words = remote_words(&p->remote);
	snprintf(text, sizeof(text), "%" PRIu32 ": %s: %s%s%s%s", n, p->name, why, p->version,
		 *words ? ": " : "", words);
	snprintf(p->error, sizeof(p->error), "%s", strchr(text, ' ') + 1);
	p->state = PEER_LOST;
	p->n_block = 0;
	remote_release(&p->remote);
	if (c->lost)
		c->lost(c->ctx, n);
	return event_put_fact(coordinator_sink(c), clock_now(), LOAD_FACT_AGENT_LOST, text);
}

/* ---- answers ---- */

static int coordinator_read_state(struct peer *p, const char *value)
{
	if (p->state == PEER_MAKING && !strcmp(value, AGENT_MADE))
		p->state = PEER_ASKING;
	else if (p->state == PEER_CONNECTING && !strcmp(value, AGENT_CONNECTED))
		p->state = PEER_CONNECTED;
	else
		return -EBADMSG;
	return 0;
}

/* Only the last clock query's time is known, so answers to earlier queries are ignored. */
static int coordinator_read_clock(struct peer *p, const char *value, uint64_t theirs)
{
	uint64_t n;

	if (parse_u64(value, &n) || n > p->asked)
		return -EBADMSG;
	if (n != p->asked || p->answered)
		return 0;
	p->answered = true;
	p->answers++;
	return p->same_clock ? 0 : offset_add(&p->convert.offset, p->asked_ns, theirs,
					      p->remote.read_ns) ? -EBADMSG : 0;
}

/* Replaces control characters, which a terminal could execute as commands. */
static void coordinator_make_printable(char *text)
{
	for (; *text; text++)
		if (!isprint((unsigned char)*text))
			*text = '?';
}

static void coordinator_read_version(struct peer *p, const char *value)
{
	if (!strcmp(value, hostlat_version()))
		return;
	snprintf(p->version, sizeof(p->version), " (agent: hostlat %.40s, this host: %s)", value,
		 hostlat_version());
	coordinator_make_printable(p->version);
}

/*
 * Puts a fact about an agent's host into the stream, with the agent's number in its key. Drops
 * facts of a running agent, and "load." facts, which repeat the coordinator's facts.
 */
static int coordinator_pass_fact(struct coordinator *c, const struct peer *p, const char *key,
				 const char *value)
{
	char full[KEY_MAX];
	int n = snprintf(full, sizeof(full), "agent.%" PRIu32 ".%s", coordinator_peer_number(c, p),
			 key);

	if (n >= (int)sizeof(full) || !strncmp(key, "load.", 5) || p->state >= PEER_RUNNING)
		return 0;
	return event_put_fact(coordinator_sink(c), clock_now(), full, value);
}

/* Whether a fact is about a network card's time stamps, which only the agents know. */
static bool is_of_card(const char *key, const char *value)
{
	uint64_t ns;

	if (!strcmp(key, LOAD_FACT_NIC_ERROR))
		return !parse_u64(value, &ns);
	for (const char *at = value; *at; at++)
		if (!isgraph((unsigned char)*at))
			return false;
	return !strcmp(key, LOAD_FACT_NIC) && strlen(value) < IF_NAMESIZE;
}

/*
 * Whether a fact is a cause of failures or a count of TLS handshakes, which agents send with their
 * last tick (EV_LOAD), or a count of a cluster, which they also send before the run.
 */
static bool is_cause(const struct peer *p, const char *key, const char *value)
{
	struct causes causes = { 0 };
	struct tls_counts tls = { 0 };
	struct cluster_counts cluster = { 0 };

	if (!strcmp(key, LOAD_FACT_CLUSTER))
		return !cluster_counts_add_fact(&cluster, value);
	if (!strcmp(key, LOAD_FACT_TLS))
		return p->state == PEER_RUNNING && !tls_counts_add_fact(&tls, value);
	return p->state == PEER_RUNNING && !strcmp(key, LOAD_FACT_CAUSE) &&
	       !causes_add_fact(&causes, value);
}

/* Whether a fact tells how long connections took to open; agents send it with the causes. */
static bool is_dial_time(const struct peer *p, const char *key, const char *value)
{
	struct dial_times times;
	bool valid;

	if (p->state != PEER_RUNNING || strcmp(key, LOAD_FACT_DIAL) != 0)
		return false;
	valid = !dial_times_init(&times) && !dial_times_add_fact(&times, value);
	dial_times_release(&times);
	return valid;
}

static int coordinator_read_fact(struct coordinator *c, struct peer *p, const struct event *event)
{
	const char *key, *value;

	event_fact_get(event, &key, &value);
	if (!strcmp(key, AGENT_STATE))
		return coordinator_read_state(p, value);
	if (!strcmp(key, AGENT_VERSION))
		coordinator_read_version(p, value);
	if (!strcmp(key, AGENT_CLOCK))
		return coordinator_read_clock(p, value, event->time);
	if (is_of_card(key, value) || is_cause(p, key, value) ||
	    is_dial_time(p, key, value))
		return event_put_fact(coordinator_sink(c), clock_now(), key, value);
	if (!strcmp(key, LOAD_FACT_POLLED) && p->role == ROLE_LATENCY)
		return agent_list_put_polled(coordinator_sink(c), clock_now(),
					     coordinator_peer_number(c, p), value);
	if (!strcmp(key, AGENT_PRIORITY))
		return p->state != PEER_MAKING ? 0 :
			agent_list_put_priority(coordinator_sink(c), clock_now(),
						coordinator_peer_number(c, p), value);
	if (strcmp(key, AGENT_ERROR))
		return coordinator_pass_fact(c, p, key, value);
	snprintf(p->error, sizeof(p->error), "%s",
		 *value ? value : "the agent failed without a reason");
	coordinator_make_printable(p->error);
	return 0;
}

/* ---- events and samples ---- */

static int coordinator_end_peer(struct coordinator *c, struct peer *p)
{
	p->state = PEER_FINAL;
	remote_close_in(&p->remote);
	return p->reported_error_ns == p->convert.offset.error_ns ? 0
								  : coordinator_put_offset(c, p);
}

/*
 * Whether an agent may send an event of this kind now: while it connects or waits for the start
 * only EV_FLOW, while it runs any kind, otherwise none.
 */
static bool in_place(const struct peer *p, uint16_t kind)
{
	if (p->state == PEER_RUNNING)
		return true;
	return kind == EV_FLOW && p->state >= PEER_CONNECTING && p->state <= PEER_CONNECTED;
}

static int coordinator_read_event(struct coordinator *c, struct peer *p, const struct event *event)
{
	struct event_load load;
	int err;

	if (event->kind == EV_FACT)
		return coordinator_read_fact(c, p, event);
	if (event->kind != EV_LOAD && event->kind != EV_NOISE && event->kind != EV_FLOW &&
	    event->kind != EV_CLOCK)
		return 0;
	if (!in_place(p, event->kind))
		return -EBADMSG;
	err = convert_record(&p->convert, event, coordinator_sink(c));
	if (err || event->kind != EV_LOAD)
		return err;
	event_copy(event, &load, sizeof(load));
	return load.flags & LOAD_FINAL ? coordinator_end_peer(c, p) : 0;
}

static int coordinator_read_records(struct coordinator *c, struct peer *p,
				    const struct event_block *block)
{
	struct event event;
	size_t at = 0;
	int err = 0;

	while (!err && p->state != PEER_FINAL && event_block_next(block, &at, &event))
		err = coordinator_read_event(c, p, &event);
	return err;
}

/*
 * Converts the next samples of an agent's current block. Returns 1 (`out` holds samples) or
 * -EBADMSG.
 */
static int coordinator_read_samples(struct coordinator *c, struct peer *p, struct event_block *out)
{
	int err = -EBADMSG;

	if (p->state == PEER_RUNNING)
		err = convert_samples(&p->convert, &p->block, &p->at, c->samples, out);
	if (err || p->at == p->n_block)
		p->n_block = 0;
	return err ? err : 1;
}

static const char *coordinator_read_error(int err)
{
	if (err == -ENOEXEC)
		return "the agent's output is not hostlat's event stream (check --agent-command, "
		       "and that the login shell prints nothing)";
	if (err == -EPROTONOSUPPORT)
		return "the agent runs a newer hostlat, or its host has the other byte order";
	return "the agent's output is damaged";
}

/* Marks an agent as lost because its event stream has ended too early. */
static int coordinator_lose_ended(struct coordinator *c, struct peer *p)
{
	return coordinator_lose(c, p, p->state == PEER_RUNNING ?
				"the agent ended before the run ended" :
				"the agent ended before the run began");
}

/*
 * Reads the next block of an agent. Returns 1: `out` holds samples; 2: other events were read; 0:
 * nothing has arrived; -EBADMSG, -ENOEXEC, -EPROTONOSUPPORT: invalid stream; -ENODATA: the stream
 * has ended; or another -errno.
 */
static int coordinator_read_block(struct coordinator *c, struct peer *p, struct event_block *out)
{
	int err;

	if (p->n_block)
		return coordinator_read_samples(c, p, out);
	err = event_feed_next(p->remote.feed, &p->block);
	if (err <= 0)
		return err;
	if (p->block.kind == EV_SAMPLE) {
		p->at = 0;
		p->n_block = p->block.count;
		return p->n_block ? coordinator_read_samples(c, p, out) : 2;
	}
	err = p->block.record_size ? 0 : coordinator_read_records(c, p, &p->block);
	return err ? err : 2;
}

static bool is_its_fault(int err)
{
	return err == -EBADMSG || err == -ENOEXEC || err == -EPROTONOSUPPORT;
}

int coordinator_read(struct coordinator *c, struct peer *p, struct event_block *out)
{
	int err;

	if (p->state >= PEER_FINAL)
		return 0;
	err = coordinator_read_block(c, p, out);
	if (is_its_fault(err))
		err = coordinator_lose(c, p, coordinator_read_error(err));
	else if (*p->error && p->state < PEER_FINAL)
		err = coordinator_lose(c, p, p->error);
	else if (err == -ENODATA)
		err = coordinator_lose_ended(c, p);
	else if (!err && p->remote.eof && (p->remote.err < 0 || p->due_ns <= clock_now()))
		err = coordinator_lose_ended(c, p);
	else
		return err;
	return err ? err : 2;
}
