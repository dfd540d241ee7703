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

struct without_state {
	struct without_input *in;
	uint32_t commands[WITHOUT_COMMANDS];
	uint64_t *left;			/* buffer for in->n values */
};

/* ---- latencies without a cause ---- */

static uint64_t without_removed(const struct without_state *w, const struct divided *slow,
				const struct without_case *one)
{
	uint64_t ns = 0;

	if (!slow->excess)
		return 0;
	for (unsigned int i = 0; i < WITHOUT_COMMANDS && one->command; i++)
		if (w->commands[i] == one->command)
			return slow->held[i];
	for (unsigned int i = 0; i < 2; i++)
		if (one->keys[i] != EXCESS_KEYS)
			ns += excess_by_key(slow->excess, one->keys[i]);
	return ns;
}

static int without_descending(const void *a, const void *b)
{
	return sort_order(*(const uint64_t *)b, *(const uint64_t *)a);
}

/* Sets w->left to what is left of the latencies. `one`: NULL takes nothing off. */
static void without_take_off(struct without_state *w, const struct without_case *one)
{
	for (size_t i = 0; i < w->in->n; i++)
		w->left[i] = w->in->slow[i].latency -
			     (one ? without_removed(w, &w->in->slow[i], one) : 0);
}

/* Sets the quantile, without bounds: as many messages as are explained are not faster. */
static void without_estimate(struct without_state *w, const struct without_case *one,
			     uint64_t floor_ns, struct without_quantile *out)
{
	without_take_off(w, one);
	qsort(w->left, w->in->n, sizeof(*w->left), without_descending);
	out->ns = w->left[w->in->n_targets - 1];
	out->below = out->ns < floor_ns;
	if (out->below)
		out->ns = floor_ns;
}

/* Fills in a histogram for each block. Messages that are not divided are below the floor. */
static int without_fill_blocks(const struct without_state *w, struct hist hists[CONTRAST_BLOCKS])
{
	const struct without_input *in = w->in;
	int err = 0;

	for (size_t i = 0; i < in->n_blocks; i++) {
		hist_init(&hists[i], WITHOUT_SCHEMA);
		err = err ?: hist_record_n(&hists[i], 1, in->rest[i]);
	}
	for (size_t i = 0; i < in->n && !err; i++)
		err = hist_record(&hists[in->slow[i].block], w->left[i] ?: 1);
	return err;
}

/* Sets the bounds, from the times and the order of all messages. */
static int without_bound(struct without_state *w, const struct without_case *one,
			 const struct without *of, struct without_quantile *out)
{
	struct hist hists[CONTRAST_BLOCKS];
	const struct hist *blocks[CONTRAST_BLOCKS];
	const struct contrast_run run = { blocks, w->in->n_blocks };
	struct contrast_side side = { 0 };
	int err;

	without_take_off(w, one);
	err = without_fill_blocks(w, hists);
	for (size_t i = 0; i < w->in->n_blocks; i++)
		blocks[i] = &hists[i];
	if (!err)
		err = contrast_side(&run, of->q, WITHOUT_CONFIDENCE, &side);
	for (size_t i = 0; i < w->in->n_blocks; i++)
		hist_release(&hists[i]);
	out->bounded = !err && side.bounded;
	if (!out->bounded)
		return err;
	out->lo_below = side.lo_ns < of->floor_ns;
	out->lo_ns = out->lo_below ? of->floor_ns : side.lo_ns;
	out->hi_ns = side.hi_ns > of->floor_ns ? side.hi_ns : of->floor_ns;
	/* A bucket's bounds are rounded: they may not exclude the value. */
	if (out->lo_ns > out->ns)
		out->lo_ns = out->ns;
	if (out->hi_ns < out->ns)
		out->hi_ns = out->ns;
	return 0;
}

/* ---- choice of causes and commands ---- */

struct key_total {
	unsigned int key;
	uint64_t ns;
};

static int without_order_totals(const void *a, const void *b)
{
	const struct key_total *x = a, *y = b;

	return sort_order(y->ns, x->ns) ?: sort_order(x->key, y->key);
}

/* Returns the number of causes that are tried; they are the first of `totals`. */
static uint32_t without_choose_causes(const struct without_input *in,
				      struct key_total totals[EXCESS_KEYS])
{
	uint64_t all = 0;
	uint32_t n = 0;

