/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is kept of each connection between two dumps of inet_diag: what samples found, and counters
 * as they were. No system calls.
 *
 *	each pass, for each namespace:
 *		diag_ns_begin(ns, now);
 *		for each of the answers: ns->time = now;
 *			for each socket: diag_conns_update(conns, ns, sock, sample_us);
 *		ns->complete = true, if all came
 *	diag_conns_settle(conns);
 *	now and then: diag_conns_report(conns);     the EV_CONN, in conns->delta
 */
#ifndef HOSTLAT_PROBE_DIAG_CONNS_H
#define HOSTLAT_PROBE_DIAG_CONNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "probe/connection/conn_table.h"
#include "probe/connection/conn_delta.h"
#include "probe/connection/diag.h"

#define DIAG_CONNS_MAX 4000000

/* A namespace. Begins zeroed but for `inode`. */
struct diag_ns {
	uint32_t inode;
	uint32_t passes;        /* that have begun */
	uint64_t began, before; /* when this dump began; the last one: 0 if there was none */
	uint64_t time;          /* of what comes */
	bool complete;
	bool gone;              /* nothing comes any more */
	uint8_t listens[8192];  /* ports, a bit each */
};

/* Counters when it was born. */
struct diag_base {
	uint64_t bytes_sent, bytes_acked, bytes_received, bytes_retrans;
	uint32_t chrono[3], dsack_dups;
	uint16_t total_rto;
};

struct diag_conn {
	struct conn_key key;
	uint32_t inode;         /* of its descriptor */
	struct diag_ns *ns;
	uint64_t born, seen;
	struct diag_base base;
	struct conn_now now;    /* when it was seen last */
	uint32_t pass;          /* ns->passes then */
	uint32_t pid;           /* 0: not known */
	char comm[EVENT_COMM_LEN];
	uint32_t sampled_us[CONN_STATES], zero_window_us, unread_us;
	uint16_t sampled[CONN_STATES], zero_windows, unread;
	struct conn_unclear unclear;
	uint8_t missed;         /* passes without it, in a row */
	bool began, accepted, asked; /* asked: for its owner */
	bool decided;           /* whether it is `accepted` */
	bool changed;           /* since it was told */
};

struct diag_conns {
	struct conn_delta *delta; /* not owned; without a sink nothing is told */
	struct conn_table table;
	struct diag_gone VEC_OF(struct diag_conn *) gone;
	uint64_t no_memory;     /* connections that are not followed */
};

void diag_conns_init(struct diag_conns *conns, struct conn_delta *delta);
void diag_conns_release(struct diag_conns *conns);

void diag_ns_begin(struct diag_ns *ns, uint64_t now);

/*
 * A socket of the dump that is under way; with `sample_us` what it does is counted, as standing for
 * that. What comes in a namespace's first two dumps was there before.
 */
void diag_conns_update(struct diag_conns *conns, struct diag_ns *ns, const struct diag_sock *sock,
		       uint32_t sample_us);

/*
 * After a pass. Who is not in two complete dumps in a row (in one alone it may have been passed
 * over) has ended when it was seen last, and is told. True: there are some that only the last one
 * has not.
 */
bool diag_conns_settle(struct diag_conns *conns);

/* Those that did something since they were told. Returns how many. */
uint64_t diag_conns_report(struct diag_conns *conns);

#endif
