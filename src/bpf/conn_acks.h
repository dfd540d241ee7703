/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Decides from a connection's own round trips whether the peer delays its acknowledgements. Short
 * round trips show the path; longer ones that all exceed the short ones by the same time are
 * acknowledgements that waited for a timer. Timers differ by stack (40, 50, 100, 200 ms), paths by
 * jitter: neither is assumed.
 *
 * No kernel type is used here, so that unit tests run the same code as the BPF program.
 */
#ifndef HOSTLAT_BPF_CONN_ACKS_H
#define HOSTLAT_BPF_CONN_ACKS_H

#include <linux/types.h>

#include "event/layout.h"

#ifndef ACKS_INLINE
#define ACKS_INLINE static inline __attribute__((always_inline))
#endif

struct conn_acks {
	__u16 base;  /* 10 % quantile of the round trips, in ACKS_UNIT_US; 0: unknown */
	/* ms by which possibly delayed round trips exceed the base; 0: no such round trip */
	__u8 late;
	/* low 4 bits: score; high 4 bits: how many more late round trips in a row are allowed */
	__u8 votes;
	/* late round trips that raised the score and are not counted as delayed yet; at most 255 */
	__u8 alike;
	__u8 held;   /* number of `alike` round trips during which this end held data back */
};

/* Numbers of acknowledgements found to be delayed, and of delayed ones that data waited for. */
struct acks_found {
	__u32 delayed, held;
};

#define ACKS_UNIT_US 32
#define ACKS_CUT_US (65535U * ACKS_UNIT_US)

/* Range of delays: a shorter delay may be the peer's time to answer, a longer a retransmission. */
#define ACKS_MIN_US 20000U
#define ACKS_MAX_US 250000U

/*
 * The score begins at ACKS_START. A late round trip adds 1 if its length matches earlier late ones,
 * else subtracts 3. From ACKS_SURE on the peer counts as delaying, and the late round trips so far
 * are counted. Up to ACKS_UNCLEAR, the path itself may vary as much.
 */
#define ACKS_UNCLEAR 1U
#define ACKS_START 6U
#define ACKS_SURE 12U
#define ACKS_MAX 15U

/*
 * Maximum of late round trips in a row; after more, the path itself has become longer. ACKS_ROW
 * late round trips are too few for ACKS_SURE.
 */
#define ACKS_ROW 6U
#define ACKS_ROW_SURE 15U

ACKS_INLINE __u32 acks_base_us(const struct conn_acks *a)
{
	return (__u32)a->base * ACKS_UNIT_US;
}

ACKS_INLINE __u32 acks_score(const struct conn_acks *a)
{
	return a->votes & 15;
}

ACKS_INLINE int acks_are_delayed(const struct conn_acks *a)
{
	return acks_score(a) >= ACKS_SURE;
}

/*
 * Returns true if it cannot be judged whether acknowledgements are delayed: the path varies too
 * much, or all round trips are late. `min_us`: TCP's minimum round trip of the last minutes.
 */
ACKS_INLINE int acks_are_unclear(const struct conn_acks *a, __u32 min_us)
{
	if (!a->base || acks_are_delayed(a))
		return 0;
	return acks_score(a) <= ACKS_UNCLEAR || acks_base_us(a) >= min_us + ACKS_MIN_US;
}

ACKS_INLINE void acks_set_base(struct conn_acks *a, __u32 us)
{
	__u32 base = us < ACKS_CUT_US ? us / ACKS_UNIT_US : 65535;

	a->base = base ? base : 1;
}

/* Moves the base towards the 10 % quantile: halfway down to a round trip, or a small step up. */
ACKS_INLINE void acks_move_base(struct conn_acks *a, __u32 rtt_us, __u32 min_us)
{
	__u32 base = acks_base_us(a);

	if (rtt_us < base)
		base -= (base - rtt_us + 1) / 2;
	else
		base += base / 256 + ACKS_UNIT_US;
	acks_set_base(a, base < min_us ? min_us : base);
}

