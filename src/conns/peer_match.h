/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches the two ends of connections in two hosts' recordings. Both analyses are fed with the time
 * that the recordings have in common, in the clock of the first (conns_set_window()); then the ends
 * are matched. What is known of an end is its total over that time: the two hosts'
 * intervals need not be the same, and a state's share needs all samples there are.
 *
 * An identity is one of its own host: nothing of the two hosts is compared but addresses, times
 * and sequence numbers. Two ends are joined if their addresses are each other's, their times
 * overlap, sequence numbers fit at the end and at the begin of what is told of them, both ways,
 * and all this is so of no other two.
 */
#ifndef HOSTLAT_CONNS_PEER_MATCH_H
#define HOSTLAT_CONNS_PEER_MATCH_H

#include "conns/conns.h"

/*
 * Largest difference of two synchronized hosts' clocks. A greater one, seen by connections, is
 * reported.
 */
#define PEER_MATCH_CLOCKS_NS 100000000u

/* Why an end has no other one, or none in the other recording; a later one got further. */
enum peer_match_why {
	PEER_MATCH_NO_ADDRESS,      /* the addresses are unknown */
	PEER_MATCH_NOT_FOUND,       /* none with these addresses, the other way round */
	PEER_MATCH_OTHER_TIME,
	PEER_MATCH_NO_SEQUENCES,    /* from inet_diag, or without gauges */
	PEER_MATCH_TOO_FAST,          /* too much may have moved between the readings */
	PEER_MATCH_SEQUENCES,       /* they contradict each other */
	PEER_MATCH_BYTES,           /* byte counts at the beginning contradict each other */
	PEER_MATCH_JOINED_THERE,           /* that end is joined on its own host */
	PEER_MATCH_AMBIGUOUS,       /* several fit */
	PEER_MATCH_SAME_HOST,       /* both ends are in its own recording: nothing is looked for */
	PEER_MATCH_WHYS,
};

struct peer_match_config {
	struct conns_host here, there;
	uint64_t error_ns;      /* of the shift that `there` was moved by */
};

struct peer_recording;

/*
 * Joins; from then on reports of the totals of `here` have the other ends. `there` and the names
 * must live as long as these. 0 or -ENOMEM.
 */
int peer_match_new(struct peer_recording **out, struct conns *here, struct conns *there,
	       const struct peer_match_config *config);

/* `here` has no other ends any more. Takes NULL. */
void peer_match_free(struct peer_recording *e, struct conns *here);

/* "not-found", and a sentence for people without its dot. */
const char *peer_match_why_name(enum peer_match_why why);
const char *peer_match_why_text(enum peer_match_why why);

#endif
