/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/without.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/bug.h"
#include "base/sort.h"
#include "diagnose/culprits.h"
#include "stats/contrast.h"

/* Least share of all excess of a cause, and of all waits for a CPU of a command, that is tried. */
#define WITHOUT_SHARE_MIN 0.02
/* The best pair is told if no single cause brings more than this share of what the pair brings. */
#define WITHOUT_SINGLE_MAX 0.7
/* Exponential buckets 0.27 % wide. */
#define WITHOUT_SCHEMA 8
#define BLOCK_MESSAGES 8u

/* A message that is divided by cause. */
struct divided {
	uint64_t latency;
	const struct excess *excess;	/* NULL: unknown, as its application has no baseline */
	uint32_t block;
	uint64_t held[WITHOUT_COMMANDS]; /* excess for which each command held the CPU, in ns */
};

struct without_input {
	const struct diagnosis *d;
	struct divided *slow;
	size_t n;
	size_t targets;			/* number of explained messages among them */
	size_t n_blocks;
	uint64_t rest[CONTRAST_BLOCKS];	/* number of other messages in each block */
	uint32_t commands[WITHOUT_COMMANDS];
	uint64_t *left;			/* buffer for n values */
};

/* ---- the slow messages ---- */

static size_t without_block(const struct without_input *in, size_t message)
{
	return (size_t)((unsigned __int128)message * in->n_blocks / in->d->own.messages.all.len);
}

/* Returns the subject's entry in a list that is sorted by subject, from *at on; NULL: none. */
static const struct excess *without_entry(const struct excess_list *list, size_t *at,
					  uint32_t subject)
{
	while (*at < list->len && list->items[*at].subject < subject)
		++*at;
	return *at < list->len && list->items[*at].subject == subject ? &list->items[*at] : NULL;
}

static void without_fill(struct without_input *in)
{
	const struct recorded *rec = &in->d->own;
	const size_t all = rec->messages.all.len;
	size_t at[2] = { 0 };

	in->n_blocks = all / BLOCK_MESSAGES;
	in->n_blocks = in->n_blocks < CONTRAST_BLOCKS ? in->n_blocks : CONTRAST_BLOCKS;
	in->n_blocks += !in->n_blocks;
	for (size_t i = 0; i < all; i++)
		in->rest[without_block(in, i)]++;
	for (uint32_t i = 0; i < rec->subjects.len; i++) {
		const struct subject *s = &rec->subjects.items[i];
		struct divided *slow = &in->slow[in->n];

		if (!s->target && !s->near)
			continue;
		*slow = (struct divided){
			.latency = message_latency(subject_message(rec, i)),
			.excess = s->target ? without_entry(&in->d->excesses, &at[0], i) :
					      without_entry(&in->d->near, &at[1], i),
			.block = (uint32_t)without_block(in, s->message),
		};
		in->rest[slow->block]--;
		in->targets += s->target;
		in->n++;
	}
}

/* ---- latencies without a cause ---- */

static uint64_t without_cause_ns(const struct excess *e, enum cause cause)
{
	uint64_t ns = 0;

	for (unsigned int w = 0; w < WHERE_MAX; w++)
		ns += e->ns[CAUSE_PLACE(cause, w)];
	return ns;
}

static uint64_t without_removed(const struct without_input *in, const struct divided *slow,
				const struct without_case *one)
{
	uint64_t ns = 0;

	if (!slow->excess)
		return 0;
	for (unsigned int i = 0; i < WITHOUT_COMMANDS && one->command; i++)
		if (in->commands[i] == one->command)
			return slow->held[i];
	for (unsigned int i = 0; i < 2; i++)
		if (one->causes[i] != CAUSE_MAX)
			ns += without_cause_ns(slow->excess, one->causes[i]);
	return ns;
}

static int without_descending(const void *a, const void *b)
{
	return sort_order(*(const uint64_t *)b, *(const uint64_t *)a);
}

/* Sets in->left to what is left of the latencies. `one`: NULL takes nothing off. */
static void without_take_off(struct without_input *in, const struct without_case *one)
{
	for (size_t i = 0; i < in->n; i++)
		in->left[i] = in->slow[i].latency -
			      (one ? without_removed(in, &in->slow[i], one) : 0);
}

/* Sets the quantile, without bounds: as many messages as are explained are not faster. */
static void without_estimate(struct without_input *in, const struct without_case *one,
			     uint64_t floor_ns, struct without_quantile *out)
{
	without_take_off(in, one);
	qsort(in->left, in->n, sizeof(*in->left), without_descending);
	out->ns = in->left[in->targets - 1];
	out->below = out->ns < floor_ns;
	if (out->below)
		out->ns = floor_ns;
}