ACKS_INLINE int acks_are_alike(__u32 late_ms, __u32 more_us)
{
	__u32 ms = more_us / 1000, apart = ms > late_ms ? ms - late_ms : late_ms - ms;

	return late_ms && apart <= late_ms / 16 + 4;
}

/* Records a late round trip, perhaps a delayed ACK, as the first of its length. */
ACKS_INLINE void acks_begin_late(struct conn_acks *a, __u32 more_us, int held)
{
	a->late = more_us / 1000;
	a->alike = 1;
	a->held = !!held;
}

/* Records a late round trip of a known length. Returns the delayed ACKs that are now certain. */
ACKS_INLINE struct acks_found acks_confirm(struct conn_acks *a, __u32 *score, __u32 more_us,
					   int held)
{
	struct acks_found found = {};

	a->late = (3 * a->late + more_us / 1000 + 2) / 4;
	if (a->alike < 255) {
		a->alike++;
		a->held += !!held;
	}
	if (*score < ACKS_MAX)
		++*score;
	if (*score < ACKS_SURE)
		return found;
	*score = ACKS_MAX;
	found.delayed = a->alike;
	found.held = a->held;
	a->alike = a->held = 0;
	return found;
}

ACKS_INLINE void acks_doubt(struct conn_acks *a, __u32 *score, __u32 more_us, int candidate,
			    int held)
{
	__u32 was = *score;

	*score = was > 3 ? was - 3 : 0;
	if (was >= ACKS_SURE && *score < ACKS_SURE)
		*score = ACKS_START;
	if (candidate && *score < ACKS_START)
		acks_begin_late(a, more_us, held);
}

/* Resets the base and the score: the path has become longer, so the old base is invalid. */
ACKS_INLINE void acks_begin_again(struct conn_acks *a, __u32 rtt_us)
{
	__u32 score = acks_score(a);

	acks_set_base(a, rtt_us);
	a->late = a->alike = a->held = 0;
	a->votes = (score < ACKS_START ? score : ACKS_START) | ACKS_ROW << 4;
}

/*
 * Adds a round trip. Returns the acknowledgements now known to have been delayed: this one, and
 * with the first sure one the earlier ones. `lone`: too little data was in flight to queue behind
 * itself. `with_data`: the acknowledgement came with data, so the peer may have waited for its own
 * answer. `held`: this end had unsent data.
 */
ACKS_INLINE struct acks_found acks_add(struct conn_acks *a, __u32 rtt_us, __u32 min_us, int lone,
				       int with_data, int held)
{
	struct acks_found found = {};
	__u32 score, row, base, more, short_of;
	int candidate, alike;

	if (!a->base) { /* begin with TCP's minimum, usually the handshake's round trip */
		acks_set_base(a, min_us && min_us < rtt_us ? min_us : rtt_us);
		a->votes = ACKS_START | ACKS_ROW << 4;
	}
	score = acks_score(a);
	row = a->votes >> 4;
	base = acks_base_us(a);
	more = rtt_us > base ? rtt_us - base : 0;
	short_of = a->late ? a->late * 250U : ACKS_MIN_US;
	lone = lone && !with_data;
	candidate = lone && more >= ACKS_MIN_US && more <= ACKS_MAX_US;
	alike = candidate && acks_are_alike(a->late, more);
	if (candidate && !row) {
		acks_begin_again(a, rtt_us);
		return found;
	}
	if (more < short_of) {
		/* Raise the score at one sample in eight: an unclear connection is judged again. */
		if (score < ACKS_START && !(rtt_us & 7) && base < min_us + ACKS_MIN_US)
			score++;
		row = score >= ACKS_SURE ? ACKS_ROW_SURE : ACKS_ROW;
	} else if (candidate && !a->late) {
		acks_begin_late(a, more, held);
	} else if (alike) {
		found = acks_confirm(a, &score, more, held);
	} else if (lone) {
		acks_doubt(a, &score, more, candidate, held);
	}
	if (candidate && row)
		row--;
	if (!alike && (!with_data || !more))
		acks_move_base(a, rtt_us, min_us);
	a->votes = score | row << 4;
	return found;
}

#endif
