/* SPDX-License-Identifier: Apache-2.0 */
/* What the coordinator knows: coordinator_run.c acts, coordinator_take.c reads. */
#ifndef HOSTLAT_LOAD_COORDINATOR_STATE_H
#define HOSTLAT_LOAD_COORDINATOR_STATE_H

#include "event/memsource.h"
#include "load/config.h"
#include "load/convert.h"
#include "load/coordinator.h"
#include "load/remote.h"

enum peer_state {
	PEER_MAKING,     /* it was told what to do */
	PEER_ASKING,     /* its clock is asked for */
	PEER_MADE,
	PEER_CONNECTING,
	PEER_CONNECTED,
	PEER_RUNNING,
	PEER_FINAL,      /* it has said all */
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
	uint64_t due_ns;          /* it must be further by then; 0: no limit */
	uint64_t heard_ns;        /* when it last said something */
	uint64_t asked, asked_ns; /* the last question for its clock: its number, and when */
	bool answered;
	uint32_t answers;
	uint64_t reported_error_ns;   /* of the clock, as the stream knows it */
	char error[PEER_NAME_MAX];   /* AGENT_ERROR; of a lost one, all that is known */
	char version[PEER_NAME_MAX]; /* " (...)", if it is another one than ours */
	struct event_block block; /* of samples that are not all handed on yet */
	uint32_t at, n_block;
};

struct coordinator {
	struct event_source source;
	struct load_config run;
	void (*lost)(void *ctx, uint32_t agent);
	void *ctx;
	struct peer peers[LOAD_AGENTS_MAX];
	uint32_t n_peers;
	uint32_t turn;                  /* who is read next */
	struct event_memsource *queue;
	struct event_sample samples[CONVERT_SAMPLES];
};

/* `why`: what is known of it; the agent's own last words are added. Returns as a sink does. */
int coordinator_lose(struct coordinator *c, struct peer *p, const char *why);

/*
 * Takes the next block that has come from a peer. 1: `out` holds samples; 2: other things happened,
 * and the queue may hold some; 0: nothing has come. -errno: the run can't go on.
 */
int coordinator_read(struct coordinator *c, struct peer *p, struct event_block *out);

/* The facts that say who is who and how far their clocks are off. */
int coordinator_put_facts(struct coordinator *c);
int coordinator_put_offset(struct coordinator *c, struct peer *p);

#endif
