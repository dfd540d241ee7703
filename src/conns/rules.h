/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The problems of a single connection: a table of rules, see docs/design/connections.md. A rule
 * does not apply if its fields are unknown or its samples are too few.
 */
#ifndef HOSTLAT_CONNS_RULES_H
#define HOSTLAT_CONNS_RULES_H

#include "conns/problem.h"

/* A limit is a problem from this share of the time on. */
#define RULES_LIMITED_SHARE 0.05
/* Least probability that a sampled limit is as long: by the samples of the service, too. */
#define RULES_LIMITED_SURE 0.975
/* Losses are harmful if they stall the connection for this share of its busy time. */
#define RULES_STALL_SHARE 0.01
/* At this share of the pacing rate or more, pacing limits the connection. */
#define RULES_PACED_SHARE 0.8
/* A round trip of so many times the least one has a standing queue in it: the path is full. */
#define RULES_QUEUED_TRIPS 2u
/* A window that was cut after a pause has grown again after so many round trips. */
#define RULES_RESTART_TRIPS 8u
/*
 * Losses are harmful if chance brings as many to a connection of a service in one of 100 services,
 * and if they are at least twice as frequent as on the service's other connections.
 */
#define RULES_LOSS_CHANCE 0.01
#define RULES_LOSS_TIMES 2.0
/* The receiver's window limits a connection if it does so for more round trips: it may grow. */
#define RULES_WINDOW_TRIPS 8u
/* Least number of a connection's samples to find a problem by samples, not by counted events. */
#define RULES_SAMPLES_MIN 10u
/* Least number of samples that find a state: a single one may hit a state of no duration. */
#define RULES_SEEN_MIN 2u
/* The kernel counts window-limited time in ticks of up to 10 ms: less than two is no limit. */
#define RULES_WINDOW_MIN_NS 20000000u
/* Least number of late acknowledgements for a problem: a single one may have another reason. */
#define RULES_DELAYED_MIN 2u
/* Least share of timeouts, one in so many, with a late acknowledgement of what they sent again. */
#define RULES_DELAYED_TIMEOUTS 4u
/*
 * A send buffer of at most so many bytes that the application has set: SO_SNDBUF of 0, of which the
 * kernel makes 4,608 (SOCK_MIN_SNDBUF), up to 4 KiB, which it doubles.
 */
#define RULES_TINY_BUFFER 8192u
/* Least number of send calls to judge how an application writes. */
#define RULES_CALLS_MIN 20u

#define RULES_MAX 16 /* most problems of one connection */

/*
 * Mask of the classes whose lost times add up, so that each kind of time counts once: the repairs
 * and their delayed ACKs have parts of the stalls; a burst's are also those of its repairs, held
 * data is also Nagle's, a tiny buffer's is also that of full buffers.
 */
#define RULES_LOST_CLASSES                                                                         \
	(1U << CONN_SEND_BUFFER | 1U << CONN_FAST_RETRANSMIT | 1U << CONN_TIMEOUT |                \
	 1U << CONN_TAIL_LOSS_PROBE | 1U << CONN_RECEIVER_WINDOW | 1U << CONN_DELAYED_ACK |        \
	 1U << CONN_DELAYED_REPAIR)

/* Returns whether the problem's lost time is part of that of its connection. */
bool rules_counts_lost(const struct conn_problem *p);

/*
 * Finds a connection's problems and sets `judged` and `found` of the view. `found` points into
 * `room`, which has RULES_MAX entries and must outlive the view.
 */
void rules_judge(struct conn_view *view, struct conn_problem *room);

/*
 * Calls rules_judge(), appends the problems to `found`, and copies the judgment to *judged, for
 * conn_view_judged(). Returns 0, -ENOMEM or -E2BIG.
 */
int rules_judge_into(struct conn_view *view, struct conn_problems *found,
		     struct conn_judged *judged);

/*
 * Returns whether most send calls are small and follow a small call without an acknowledgement in
 * between.
 */
bool rules_writes_small(const struct event_conn *c);

/* Fills in the evidence and the sentences of finding->problem. */
void rules_explain(struct conn_finding *finding);

#endif
