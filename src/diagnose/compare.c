/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/compare.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/sort.h"
#include "diagnose/compare_state.h"

/*
 * 1 / EDGE_SHARE of the messages in a slice of latencies are next to one of its bounds. They show
 * how the slice's mean changes if that bound moves.
 */
#define EDGE_SHARE 10u

/* ---- blocks ---- */

static size_t compare_block(const struct compared *c, size_t message)
{
	return contrast_block(message, c->rec.messages.all.len);
}

static int compare_fill_blocks(struct compared *c)
{
	const struct messages *messages = &c->rec.messages;
	const size_t n = messages->all.len;
	int err = 0;

	c->n_blocks = contrast_blocks(n);
	for (size_t i = 0; i < CONTRAST_BLOCKS; i++) {
		hist_init(&c->latency[i], COMPARE_SCHEMA);
		c->blocks[i] = &c->latency[i];
	}
	for (size_t i = 0; !err && i < n; i++)
		err = hist_record(&c->latency[compare_block(c, i)],
				  message_latency(&messages->all.items[i]));
	return err;
}

/* ---- the slice ---- */

struct ranked_subject {
	uint64_t latency, id;
	uint32_t subject;
};

struct slice_of {
	/* messages in the compared slice of latencies, ordered by latency, then id */
	struct ranked_subject *targets;
	size_t n;
};

static int compare_by_rank(const void *a, const void *b)
{
	const struct ranked_subject *x = a, *y = b;

	return sort_order(x->latency, y->latency) ?: sort_order(x->id, y->id);
}

static int compare_rank_targets(const struct recorded *rec, struct slice_of *slice)
{
	slice->n = 0;
	slice->targets = calloc(rec->subjects.len + 1, sizeof(*slice->targets));
	if (!slice->targets)
		return -ENOMEM;
	for (uint32_t i = 0; i < rec->subjects.len; i++) {
		const struct message *m = subject_message(rec, i);

		if (rec->subjects.items[i].target)
			slice->targets[slice->n++] = (struct ranked_subject){
				message_latency(m), m->id, i };
	}
	qsort(slice->targets, slice->n, sizeof(*slice->targets), compare_by_rank);
	return 0;
}

/*
 * Returns in ns a message's time in `place` (a cause in one phase), or its latency for
 * COMPARE_LATENCY.
 */
static uint64_t compare_part(const struct recorded *rec, uint32_t subject, unsigned int place)
{
	return place == COMPARE_LATENCY ? message_latency(subject_message(rec, subject)) :
	       rec->breakdowns[subject].ns[place];
}

/*
 * Returns the mean time in `place` (a cause in one phase), in ns. The mean is over the messages
 * next to the slice's upper or lower bound of latency.
 */
static double compare_at_edge(const struct recorded *rec, const struct slice_of *slice, bool upper,
			      unsigned int place)
{
	const size_t n = (slice->n + EDGE_SHARE - 1) / EDGE_SHARE;
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		const size_t at = upper ? slice->n - 1 - i : i;

		sum += (double)compare_part(rec, slice->targets[at].subject, place);
	}
	return sum / (double)n;
}

/* Messages in each block: all; those below the compared slice; those up to the slice's end. */
struct ranks {
	double all[CONTRAST_BLOCKS], below[CONTRAST_BLOCKS], through[CONTRAST_BLOCKS];
};

static void compare_count_ranks(struct compared *c, const struct slice_of *slice,
				struct ranks *ranks)
{
	const struct messages *messages = &c->rec.messages;
	double inside[CONTRAST_BLOCKS];

	memset(ranks, 0, sizeof(*ranks));
	for (size_t i = 0; i < messages->all.len; i++) {
		const struct message *m = &messages->all.items[i];
		const struct ranked_subject at = { message_latency(m), m->id, 0 };
		const size_t block = compare_block(c, i);
		const bool below = compare_by_rank(&at, &slice->targets[0]) < 0;
		const bool through = compare_by_rank(&at, &slice->targets[slice->n - 1]) <= 0;

		ranks->all[block]++;
		ranks->below[block] += below;
		ranks->through[block] += through;
		c->begin += below;
		c->end += through;
	}
	for (size_t i = 0; i < c->n_blocks; i++)
		inside[i] = ranks->through[i] - ranks->below[i];
	c->effective = contrast_effective(inside, c->n_blocks);
}

/*
 * Computes each block's contribution to the slice's mean. The slice's edges are estimates: with
 * more messages below an edge, the slice would hold others. The correction is the time of the
 * messages at the edge (influence function of a trimmed mean; Huber 1981, 3.3); over all blocks it
 * sums to zero.
 */
