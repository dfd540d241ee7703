/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches the two ends of connections in two hosts' recordings. Both analyses are fed with the time
 * that the recordings have in common, in the clock of the first (conns_set_window()); then the ends
 * are matched. An end is judged by its totals over that time: the two hosts' intervals may differ,
 * and a state's share needs all samples.
 *
 * Cookies identify connections on one host only, so the match uses addresses, times and sequence
 * numbers. Two ends are joined if their addresses are each other's reversed, their times overlap,
 * sequence numbers fit at the begin and at the end of their records, both ways, and no other pair
 * with one of these ends matches.
 */
#ifndef HOSTLAT_CONNS_PEER_MATCH_H
#define HOSTLAT_CONNS_PEER_MATCH_H

#include "conns/conns.h"

/*
 * Largest difference of two synchronized hosts' clocks, in ns. A greater difference, seen by
 * connections, is reported.
 */
#define PEER_MATCH_CLOCKS_NS 100000000u

/*
 * Why an end has no match in the other recording. A later reason means that earlier tests passed.
 */
enum peer_match_why {
	PEER_MATCH_NO_ADDRESS,      /* the addresses are unknown */
	PEER_MATCH_NOT_FOUND,       /* no connection has these addresses, reversed */
	PEER_MATCH_OTHER_TIME,
	PEER_MATCH_NO_SEQUENCES,    /* a record is from inet_diag or lacks gauges */
	PEER_MATCH_TOO_FAST, /* more bytes may have moved than 32-bit sequence numbers show */
	PEER_MATCH_SEQUENCES,       /* sequence numbers contradict each other */
	PEER_MATCH_BYTES,           /* byte counts at the beginning contradict each other */
	PEER_MATCH_JOINED_THERE, /* the match is joined with another connection of its own host */
	PEER_MATCH_AMBIGUOUS,       /* several connections match */
	PEER_MATCH_SAME_HOST,       /* both ends are in the same recording: no search */
	PEER_MATCH_WHYS,
};

struct peer_match_config {
	struct conns_host here, there;
	uint64_t error_ns;      /* bound of the error of the other recording's clock shift */
};

struct peer_recording;

/*
 * Matches the connections of two recordings; from then on, reports of the totals of `here` include
 * the other ends. `there` and the names in `config` must live until peer_match_free(). Returns 0 or
 * -ENOMEM.
 */
int peer_match_new(struct peer_recording **out, struct conns *here, struct conns *there,
	       const struct peer_match_config *config);

/* Frees the matches; reports of `here` no longer include other ends. Accepts NULL. */
void peer_match_free(struct peer_recording *e, struct conns *here);

/* Returns a name such as "not-found"; next function: a sentence without full stop. Both static. */
const char *peer_match_why_name(enum peer_match_why why);
const char *peer_match_why_text(enum peer_match_why why);

#endif
