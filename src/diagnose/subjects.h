/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The messages of a recording that are analyzed in detail: targets to explain, and the messages
 * with which they are compared. Memory: 256 bytes for each.
 */
#ifndef HOSTLAT_DIAGNOSE_SUBJECTS_H
#define HOSTLAT_DIAGNOSE_SUBJECTS_H

#include "diagnose/messages.h"

#define SUBJECTS_MAX 100000u   /* messages that are analyzed in detail, at most */
#define REFERENCE_MAX 1000u    /* reference messages of one application, at most */
#define REFERENCE_MIN 10u      /* reference messages that a baseline needs */
#define PIECES_MAX 8u           /* intervals of one message's time */

/*
 * Reference messages of an application: a slice of its latencies, or the fastest. AGAINST_AUTO: the
 * slice; the fastest if the median is more than 3 times p5, i.e. if the usual message is slow, too.
 */
enum against { AGAINST_SLICE, AGAINST_FASTEST, AGAINST_AUTO };

struct message_selection {
	enum direction direction; /* direction of the messages */
	double from, to;          /* quantiles of latency to explain; unless `slowest` > 0 */
	uint64_t slowest;
	enum against against;
	double against_from, against_to;
	bool wider;               /* also divides usual messages, and slow ones below the targets */
};

/* Fewest messages with which AGAINST_AUTO chooses, and how many times p5 a slow median is. */
#define USUAL_MIN  200u
#define USUAL_SLOW 3u

/* A message that is analyzed in detail. */
struct subject {
	uint32_t message;         /* index of the message in messages.all */
	bool target, reference;   /* chosen as target or as reference, or both */
	/* with message_selection.wider: chosen as usual, and as one of the slowest that is no
	 * target */
	bool usual, near;
	uint32_t n;               /* intervals in `pieces`; 0: none found, or over PIECES_MAX */
	uint64_t returned;        /* sent: when the call returned, in ns */
	struct event_piece pieces[PIECES_MAX];
};

struct subjects VEC_OF(struct subject);

/* Result of a selection. */
struct selection_out {
	uint64_t dropped;         /* targets beyond SUBJECTS_MAX */
	/* applications with targets, by whether AGAINST_AUTO chose the fastest messages */
	uint32_t usual_is_fast, usual_is_slow;
};

/*
 * Chooses the targets and their applications' references, in the order of the messages, and reads
 * the intervals of their times. The choice is deterministic: ties go by id; of many references, a
 * sample by hash of the id. `also`: further messages, by index in messages->all; NULL: none.
 * Returns 0 or -errno.
 */
int subjects_select(const struct messages *messages, const struct message_selection *selection,
		    const bool *also, struct event_reader *reader, struct subjects *out,
		    struct selection_out *result);

#endif
