/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/conn_share.h"

#include <math.h>

#include "event/conn_times.h"

/* Returns the sum of the squares of `n` equal weights that sum to `sum`. */
static double conn_share_squares(double sum, double n)
{
	return n > 0 ? sum * sum / n : 0;
}

/*
 * Returns the number of equally weighted samples that give a share the same variance as these
 * weighted samples: sum of (weight * (hit - share))^2 / all^2 = share * (1 - share) / n. For a
 * share of 0 or 1, returns Kish's effective sample size.
 */
static double conn_share_equal_samples(const struct event_conn *c, double all, double share,
				       double in)
{
	double every = (double)(c->squares ? c->squares : conn_squares(c)) * 1e10, out, variance;

	out = fmax(every - in, 0);
	variance = in * (1 - share) * (1 - share) + out * share * share;
	if (!(variance > 0) || share <= 0 || share >= 1)
		return fmin(all * all / fmax(every, 1), c->samples);
	return fmin(share * (1 - share) * all * all / variance, c->samples);
}

/* Returns the share of a connection with weights, and the number of equal samples in *n. */
static double conn_share_weighted(const struct event_conn *c, uint64_t ns, uint32_t hits, double *n)
{
	double all = (double)c->unclear_ns, share;

	for (int i = 0; i < CONN_STATES; i++)
		all += (double)c->sampled_ns[i];
	share = fmin((double)ns / all, 1);
	*n = conn_share_equal_samples(c, all, share, conn_share_squares((double)ns, hits));
	return share;
}

struct proportion conn_share_sampled(const struct event_conn *c, uint64_t ns, uint32_t hits,
				     double confidence)
{
	double share, n;

	if (!conn_is_weighted(c))
		return proportion_interval(hits, c->samples, confidence);
	share = conn_share_weighted(c, ns, hits, &n);
	return proportion_of(share, n, confidence);
}

static const enum conn_sample_state states[] = {
	[CONN_SHARE_SEND_BUFFER] = CONN_AT_SEND_BUFFER,
	[CONN_SHARE_WINDOW] = CONN_AT_WINDOW,
	[CONN_SHARE_DELAYED_ACK] = CONN_AT_DELAYED_ACK,
};

uint32_t conn_share_hits(const struct event_conn *c, enum conn_share_kind kind)
{
	return kind == CONN_SHARE_UNREAD ? c->unread : c->sampled[states[kind]];
}

double conn_share_of(const struct event_conn *c, enum conn_share_kind kind, double *n)
{
	const bool unread = kind == CONN_SHARE_UNREAD;
	const uint32_t hits = conn_share_hits(c, kind);

	*n = (c->known & CONN_KNOWS_TIMES) && hits <= c->samples ? c->samples : 0;
	if (!(*n > 0))
		return 0;
	if (!conn_is_weighted(c))
		return hits / *n;
	return conn_share_weighted(c, unread ? c->unread_ns : c->sampled_ns[states[kind]], hits, n);
}
