/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/functions.h"

#include <errno.h>
#include <stdlib.h>

#include "diagnose/references.h"
#include "diagnose/state.h"

/*
 * Windows (stretches of one core's work for a message) of one message, at most; functions in
 * further windows are not searched.
 */
#define WINDOWS_MAX 65536u

static bool functions_is_searched(const struct slice *slice)
{
	return (slice->cause == CAUSE_FUNCTION || slice->cause == CAUSE_APPLICATION) &&
	       slice->core != CORE_UNKNOWN;
}

int functions_add_window(struct windows *windows, const struct slice *slice)
{
	static const uint8_t roles[WHERE_MAX] = {
		[WHERE_RECEIVE] = PIECE_RECEIVE, [WHERE_APPLICATION] = PIECE_APPLICATION,
		[WHERE_TRANSMIT] = PIECE_TRANSMIT,
	};
	const uint8_t role = roles[slice->where];
	int err;

	if (!functions_is_searched(slice))
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

/* ---- adding one message ---- */

/*
 * A recording's begins and ends of spans (EV_EDGE), and the numbers of its functions in the
 * call-path models.
 */
struct function_source {
	struct event_source *edges;
	/*
	 * by a function's number in the recording: its number in the models; NULL: both are equal
	 */
	const uint32_t *map;
	uint32_t n;
};

static uint32_t functions_map_name(const struct function_source *source, uint8_t type,
				   uint32_t what)
{
	if (!source->map || (type & SPAN_TYPE_MASK) != SPAN_FUNCTION)
		return what;
	return what <= source->n ? source->map[what] : 0;
}

static int functions_read_window(struct nesting *n, const struct function_source *source,
				 const struct window *w)
{
	const struct event_window sought = { .kind = EV_EDGE, .core = w->core, .from = w->begin,
					     .to = w->end };
	struct event_walk walk = { 0 };
	struct event_block block;
	struct event_span span;
	int err = event_source_seek(source->edges, &sought);

	if (err)
		return err;
	nesting_piece(n, w->role, w->begin, w->end);
	while ((err = event_source_next(source->edges, &block)) > 0) {
		event_walk_block(&walk, &block);
		while (event_walk_next(&walk, &span)) {
			span.what = functions_map_name(source, span.type, span.what);
			nesting_span(n, &span, false);
		}
	}
	for (uint32_t i = 0; i < walk.track.depth; i++)
		walk.track.open[i].what = functions_map_name(source, walk.track.open[i].type,
							     walk.track.open[i].what);
	nesting_open(n, &walk.track, 0);
	return err;
}

/*
 * Adds a message to the model. Sets *number to its number there; FUNCTIONS_NONE: the message is
 * invalid or over a limit, and only counted. Returns 0 or -errno.
 */
static int functions_add_message(struct nesting *n, const struct function_source *source,
				 const struct windows *windows, bool reference, uint32_t *number)
{
	int err = 0;

	*number = FUNCTIONS_NONE;
	nesting_begin(n, reference);
	for (size_t i = 0; !err && i < windows->len; i++)
		err = functions_read_window(n, source, &windows->items[i]);
	if (err)
		return err;
	err = nesting_end(n, number);
	return err == -EINVAL || err == -E2BIG ? 0 : err;
}

/* ---- adding an application's messages ---- */

/*
 * Adds an application's targets (messages to explain) to its model, and its reference messages
 * unless they are in another recording. Returns 0 or -errno.
 */
static int functions_add_own(struct diagnosis *d, uint32_t model,
			     const struct function_source *source)
{
	struct functions *f = d->functions;
	const struct recorded *rec = &d->own;
	struct nesting *n = f->models[model];
	size_t at = 0;
	int err = 0;

	for (uint32_t i = 0; !err && i < rec->subjects.len; i++) {
		const bool reference = rec->subjects.items[i].reference && !d->against_other;
		const struct excess *j;
		uint32_t number;

		while (at < d->excesses.len && d->excesses.items[at].subject < i)
			at++;
		j = at < d->excesses.len ? &d->excesses.items[at] : NULL;
		if (subject_message(rec, i)->pid != d->baselines.items[model].pid)
			continue;
		if (!reference && !(j && j->subject == i))
			continue;
		err = functions_add_message(n, source, &rec->windows[i], reference, &number);
		if (j && j->subject == i)
			f->numbers[at] = number;
	}
	return err;
}

/* Adds to an application's model its references in the other recording. Returns 0 or -errno. */
static int functions_add_other(struct diagnosis *d, uint32_t model,
			       const struct function_source *source)
{
	const struct recorded *rec = &d->other;
	const struct message *target = NULL;
	int err = 0;

	vec_for_each(&d->excesses, j)
		if (!target && j->baseline == model)
			target = subject_message(&d->own, j->subject);
	for (uint32_t i = 0; target && !err && i < rec->subjects.len; i++) {
		uint32_t number;

		if (references_serve(d, target, i))
			err = functions_add_message(d->functions->models[model], source,
						    &rec->windows[i], true, &number);
	}
	return err;
}

/* ---- names of functions ---- */

static int functions_map_names(struct event_dict *all, const struct recorded *rec, uint32_t **map)
{
	const uint32_t n = event_dict_len(rec->names, DICT_SYMBOL);

	*map = calloc(n + 1UL, sizeof(**map));
	if (!*map)
		return -ENOMEM;
	for (uint32_t i = 1; i <= n; i++)
		(*map)[i] = event_dict_intern(all, DICT_SYMBOL,
					      event_dict_get(rec->names, DICT_SYMBOL, i), NULL, 0);
	return event_dict_error(all);
}

/* Maps both recordings' function numbers to common ones: they differ between recordings. */
static int functions_join_names(struct diagnosis *d, struct functions *f)
{
	int err;

	f->names = event_dict_new();
	err = f->names ? functions_map_names(f->names, &d->own, &f->own) : -ENOMEM;
	return err ? err : functions_map_names(f->names, &d->other, &f->other);
}

const char *functions_name(const struct diagnosis *d, uint32_t symbol)
{
	const struct event_dict *names = d->functions->names ? d->functions->names : d->own.names;
	const char *name = event_dict_get(names, DICT_SYMBOL, symbol);

	return name ? name : "?";
}

/* ---- functions of all messages ---- */

static void functions_add_losses(struct functions *f, const struct nesting *n)
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
	f->n_models = d->baselines.len;
	f->models = calloc(d->baselines.len + 1, sizeof(struct nesting *));
	f->numbers = malloc((d->excesses.len + 1) * sizeof(*f->numbers));
	if (!f->models || !f->numbers) {
		functions_free(f);
		return NULL;
	}
	for (size_t i = 0; i < d->excesses.len; i++)
		f->numbers[i] = FUNCTIONS_NONE;
	return f;
}