static void compare_score(struct compared *c, const struct slice_of *slice,
			  const struct ranks *ranks, unsigned int place)
{
	const double n = (double)c->rec.messages.all.len;
	const double from = (double)c->begin / n, to = (double)c->end / n;
	const double lower = compare_at_edge(&c->rec, slice, false, place);
	const double upper = compare_at_edge(&c->rec, slice, true, place);
	double *scores = c->score[place];

	for (size_t i = 0; i < slice->n; i++) {
		const uint32_t subject = slice->targets[i].subject;
		const uint64_t ns = compare_part(&c->rec, subject, place);

		c->total[place] += ns;
		scores[compare_block(c, c->rec.subjects.items[subject].message)] += (double)ns;
	}
	for (size_t i = 0; i < c->n_blocks; i++) {
		scores[i] += upper * (to * ranks->all[i] - ranks->through[i]);
		scores[i] -= lower * (from * ranks->all[i] - ranks->below[i]);
		scores[i] /= (to - from) * ranks->all[i];
	}
}

/*
 * Sets `mean` to totals divided by n. Rounds the mean times by cause and phase so that they sum to
 * the mean latency, unless the totals don't: the times with the largest fractions get the
 * remainder.
 */
static void compare_round_means(const uint64_t *total, uint64_t n, bool sums, int64_t *mean)
{
	int64_t left = (int64_t)(total[COMPARE_LATENCY] / n);

	for (unsigned int place = 0; place < COMPARE_PLACES; place++)
		mean[place] = (int64_t)(total[place] / n);
	for (unsigned int place = 0; place < CAUSE_PLACES; place++)
		left -= mean[place];
	for (; left > 0 && sums; left--) {
		unsigned int best = 0;
		uint64_t most = 0;

		for (unsigned int place = 0; place < CAUSE_PLACES; place++) {
			const bool given = mean[place] > (int64_t)(total[place] / n);

			if (!given && total[place] % n > most) {
				most = total[place] % n;
				best = place;
			}
		}
		mean[best]++;
	}
}

static void compare_check_parts(struct compared *c, const struct slice_of *slice)
{
	for (size_t i = 0; i < slice->n; i++) {
		const uint64_t latency = slice->targets[i].latency;
		uint64_t sum = 0, error;

		for (unsigned int place = 0; place < CAUSE_PLACES; place++)
			sum += compare_part(&c->rec, slice->targets[i].subject, place);
		error = sum > latency ? sum - latency : latency - sum;
		c->error = error > c->error ? error : c->error;
	}
}

/* ---- culprits ---- */

/* Fills in the culprits of `n` places (cause and phase) of the slice, from `place` on. */
static int compare_fill_culprits(const struct compared *c, const struct slice_of *slice,
				 unsigned int place, unsigned int n, struct cause_culprits *out)
{
	int err = 0;

	for (size_t i = 0; i < slice->n && !err; i++) {
		const struct breakdown *b = &c->rec.breakdowns[slice->targets[i].subject];
		uint64_t ns = 0;

		for (unsigned int k = 0; k < n; k++)
			ns += b->ns[place + k];
		if (ns)
			err = culprits_add_message(out, b, place, n, ns);
	}
	return err ? err : culprits_finish(out);
}

static int compare_gather_culprits(struct compared *c, const struct slice_of *slice)
{
	int err = compare_fill_culprits(c, slice, CAUSE_PLACE(CAUSE_CPU_WAIT, 0), WHERE_MAX,
					&c->cpu_wait);

	for (unsigned int place = 0; place < CAUSE_PLACES && !err; place++)
		if (c->total[place])
			err = compare_fill_culprits(c, slice, place, 1, &c->culprits[place]);
	return err;
}

static int compare_fill_slice(struct compared *c)
{
	struct slice_of slice;
	struct ranks ranks;
	int err = compare_rank_targets(&c->rec, &slice);

	if (!err && slice.n) {
		compare_count_ranks(c, &slice, &ranks);
		compare_check_parts(c, &slice);
		for (unsigned int place = 0; place < COMPARE_PLACES; place++)
			compare_score(c, &slice, &ranks, place);
		compare_round_means(c->total, slice.n, !c->error, c->mean);
		err = compare_gather_culprits(c, &slice);
	}
	free(slice.targets);
	return err;
}

/* ---- complete comparison ---- */

static int compare_read_side(struct compared *c, const struct message_selection *selection,
			     struct event_reader *reader)
{
	int err = recorded_read(&c->rec, reader, selection);

	for (unsigned int place = 0; place < CAUSE_PLACES; place++)
		culprits_init(&c->culprits[place], &c->rec, place / WHERE_MAX);
	culprits_init(&c->cpu_wait, &c->rec, CAUSE_CPU_WAIT);
	if (!err)
		err = compare_fill_blocks(c);
	if (!err && c->rec.subjects.len)
		err = compare_fill_slice(c);
	return err;
}

static int compare_place(struct comparison *c, unsigned int place)
{
	struct difference_blocks blocks[2][DIFFERENCE_RECORDINGS_MAX];
	const struct compared_side *a = &c->sides[0], *b = &c->sides[1];

	for (int which = 0; which < 2; which++) {
		const struct compared_side *side = &c->sides[which];

		for (size_t i = 0; i < side->n; i++) {
			const struct compared *one = side->recordings[i];

			blocks[which][i] = (struct difference_blocks){
				one->score[place], one->end > one->begin ? one->n_blocks : 0 };
		}
	}
	difference_set_small(&c->places[place], (double)a->mean[place], (double)b->mean[place]);
	return difference_means(blocks[0], a->n, blocks[1], b->n, &c->places[place]);
}