/* Sets the bounds, from the times and the order of all messages. */
static int without_bound(struct without_input *in, const struct without_case *one,
			 const struct without *w, struct without_quantile *out)
{
	struct hist hists[CONTRAST_BLOCKS];
	const struct hist *blocks[CONTRAST_BLOCKS];
	const struct contrast_run run = { blocks, in->n_blocks };
	struct contrast_side side = { 0 };
	int err = 0;

	without_take_off(in, one);
	for (size_t i = 0; i < in->n_blocks; i++) {
		hist_init(&hists[i], WITHOUT_SCHEMA);
		blocks[i] = &hists[i];
		/* Messages that are not divided are below the floor, wherever they are. */
		err = err ?: hist_record_n(&hists[i], 1, in->rest[i]);
	}
	for (size_t i = 0; i < in->n && !err; i++)
		err = hist_record(&hists[in->slow[i].block], in->left[i] ?: 1);
	if (!err)
		err = contrast_side(&run, w->q, WITHOUT_CONFIDENCE, &side);
	for (size_t i = 0; i < in->n_blocks; i++)
		hist_release(&hists[i]);
	out->bounded = !err && side.bounded;
	if (!out->bounded)
		return err;
	out->lo_below = side.lo_ns < w->floor_ns;
	out->lo_ns = out->lo_below ? w->floor_ns : side.lo_ns;
	out->hi_ns = side.hi_ns > w->floor_ns ? side.hi_ns : w->floor_ns;
	/* A bucket's bounds are rounded: they may not exclude the value. */
	if (out->lo_ns > out->ns)
		out->lo_ns = out->ns;
	if (out->hi_ns < out->ns)
		out->hi_ns = out->ns;
	return 0;
}

/* ---- choice of causes and commands ---- */

struct cause_total {
	enum cause cause;
	uint64_t ns;
};

static int without_order_totals(const void *a, const void *b)
{
	const struct cause_total *x = a, *y = b;

	return sort_order(y->ns, x->ns) ?: sort_order(x->cause, y->cause);
}

/* Returns the number of causes that are tried; they are the first of `totals`. */
static uint32_t without_choose_causes(const struct without_input *in,
				      struct cause_total totals[CAUSE_MAX])
{
	uint64_t all = 0;
	uint32_t n = 0;

	for (unsigned int cause = 0; cause < CAUSE_MAX; cause++) {
		totals[cause] = (struct cause_total){ cause, 0 };
		vec_for_each(&in->d->excesses, e)
			totals[cause].ns += without_cause_ns(e, cause);
		all += totals[cause].ns;
		if (cause == CAUSE_NOT_RECORDED || cause == CAUSE_UNEXPLAINED)
			totals[cause].ns = 0;
	}
	qsort(totals, CAUSE_MAX, sizeof(*totals), without_order_totals);
	while (n < WITHOUT_CAUSES && totals[n].ns &&
	       (double)totals[n].ns >= WITHOUT_SHARE_MIN * (double)all)
		n++;
	return n;
}

/* Divides a message's waits for a CPU between the chosen commands. */
static void without_divide_waits(const struct without_input *in, struct divided *slow)
{
	const struct breakdown *b;
	uint64_t excess;

	if (!slow->excess)
		return;
	b = &in->d->own.breakdowns[slow->excess->subject];
	vec_for_each(&b->shares, s) {
		const uint32_t command = commands_find(&in->d->own.commands, s->culprit);

		if (s->place / WHERE_MAX != CAUSE_CPU_WAIT || !b->ns[s->place])
			continue;
		excess = (uint64_t)((unsigned __int128)slow->excess->ns[s->place] * s->ns /
				    b->ns[s->place]);
		for (unsigned int i = 0; i < WITHOUT_COMMANDS && command; i++)
			if (in->commands[i] == command)
				slow->held[i] += excess;
	}
}

/* Chooses the commands that held CPUs most, unless one of them held them all the time. */
static int without_choose_commands(struct without_input *in)
{
	struct cause_culprits c;
	unsigned int n = 0;
	int err = 0;

	culprits_init(&c, &in->d->own, CAUSE_CPU_WAIT);
	vec_for_each(&in->d->excesses, e) {
		const uint64_t ns = without_cause_ns(e, CAUSE_CPU_WAIT);

		if (ns && !err)
			err = culprits_add_message(&c, &in->d->own.breakdowns[e->subject],
						   CAUSE_PLACE(CAUSE_CPU_WAIT, 0), WHERE_MAX, ns);
	}
	err = err ?: culprits_finish(&c);
	vec_for_each(&c.all, one)
		if (!err && one->command && n < WITHOUT_COMMANDS && !culprit_is_sole(&c, one) &&
		    (double)one->ns >= WITHOUT_SHARE_MIN * (double)c.ns)
			in->commands[n++] = one->command;
	culprits_release(&c);
	for (size_t i = 0; i < in->n && !err; i++)
		without_divide_waits(in, &in->slow[i]);
	return err;
}