	for (unsigned int key = 0; key < EXCESS_KEYS; key++) {
		const unsigned int cause = key % CAUSE_MAX;

		totals[key] = (struct key_total){ key, 0 };
		vec_for_each(in->targets, e)
			totals[key].ns += excess_by_key(e, key);
		all += totals[key].ns;
		if (cause == CAUSE_NOT_RECORDED || cause == CAUSE_UNEXPLAINED)
			totals[key].ns = 0;
	}
	qsort(totals, EXCESS_KEYS, sizeof(*totals), without_order_totals);
	while (n < WITHOUT_CAUSES && totals[n].ns &&
	       (double)totals[n].ns >= WITHOUT_SHARE_MIN * (double)all)
		n++;
	return n;
}

/* Divides a message's waits for a CPU between the chosen commands. */
static void without_divide_waits(const struct without_state *w, struct divided *slow)
{
	const struct breakdown *b;

	if (!slow->excess)
		return;
	b = &w->in->breakdowns[slow->excess->subject];
	vec_for_each(&b->shares, s) {
		const uint32_t command = commands_find(&w->in->rec->commands, s->culprit);
		uint64_t excess;

		if (s->place / WHERE_MAX != CAUSE_CPU_WAIT || !b->ns[s->place])
			continue;
		excess = (uint64_t)((unsigned __int128)slow->excess->ns[s->place] * s->ns /
				    b->ns[s->place]);
		for (unsigned int i = 0; i < WITHOUT_COMMANDS && command; i++)
			if (w->commands[i] == command)
				slow->held[i] += excess;
	}
}

/* Chooses the commands that held CPUs most, unless one of them held them all the time. */
static int without_choose_commands(struct without_state *w)
{
	const struct without_input *in = w->in;
	struct cause_culprits c;
	unsigned int n = 0;
	int err = 0;

	culprits_init(&c, in->rec, CAUSE_CPU_WAIT);
	vec_for_each(in->targets, e) {
		const uint64_t ns =
			excess_by_key(e, EXCESS_KEY(CAUSE_CPU_WAIT, WHERE_APPLICATION)) +
			excess_by_key(e, EXCESS_KEY(CAUSE_CPU_WAIT, WHERE_CLIENT));

		if (ns && !err)
			err = culprits_add_message(&c, &in->breakdowns[e->subject],
						   CAUSE_PLACE(CAUSE_CPU_WAIT, 0), WHERE_MAX, ns);
	}
	err = err ?: culprits_finish(&c);
	vec_for_each(&c.all, one)
		if (!err && one->command && n < WITHOUT_COMMANDS && !culprit_is_sole(&c, one) &&
		    (double)one->ns >= WITHOUT_SHARE_MIN * (double)c.ns)
			w->commands[n++] = one->command;
	culprits_release(&c);
	for (size_t i = 0; i < in->n && !err; i++)
		without_divide_waits(w, &in->slow[i]);
	return err;
}

/* ---- the cases ---- */

static int without_add(struct without *of, struct without_state *w, const struct without_case *one)
{
	struct without_case *added = &of->cases[of->n++];

	BUG_ON(of->n > WITHOUT_MAX);
	*added = *one;
	without_estimate(w, one, of->floor_ns, &added->latency);
	return without_bound(w, one, of, &added->latency);
}

static int without_add_commands(struct without *of, struct without_state *w, unsigned int key)
{
	int err = 0;

	for (unsigned int i = 0; i < WITHOUT_COMMANDS && !err; i++)
		if (w->commands[i])
			err = without_add(of, w, &(struct without_case){
				.keys = { key, EXCESS_KEYS }, .command = w->commands[i] });
	return err;
}

static int without_add_pair(struct without *of, struct without_state *w,
			    const struct key_total *totals, uint32_t n)
{
	struct without_case best = { .latency = { .ns = UINT64_MAX } };
	double single = 0;

	for (uint32_t i = 0; i < n; i++) {
		single = fmax(single, without_gain(of, without_single(of, totals[i].key)));
		for (uint32_t k = i + 1; k < n; k++) {
			struct without_case pair = {
				.keys = { totals[i].key, totals[k].key } };

			without_estimate(w, &pair, of->floor_ns, &pair.latency);
			if (pair.latency.ns < best.latency.ns)
				best = pair;
		}
	}
	if (without_gain(of, &best) <= 0 || single > WITHOUT_SINGLE_MAX * without_gain(of, &best))
		return 0;
	return without_add(of, w, &best);
}

