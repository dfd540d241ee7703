/* SPDX-License-Identifier: Apache-2.0 */
/*
 * State of each connection between two dumps of inet_diag: its samples, and its counters at the
 * last dump. No system calls.
 *
 *	each pass, for each namespace:
 *		diag_ns_begin(ns, now);
 *		for each answer: ns->time = now;
 *			for each socket: diag_conns_update(conns, ns, sock, sample_us);
 *		ns->complete = true, if no answer is missing
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

/* A network namespace. Zero-initialized but for `inode`. */
struct diag_ns {
	uint32_t inode;
	uint32_t passes;        /* dumps begun so far */
	uint64_t began, before; /* begin of this dump; begin of the last complete dump, 0: none */
	uint64_t time;          /* time of the netlink answer being read */
	bool complete;
	bool gone;              /* the namespace no longer exists */
	uint8_t listens[8192];  /* bit per listening port */
};

/* A connection's counters when hostlat first saw the connection. */
struct diag_base {
	uint64_t bytes_sent, bytes_acked, bytes_received, bytes_retrans;
	uint32_t chrono[3], dsack_dups;
	uint16_t total_rto;
};

struct diag_conn {
	struct conn_key key;
	uint32_t inode;         /* inode of the socket's file */
	struct diag_ns *ns;
	uint64_t born, seen;
	struct diag_base base;
	struct conn_now now;    /* state in the last dump with the connection */
	uint32_t pass;          /* number of the namespace's last dump with the connection */
	uint32_t pid;           /* process id of the owner; 0: unknown */
	char comm[EVENT_COMM_LEN];
	uint32_t sampled_us[CONN_STATES], zero_window_us, unread_us;
	uint16_t sampled[CONN_STATES], zero_windows, unread;
	struct conn_unclear unclear;
	uint8_t missed;         /* dumps in a row without this connection */
	/* began between two dumps; the local end accepted; a search for the owner was made */
	bool began, accepted, asked;
	bool decided; /* `accepted` is known: a complete dump has listed all listening ports */
	/* the connection has been reported, at least once; it has changed since the last report */
	bool reported, changed;
};

struct diag_conns {
	struct conn_delta *delta; /* owned by the caller; without its sink, nothing is reported */
	struct conn_table table;
	struct diag_gone VEC_OF(struct diag_conn *) gone;
	uint64_t no_memory;     /* connections not followed, for lack of memory */
};

void diag_conns_init(struct diag_conns *conns, struct conn_delta *delta);
void diag_conns_release(struct diag_conns *conns);

void diag_ns_begin(struct diag_ns *ns, uint64_t now);

/*
 * Updates a connection from a socket of the current dump. `sample_us` > 0: counts a sample that
 * represents `sample_us`. Connections in a namespace's first two dumps count as older than hostlat.
 */
void diag_conns_update(struct diag_conns *conns, struct diag_ns *ns, const struct diag_sock *sock,
		       uint32_t sample_us);

/*
 * Ends and reports connections that two complete dumps in a row lack, as one dump may skip some;
 * called after a pass. Returns true if connections are missing in the last dump only.
 */
bool diag_conns_settle(struct diag_conns *conns);

/*
 * Reports connections that were active since their last report, and those never reported. Returns
 * their number.
 */
uint64_t diag_conns_report(struct diag_conns *conns);

#endif
