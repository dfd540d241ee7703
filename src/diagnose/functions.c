/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/functions.h"

#include <errno.h>
#include <stdlib.h>

#include "diagnose/state.h"

/* A message that is looked at from here and there is one of these in so many windows. */
#define WINDOWS_MAX 65536u

static bool searched(const struct slice *slice)
{
	return (slice->cause == CAUSE_FUNCTION || slice->cause == CAUSE_APPLICATION) &&
	       slice->core != CORE_UNKNOWN;
}

int functions_take(struct windows *windows, const struct slice *slice)
{
	static const uint8_t roles[WHERE_MAX] = {
		[WHERE_RECEIVE] = PIECE_RECEIVE, [WHERE_APPLICATION] = PIECE_APPLICATION,
		[WHERE_TRANSMIT] = PIECE_TRANSMIT,
	};
	const uint8_t role = roles[slice->where];
	int err;

	if (!searched(slice))
		return 0;
	if (!windows->max)
		vec_init(windows, WINDOWS_MAX);
	if (windows->len) {
		struct window *last = vec_last(windows);

		if (last->end == slice->begin && last->core == slice->core && last->role == role) {
			last->end = slice->end;
			return 0;
		}
	}
	err = vec_push(windows, (struct window){ slice->begin, slice->end, slice->core, role });
	return err == -E2BIG ? 0 : err;
}

/* ---- one message ---- */

static int put_window(struct nesting *n, struct event_source *edges, const struct window *w)
{
	const struct event_window sought = { .kind = EV_EDGE, .core = w->core, .from = w->begin,
					     .to = w->end };
	struct event_walk walk = { 0 };
	struct event_block block;
	struct event_span span;
	int err = event_source_seek(edges, &sought);

	if (err)
		return err;
	nesting_piece(n, w->role, w->begin, w->end);
	while ((err = event_source_next(edges, &block)) > 0) {
		event_walk_block(&walk, &block);
		while (event_walk_next(&walk, &span))
			nesting_span(n, &span, false);
	}
	nesting_open(n, &walk.track, 0);
	return err;
}

/* Its number, FUNCTIONS_NONE if it can't be taken: that is counted. Or -errno. */
static int put_message(struct nesting *n, struct event_source *edges,
		       const struct windows *windows, bool reference, uint32_t *number)
{
	int err = 0;

	*number = FUNCTIONS_NONE;
	nesting_begin(n, reference);
	for (size_t i = 0; !err && i < windows->len; i++)
		err = put_window(n, edges, &windows->items[i]);
	if (err)
		return err;
	err = nesting_end(n, number);
	return err == -EINVAL || err == -E2BIG ? 0 : err;
}

/* ---- an application ---- */

static int put_application(struct diagnosis *d, struct functions *f, uint32_t model,
			   struct event_source *edges)
{
	const struct recorded *rec = &d->own;
	struct nesting *n = f->models[model];
	size_t at = 0;
	int err = 0;

	for (uint32_t i = 0; !err && i < rec->subjects.len; i++) {
		const struct subject *s = &rec->subjects.items[i];
		const struct judged *j;
		uint32_t number;

		while (at < d->judged.len && d->judged.items[at].subject < i)
			at++;
		j = at < d->judged.len ? &d->judged.items[at] : NULL;
		if (subject_message(rec, i)->pid != d->models.items[model].pid)
			continue;
		if (!s->reference && !(j && j->subject == i))
			continue;
		err = put_message(n, edges, &rec->windows[i], s->reference, &number);
		if (j && j->subject == i)
			f->numbers[at] = number;
	}
	return err;
}

static void add_losses(struct functions *f, const struct nesting *n)
{
	struct nesting_losses one;

	nesting_losses(n, &one);
	f->losses.spans_without_node += one.spans_without_node;
	f->losses.references += one.references;
	f->losses.targets += one.targets;
}

static struct functions *functions_new(const struct diagnosis *d)
{
	struct functions *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->n_models = d->models.len;
	f->models = calloc(d->models.len + 1, sizeof(struct nesting *));
	f->numbers = malloc((d->judged.len + 1) * sizeof(*f->numbers));
	if (!f->models || !f->numbers) {
		functions_free(f);
		return NULL;
	}
	for (size_t i = 0; i < d->judged.len; i++)
		f->numbers[i] = FUNCTIONS_NONE;
	return f;
}

int functions_find(struct diagnosis *d)
{
	static const struct nesting_limits limits = NESTING_LIMITS;
	struct event_reader *edges = NULL;
	int err;

	if (!d->own.windows || d->against_other || !d->judged.len)
		return 0;
	d->functions = functions_new(d);
	if (!d->functions)
		return -ENOMEM;
	err = event_reader_dup(&edges, d->own.reader);
	for (uint32_t i = 0; !err && i < d->models.len; i++) {
		if (d->models.items[i].n < REFERENCE_MIN)
			continue;
		err = nesting_new(&d->functions->models[i], &limits);
		if (!err)
			err = put_application(d, d->functions, i, event_reader_source(edges));
		if (!err)
			add_losses(d->functions, d->functions->models[i]);
	}
	event_reader_free(edges);
	return err;
}

void functions_free(struct functions *f)
{
	if (!f)
		return;
	for (size_t i = 0; f->models && i < f->n_models; i++)
		nesting_free(f->models[i]);
	free(f->models);
	free(f->numbers);
	free(f);
}

struct nesting_options functions_options(const struct diagnosis *d)
{
	struct nesting_options options = NESTING_OPTIONS;

	options.granularity_ns = d->own.granularity;
	options.paper = d->options.paper;
	return options;
}