/* Returns whether means can be tested. Several recordings need no blocks of their own for it. */
static bool compare_slices_suffice(const struct comparison *c)
{
	const struct compared_side *a = &c->sides[0], *b = &c->sides[1];

	return a->n > 1 || b->n > 1 || (comparison_slice_suffices(a->recordings[0]) &&
					comparison_slice_suffices(b->recordings[0]));
}

static int compare_places(struct comparison *c)
{
	const struct compared_side *a = &c->sides[0], *b = &c->sides[1];
	struct difference *tested[CAUSE_PLACES];
	size_t n = 0;
	int err = 0;

	if (!compare_slices_suffice(c))
		return 0;
	for (unsigned int place = 0; !err && place < COMPARE_PLACES; place++) {
		if (!a->total[place] && !b->total[place])
			continue;
		err = compare_place(c, place);
		if (place != COMPARE_LATENCY)
			tested[n++] = &c->places[place];
	}
	if (!err)
		err = difference_judge(tested, n, &c->tally);
	tested[0] = &c->places[COMPARE_LATENCY];
	return err ? err : difference_judge(tested, 1, &c->tally);
}

static int compare_quantiles(struct comparison *c)
{
	int err = difference_quantiles(&c->sides[0].latency, &c->sides[1].latency, c->quantiles);

	return err ? err : difference_judge_quantiles(c->quantiles, &c->tally);
}

/* Sums up the recordings of a side. */
static void compare_sum_side(struct compared_side *side)
{
	uint64_t means[COMPARE_PLACES] = { 0 };
	uint64_t with_slice = 0;

	side->causes = side->n;
	for (size_t i = 0; i < side->n; i++) {
		const struct compared *one = side->recordings[i];

		side->messages += one->rec.messages.all.len;
		side->targets += one->end - one->begin;
		with_slice += one->end > one->begin;
		side->effective += one->effective;
		side->n_blocks += one->n_blocks;
		side->error = one->error > side->error ? one->error : side->error;
		side->causes &= one->rec.cores > 0;
		for (unsigned int place = 0; place < COMPARE_PLACES; place++) {
			side->total[place] += one->total[place];
			means[place] += (uint64_t)one->mean[place];
		}
	}
	if (with_slice)
		compare_round_means(means, with_slice, !side->error, side->mean);
}

const struct compared *compare_longest(const struct compared_side *side, unsigned int place)
{
	const struct compared *longest = side->recordings[0];

	for (size_t i = 1; i < side->n; i++)
		if (side->recordings[i]->mean[place] > longest->mean[place])
			longest = side->recordings[i];
	return longest;
}

int comparison_new(struct comparison **out, const struct message_selection *selection)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->selection = *selection;
	return 0;
}

int comparison_add(struct comparison *c, int which, struct event_reader *reader,
		   const struct hostlat_pids *pids)
{
	struct compared_side *side = &c->sides[which];
	struct compared *one;
	int err;

	if (side->n == DIFFERENCE_RECORDINGS_MAX)
		return -E2BIG;
	one = calloc(1, sizeof(*one));
	if (!one)
		return -ENOMEM;
	side->recordings[side->n++] = one;
	if (pids)
		one->rec.hostlat = *pids;
	err = compare_read_side(one, &c->selection, reader);
	if (err)
		return err;
	side->latency.schema = COMPARE_SCHEMA;
	return difference_series_add(&side->latency,
				     &(struct contrast_run){ one->blocks, one->n_blocks });
}

int comparison_evaluate(struct comparison *c)
{
	int err;

	compare_sum_side(&c->sides[0]);
	compare_sum_side(&c->sides[1]);
	c->causes = c->sides[0].causes && c->sides[1].causes;
	err = compare_quantiles(c);
	return err ? err : compare_places(c);
}

const struct difference_series *comparison_series(const struct comparison *c, int side)
{
	return &c->sides[side].latency;
}

static void compare_free_recording(struct compared *one)
{
	for (size_t i = 0; i < CONTRAST_BLOCKS; i++)
		hist_release(&one->latency[i]);
	for (unsigned int place = 0; place < CAUSE_PLACES; place++)
		culprits_release(&one->culprits[place]);
	culprits_release(&one->cpu_wait);
	recorded_release(&one->rec);
	free(one);
}

void comparison_free(struct comparison *c)
{
	if (!c)
		return;
	for (int which = 0; which < 2; which++)
		for (size_t i = 0; i < c->sides[which].n; i++)
			compare_free_recording(c->sides[which].recordings[i]);
	free(c);
}

uint64_t comparison_messages(const struct comparison *c, int side, size_t recording)
{
	const struct messages *messages = &c->sides[side].recordings[recording]->rec.messages;

	return messages->all.len + messages->beyond;
}

uint64_t comparison_duration_ns(const struct comparison *c, int side, size_t recording)
{
	const struct messages *messages = &c->sides[side].recordings[recording]->rec.messages;

	return messages->all.len ? messages->to - messages->from : 0;
}