static int without_add_all(struct without *of, struct without_state *w)
{
	struct key_total totals[EXCESS_KEYS];
	const uint32_t n = without_choose_causes(w->in, totals);
	int err = without_choose_commands(w);
	bool waited = false;

	for (uint32_t i = 0; i < n && !err; i++) {
		const unsigned int key = totals[i].key;

		err = without_add(of, w, &(struct without_case){ .keys = { key, EXCESS_KEYS } });
		if (err || waited || key % CAUSE_MAX != CAUSE_CPU_WAIT)
			continue;
		err = without_add_commands(of, w, key);
		waited = true;
	}
	return err || n < 2 ? err : without_add_pair(of, w, totals, n);
}

/* Fills in the quantile as it is. */
static int without_measure(struct without *of, struct without_state *w)
{
	const struct without_input *in = w->in;

	of->messages = in->n;
	of->floor_ns = UINT64_MAX;
	for (size_t i = 0; i < in->n; i++)
		if (in->slow[i].latency < of->floor_ns)
			of->floor_ns = in->slow[i].latency;
	/* The middle of the ranks around the fastest message that is explained. */
	of->q = ((double)in->all - (double)in->n_targets + 0.5) / (double)in->all;
	without_estimate(w, NULL, of->floor_ns, &of->now);
	return without_bound(w, NULL, of, &of->now);
}

int without_find(struct without **out, struct without_input *in)
{
	struct without_state w = { .in = in };
	int err;

	*out = NULL;
	if (in->targets->len < WITHOUT_MESSAGES_MIN)
		return 0;
	*out = calloc(1, sizeof(**out));
	w.left = calloc(in->n + 1, sizeof(*w.left));
	err = *out && w.left ? 0 : -ENOMEM;
	if (!err)
		err = without_measure(*out, &w);
	if (!err)
		err = without_add_all(*out, &w);
	free(w.left);
	return err;
}

/* ---- messages ---- */

/* Returns the subject's entry in a list that is sorted by subject, from *at on; NULL: none. */
static const struct excess *without_entry(const struct excess_list *list, size_t *at,
					  uint32_t subject)
{
	while (*at < list->len && list->items[*at].subject < subject)
		++*at;
	return *at < list->len && list->items[*at].subject == subject ? &list->items[*at] : NULL;
}

static void without_fill_messages(struct without_input *in, const struct diagnosis *d)
{
	const struct recorded *rec = &d->own;
	size_t at[2] = { 0 };

	for (size_t i = 0; i < in->all; i++)
		in->rest[contrast_block(i, in->all)]++;
	for (uint32_t i = 0; i < rec->subjects.len; i++) {
		const struct subject *s = &rec->subjects.items[i];
		struct divided *slow = &in->slow[in->n];

		if (!s->target && !s->near)
			continue;
		*slow = (struct divided){
			.latency = message_latency(subject_message(rec, i)),
			.excess = s->target ? without_entry(&d->excesses, &at[0], i) :
					      without_entry(&d->near, &at[1], i),
			.block = (uint32_t)contrast_block(s->message, in->all),
		};
		in->rest[slow->block]--;
		in->n_targets += s->target;
		in->n++;
	}
}

int without_find_messages(struct without **out, const struct diagnosis *d)
{
	const struct message_selection *s = &d->options.selection;
	const size_t all = d->own.messages.all.len;
	struct without_input in = {
		.rec = &d->own, .breakdowns = d->own.breakdowns, .targets = &d->excesses,
		.all = all, .n_blocks = contrast_blocks(all),
	};
	int err;

	*out = NULL;
	if (!s->wider || (!s->slowest && s->to < 1))
		return 0;
	in.slow = calloc(d->own.subjects.len + 1, sizeof(*in.slow));
	if (!in.slow)
		return -ENOMEM;
	without_fill_messages(&in, d);
	err = without_find(out, &in);
	free(in.slow);
	return err;
}

/* ---- results ---- */

const struct without_case *without_single(const struct without *without, unsigned int key)
{
	for (uint32_t i = 0; without && i < without->n; i++) {
		const struct without_case *one = &without->cases[i];

		if (one->keys[0] == key && one->keys[1] == EXCESS_KEYS && !one->command)
			return one;
	}
	return NULL;
}

double without_gain(const struct without *without, const struct without_case *one)
{
	return 1 - (double)one->latency.ns / (double)without->now.ns;
}