/* ---- the cases ---- */

static int without_add(struct without *w, struct without_input *in, const struct without_case *one)
{
	struct without_case *added = &w->cases[w->n++];

	BUG_ON(w->n > WITHOUT_MAX);
	*added = *one;
	without_estimate(in, one, w->floor_ns, &added->latency);
	return without_bound(in, one, w, &added->latency);
}

static int without_add_cause(struct without *w, struct without_input *in, enum cause cause)
{
	int err = without_add(w, in, &(struct without_case){ .causes = { cause, CAUSE_MAX } });

	for (unsigned int i = 0; i < WITHOUT_COMMANDS && cause == CAUSE_CPU_WAIT && !err; i++)
		if (in->commands[i])
			err = without_add(w, in, &(struct without_case){
				.causes = { cause, CAUSE_MAX }, .command = in->commands[i] });
	return err;
}

static int without_add_pair(struct without *w, struct without_input *in,
			    const struct cause_total *totals, uint32_t n)
{
	struct without_case best = { .latency = { .ns = UINT64_MAX } };
	double single = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct without_case *alone = without_cause(w, totals[i].cause);

		single = fmax(single, without_gain(w, alone));
		for (uint32_t k = i + 1; k < n; k++) {
			struct without_case pair = {
				.causes = { totals[i].cause, totals[k].cause } };

			without_estimate(in, &pair, w->floor_ns, &pair.latency);
			if (pair.latency.ns < best.latency.ns)
				best = pair;
		}
	}
	if (without_gain(w, &best) <= 0 || single > WITHOUT_SINGLE_MAX * without_gain(w, &best))
		return 0;
	return without_add(w, in, &best);
}

static int without_add_all(struct without *w, struct without_input *in)
{
	struct cause_total totals[CAUSE_MAX];
	const uint32_t n = without_choose_causes(in, totals);
	int err = without_choose_commands(in);

	for (uint32_t i = 0; i < n && !err; i++)
		err = without_add_cause(w, in, totals[i].cause);
	return err || n < 2 ? err : without_add_pair(w, in, totals, n);
}

/* Fills in the quantile as it is. */
static int without_measure(struct without *w, struct without_input *in)
{
	const double all = (double)in->d->own.messages.all.len;

	w->messages = in->n;
	w->floor_ns = UINT64_MAX;
	for (size_t i = 0; i < in->n; i++)
		if (in->slow[i].latency < w->floor_ns)
			w->floor_ns = in->slow[i].latency;
	/* The middle of the ranks around the slowest message that is not explained. */
	w->q = (all - (double)in->targets + 0.5) / all;
	without_estimate(in, NULL, w->floor_ns, &w->now);
	return without_bound(in, NULL, w, &w->now);
}

int without_find(struct without **out, const struct diagnosis *d)
{
	const struct message_selection *s = &d->options.selection;
	struct without_input in = { .d = d };
	int err;

	*out = NULL;
	if (!s->wider || (!s->slowest && s->to < 1) || d->excesses.len < WITHOUT_MESSAGES_MIN)
		return 0;
	*out = calloc(1, sizeof(**out));
	in.slow = calloc(d->own.subjects.len, sizeof(*in.slow));
	in.left = calloc(d->own.subjects.len, sizeof(*in.left));
	err = *out && in.slow && in.left ? 0 : -ENOMEM;
	if (!err) {
		without_fill(&in);
		err = without_measure(*out, &in);
	}
	if (!err)
		err = without_add_all(*out, &in);
	free(in.slow);
	free(in.left);
	return err;
}

const struct without_case *without_cause(const struct without *without, enum cause cause)
{
	for (uint32_t i = 0; without && i < without->n; i++) {
		const struct without_case *one = &without->cases[i];

		if (one->causes[0] == cause && one->causes[1] == CAUSE_MAX && !one->command)
			return one;
	}
	return NULL;
}

double without_gain(const struct without *without, const struct without_case *one)
{
	return 1 - (double)one->latency.ns / (double)without->now.ns;
}