static int functions_add_all(struct diagnosis *d, const struct function_source *own,
			     const struct function_source *other)
{
	static const struct nesting_limits limits = NESTING_LIMITS;
	struct functions *f = d->functions;
	int err = 0;

	for (uint32_t i = 0; !err && i < d->baselines.len; i++) {
		if (d->baselines.items[i].n < REFERENCE_MIN)
			continue;
		err = nesting_new(&f->models[i], &limits);
		if (!err)
			err = functions_add_own(d, i, own);
		if (!err && other)
			err = functions_add_other(d, i, other);
		if (!err)
			functions_add_losses(f, f->models[i]);
	}
	return err;
}

int functions_find(struct diagnosis *d)
{
	struct event_reader *own = NULL, *other = NULL;
	struct function_source source = { 0 }, source_other = { 0 };
	int err;

	if (!d->own.windows || !d->excesses.len || (d->against_other && !d->other.windows))
		return 0;
	d->functions = functions_new(d);
	err = d->functions ? event_reader_dup(&own, d->own.reader) : -ENOMEM;
	if (!err && d->against_other)
		err = functions_join_names(d, d->functions)
			      ?: event_reader_dup(&other, d->other.reader);
	if (!err) {
		source = (struct function_source){ event_reader_source(own), d->functions->own,
						   event_dict_len(d->own.names, DICT_SYMBOL) };
		if (other)
			source_other = (struct function_source){
				event_reader_source(other), d->functions->other,
				event_dict_len(d->other.names, DICT_SYMBOL)
			};
		err = functions_add_all(d, &source, other ? &source_other : NULL);
	}
	event_reader_free(own);
	event_reader_free(other);
	return err;
}

void functions_free(struct functions *f)
{
	if (!f)
		return;
	for (size_t i = 0; f->models && i < f->n_models; i++)
		nesting_free(f->models[i]);
	event_dict_free(f->names);
	free(f->own);
	free(f->other);
	free(f->models);
	free(f->numbers);
	free(f);
}

struct nesting_options functions_options(const struct diagnosis *d)
{
	return (struct nesting_options){
		.granularity_ns = d->own.granularity,
		.mads = d->options.method->function_mads,
		.rule = d->options.method->nesting,
	};
}
