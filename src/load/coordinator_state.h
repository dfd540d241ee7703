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
	PEER_MAKING,     /* it has its options and makes its engine */
	PEER_ASKING,     /* its clock is being read */
	PEER_MADE,
	PEER_CONNECTING,
	PEER_CONNECTED,
	PEER_RUNNING,
	PEER_FINAL,      /* its events have ended in order */
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
	uint64_t due_ns;          /* deadline for the next state; 0: none */
	uint64_t heard_ns;        /* when its last event arrived */
	uint64_t asked, asked_ns; /* number and time of the last clock query */
	bool answered;
	uint32_t answers;
	uint64_t reported_error_ns;   /* clock error as last put into the stream */
	char error[PEER_NAME_MAX];   /* AGENT_ERROR; for a lost agent, why it was lost */
	char version[PEER_NAME_MAX]; /* " (...)" if its version differs from ours */
	struct event_block block; /* block of samples that are not all passed on yet */
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
 * Marks a peer as lost: puts the fact with `why` and the agent's last line on stderr. Returns the
 * sink's result.
 */
int coordinator_lose(struct coordinator *c, struct peer *p, const char *why);

/*
 * Reads the next block of a peer. Returns 1: `out` holds samples; 2: other events, which may be in
 * the queue; 0: nothing has arrived; -errno: the run cannot continue.
 */
int coordinator_read(struct coordinator *c, struct peer *p, struct event_block *out);

/* Puts the facts that name targets and agents; coordinator_put_offset() those of a clock offset. */
int coordinator_put_facts(struct coordinator *c);
int coordinator_put_offset(struct coordinator *c, struct peer *p);

#endif
