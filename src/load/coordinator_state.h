/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The coordinator's state: coordinator_run.c drives the agents, coordinator_read.c reads their
 * events.
 */
#ifndef HOSTLAT_LOAD_COORDINATOR_STATE_H
#define HOSTLAT_LOAD_COORDINATOR_STATE_H

#include "event/memsource.h"
#include "load/config.h"
#include "load/convert.h"
#include "load/coordinator.h"
#include "load/remote.h"

enum peer_state {
	PEER_MAKING,     /* the agent has its options and makes its engine */
	PEER_ASKING,     /* the agent's clock is being read */
	PEER_MADE,
	PEER_CONNECTING,
	PEER_CONNECTED,
	PEER_RUNNING,
	PEER_FINAL,      /* the agent has sent its final counters (LOAD_FINAL) */
	PEER_LOST,
};

#define PEER_NAME_MAX 256

struct peer {
	char name[PEER_NAME_MAX];
	uint32_t role;
	enum peer_state state;
	bool same_clock;
	struct remote remote;
	struct convert convert;
	/* time by which the agent must reach its next state, or else is lost; 0: no limit */
	uint64_t due_ns;
	uint64_t heard_ns;        /* time of the last bytes from the peer */
	uint64_t asked, asked_ns; /* number and time of the last clock query */
	bool answered;
	uint32_t answers;
	uint64_t reported_error_ns;   /* clock error that was last put into the stream */
	char error[PEER_NAME_MAX];   /* error reported by the agent; for a lost agent, the reason */
	/* text for users if the agent runs another version of hostlat, in parentheses; else "" */
	char version[PEER_NAME_MAX];
	struct event_block block; /* current block of samples, read up to `at` */
	uint32_t at, n_block;
};

struct coordinator {
	struct event_source source;
	struct load_config run;
	void (*lost)(void *ctx, uint32_t agent);
	void *ctx;
	struct peer peers[LOAD_AGENTS_MAX];
	uint32_t n_peers;
	uint32_t turn;                  /* index of the peer to read next */
	struct event_memsource *queue;
	struct event_sample samples[CONVERT_SAMPLES];
};

/*
 * Marks a peer as lost: puts LOAD_FACT_AGENT_LOST with `why` and the agent's last line on stderr.
 * Returns 0 or -errno.
 */
int coordinator_lose(struct coordinator *c, struct peer *p, const char *why);

/*
 * Reads the next block of a peer. Returns 1: `out` holds samples; 2: other events were read, and
 * may be in the queue; 0: nothing has arrived; -errno: the run cannot continue.
 */
int coordinator_read(struct coordinator *c, struct peer *p, struct event_block *out);

/*
 * coordinator_put_facts() puts facts with the names of targets and agents into the stream,
 * coordinator_put_offset() a fact with an agent's clock offset. Return 0 or -errno.
 */
int coordinator_put_facts(struct coordinator *c);
int coordinator_put_offset(struct coordinator *c, struct peer *p);

#endif
