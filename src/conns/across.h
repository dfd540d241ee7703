/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two ends of connections whose hosts were recorded each by itself. Both analyses are fed with
 * the time that the recordings have in common, in the clock of the first (conns_set_window());
 * then the ends are looked for. What is known of an end is its total over that time: the two hosts'
 * intervals need not be the same, and a state's share needs all samples there are.
 *
 * An identity is one of its own host: nothing of the two hosts is compared but addresses, times
 * and sequence numbers. Two ends are joined if their addresses are each other's, their times
 * overlap, sequence numbers fit at the end and at the begin of what is told of them, both ways,
 * and all this is so of no other two.
 */
#ifndef HOSTLAT_CONNS_ACROSS_H
#define HOSTLAT_CONNS_ACROSS_H

#include "conns/conns.h"

/*
 * Two hosts' clocks that are synchronised are that much apart at most. More is said where
 * connections tell of it.
 */
#define ACROSS_CLOCKS_NS 100000000u

/* Why an end has no other one, or none in the other recording; a later one got further. */
enum across_why {
	ACROSS_NO_ADDRESS,      /* it is not told */
	ACROSS_NOT_FOUND,       /* none with these addresses, the other way round */
	ACROSS_OTHER_TIME,
	ACROSS_NO_SEQUENCES,    /* by inet_diag, or the state is not told */
	ACROSS_UNTOLD,          /* too much may have moved between the readings */
	ACROSS_SEQUENCES,       /* they contradict each other */
	ACROSS_BYTES,           /* ... at the begin */
	ACROSS_TAKEN,           /* that end is joined on its own host */
	ACROSS_AMBIGUOUS,       /* several fit */
	ACROSS_SAME_HOST,       /* both ends are in its own recording: nothing is looked for */
	ACROSS_WHYS,
};

struct across_config {
	struct conns_host here, there;
	uint64_t error_ns;      /* of the shift that `there` was moved by */
};

struct conns_elsewhere;

/*
 * Joins; from then on reports of the totals of `here` have the other ends. `there` and the names
 * must live as long as these. 0 or -ENOMEM.
 */
int across_new(struct conns_elsewhere **out, struct conns *here, struct conns *there,
	       const struct across_config *config);

/* `here` has no other ends any more. Takes NULL. */
void across_free(struct conns_elsewhere *e, struct conns *here);

/* "not-found", and a sentence for people without its dot. */
const char *across_why_name(enum across_why why);
const char *across_why_text(enum across_why why);

#endif
