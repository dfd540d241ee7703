/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers the tree of call paths, and each message's calls and time in it. */
#include "diagnose/nesting.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "diagnose/nesting_state.h"

/*
 * A span on the call path of the span that is being added. The path begins with the message's
 * current piece (struct event_piece) on a core.
 */
struct level {
	uint64_t begin;
	/* end of the time for further inner spans; these are added from the last to the first */
	uint64_t free;
	uint32_t node;
	/* depth of the span; -1: the piece, i.e. the interval of a core's work, not a span */
	int depth;
	bool context;
	bool charged;
	bool shared;		/* the limit of nodes is reached: the span uses its caller's node */
};

static int nesting_make_roots(struct nesting *n)
{
	for (uint32_t i = 0; i < NESTING_ROOTS; i++)
		if (vec_push(&n->nodes, (struct nesting_node){ .parent = i }) ||
		    vec_push(&n->sums, (struct nesting_sum){ 0 }))
			return -ENOMEM;
	return 0;
}

int nesting_new(struct nesting **out, const struct nesting_limits *limits)
{
	struct nesting *n = calloc(1, sizeof(*n));
	uint32_t room = 1024;

	*out = NULL;
	if (!n)
		return -ENOMEM;
	n->limits = *limits;
	vec_init(&n->nodes, NESTING_ROOTS + (size_t)limits->nodes);
	vec_init(&n->sums, NESTING_ROOTS + (size_t)limits->nodes);
	vec_init(&n->touched, limits->nodes);
	vec_init(&n->values, limits->values);
	/* limits->values also limits messages: even those without values need memory */
	vec_init(&n->messages, limits->values);
	vec_init(&n->held, limits->spans);
	vec_init(&n->causes, limits->nodes);
	while (room < limits->nodes && room < 1U << 31)
		room *= 2;
	n->hash_mask = room - 1;
	n->hash = calloc(room, sizeof(*n->hash));
	if (!n->hash || nesting_make_roots(n)) {
		nesting_free(n);
		return -ENOMEM;
	}
	*out = n;
	return 0;
}

void nesting_free(struct nesting *n)
{
	if (!n)
		return;
	vec_release(&n->nodes);
	vec_release(&n->sums);
	vec_release(&n->touched);
	vec_release(&n->values);
	vec_release(&n->messages);
	vec_release(&n->held);
	vec_release(&n->causes);
	free(n->hash);
	free(n->usual);
	free(n->work);
	free(n);
}

/* ---- tree of call paths ---- */

static uint32_t nesting_root(uint8_t role, uint8_t type)
{
	return (uint32_t)role * SPAN_TYPE_MAX + type;
}

/*
 * Returns the child node of `parent` for function `what`, created if needed; 0 (a root) if no more
 * nodes fit.
 */
static uint32_t nesting_child(struct nesting *n, uint32_t parent, uint32_t what)
{
	const uint32_t at = (uint32_t)hash_u64((uint64_t)parent << 32 | what) & n->hash_mask;
	uint32_t node = n->hash[at];

	while (node && (n->nodes.items[node].parent != parent || n->nodes.items[node].what != what))
		node = n->nodes.items[node].next;
	if (node)
		return node;
	if (vec_reserve(&n->sums, n->nodes.len + 1) ||
	    vec_push(&n->nodes, (struct nesting_node){ parent, what, n->hash[at] }))
		return 0;
	vec_push(&n->sums, (struct nesting_sum){ 0 });
	n->hash[at] = (uint32_t)n->nodes.len - 1;
	return n->hash[at];
}

uint32_t nesting_path(const struct nesting *n, uint32_t node,
		      uint32_t symbols[static EVENT_DEPTH_MAX])
{
	uint32_t len = 0;

	for (uint32_t i = node; i >= NESTING_ROOTS; i = n->nodes.items[i].parent)
		len++;
	BUG_ON(len > EVENT_DEPTH_MAX);
	for (uint32_t i = len; i; node = n->nodes.items[node].parent)
		symbols[--i] = n->nodes.items[node].what;
	return len;
}

/* ---- adding spans of a piece ---- */

static void nesting_add(struct nesting *n, uint32_t node, const struct nesting_held *h, uint64_t ns)
{
	struct nesting_sum *sum = &n->sums.items[node];

	if (sum->serial != n->serial) {
		*sum = (struct nesting_sum){ .serial = n->serial, .earliest = UINT64_MAX };
		if (vec_push(&n->touched, node))
			n->err = -ENOMEM;
	}
	sum->ns += ns;
	sum->calls += !h->goes_on;
	sum->partial |= h->partial;
	if (h->begin <= sum->earliest) {
		sum->earliest = h->begin;
		sum->went_on = h->goes_on;
	}
}

/*
 * Subtracts the time of a context (interrupt, softirq, task, idle) from the functions that it
 * interrupts.
 */
static void nesting_interrupt(struct nesting *n, const struct level *level, uint64_t ns)
{
	for (; level->depth >= 0 && !level->context; level--)
		if (!level->shared)
			n->sums.items[level->node].ns -= ns;
}

static bool nesting_is_context(uint8_t type)
{
	return type != SPAN_FUNCTION;
}

/*
 * Returns the level of a span within `parent`, cut to the parent and to the time before the spans
 * that were already added to it.
 */
static struct level nesting_within(struct nesting *n, struct level *parent,
				   const struct nesting_held *h)
{
	struct level level = {
		.begin = h->begin > parent->begin ? h->begin : parent->begin,
		.free = h->end < parent->free ? h->end : parent->free,
		.depth = h->depth,
		.context = nesting_is_context(h->type),
		.charged = h->charged || parent->charged,
	};

	if (level.begin > level.free)
		level.begin = level.free;
	n->losses.overlapping += level.begin != h->begin || level.free != h->end;
	parent->free = level.begin;
	return level;
}

static void nesting_place(struct nesting *n, struct level *level, const struct nesting_held *h)
{
	struct level *parent = level - 1;
	const uint64_t ns = level->free - level->begin;

	if (level->context) {
		level->node = nesting_root(n->role, h->type);
		if (!parent->charged)
			nesting_interrupt(n, parent, ns);
		return;
	}
	if (level->charged)
		return;
	level->node = nesting_child(n, parent->node, h->what);
	if (level->node) {
		nesting_add(n, level->node, h, ns);
		return;
	}
	level->node = parent->node;
	level->shared = true;
	n->losses.spans_without_node++;
}

/*
 * Adds the spans of a piece (a core's work on the message) to the tree, from the last to end to the
 * first to end: in this order callers precede their callees.
 */
static void nesting_place_all(struct nesting *n)
{
	struct level levels[EVENT_DEPTH_MAX + 1], *top = levels;

	*top = (struct level){
		.begin = n->begin,
		.free = n->end,
		.node = nesting_root(n->role, SPAN_NONE),
		.depth = -1,
		.context = true,
	};
	for (size_t i = n->held.len; i--;) {
		const struct nesting_held *h = &n->held.items[i];

		/*
		 * A caller has a lower depth and begins no later. Depth alone does not suffice:
		 * spans of ignored types may be around this one.
		 */
		while (top->depth >= h->depth || h->begin < top->begin)
			top--;
		top[1] = nesting_within(n, top, h);
		nesting_place(n, ++top, h);
	}
	vec_clear(&n->held);
}

static void nesting_end_piece(struct nesting *n)
{
	if (!n->err && n->role)
		nesting_place_all(n);
	vec_clear(&n->held);
	n->role = PIECE_NONE;
}

/* ---- input ---- */

void nesting_begin(struct nesting *n, bool reference)
{
	n->now = (struct nesting_message){ .reference = reference };
	n->role = PIECE_NONE;
	n->begin = n->end = 0;
	n->err = 0;
	vec_clear(&n->held);
	vec_clear(&n->touched);
	if (!++n->serial) { /* the number wrapped around: old sums must not count as this
			     * message's */
		memset(n->sums.items, 0, n->sums.len * sizeof(*n->sums.items));
		n->serial = 1;
	}
}

void nesting_piece(struct nesting *n, uint8_t role, uint64_t begin, uint64_t end)
{
	nesting_end_piece(n);
	if (begin < n->end || end < begin || role == PIECE_NONE || role >= PIECE_ROLE_MAX) {
		n->err = -EINVAL;
		return;
	}
	n->role = role;
	n->begin = begin;
	n->end = end;
	n->now.window_ns += end - begin;
}

static bool nesting_overlaps(const struct nesting *n, uint64_t begin, uint64_t end)
{
	if (begin == end)
		return begin >= n->begin && begin < n->end;
	return begin < n->end && end > n->begin;
}

static bool nesting_is_considered(uint8_t type)
{
	switch (type) {
	case SPAN_FUNCTION:
	case SPAN_TASK:
	case SPAN_IDLE:
	case SPAN_HARDIRQ:
	case SPAN_SOFTIRQ:
	case SPAN_BLIND:
		return true;
	}
	return false;
}

void nesting_span(struct nesting *n, const struct event_span *span, bool charged)
{
	const struct nesting_held h = {
		.begin = span->begin > n->begin ? span->begin : n->begin,
		.end = span->end < n->end ? span->end : n->end,
		.what = span->what,
		.type = span->type,
		.depth = span->depth,
		.charged = charged && nesting_is_context(span->type),
		.goes_on = span->resumed || span->begin < n->begin,
		.partial = span->begin < n->begin || span->end > n->end,
	};

	if (n->err || !n->role || !nesting_is_considered(span->type) ||
	    span->depth >= EVENT_DEPTH_MAX || !nesting_overlaps(n, span->begin, span->end))
		return;
	n->err = vec_push(&n->held, h);
}

void nesting_open(struct nesting *n, const struct event_track *track, uint64_t charged)
{
	for (uint32_t i = track->depth; i--;) {
		const struct event_open *open = &track->open[i];
		const struct event_span span = {
			.begin = open->begin,
			.end = UINT64_MAX,
			.what = open->what,
			.arg = open->arg,
			.type = event_open_type(open),
			.depth = open->depth,
			.resumed = open->type & SPAN_CONT,
			.cut = true,
		};

		nesting_span(n, &span, charged >> i & 1);
	}
}

/* ---- the end of a message ---- */

static void nesting_store(struct nesting *n)
{
	vec_for_each(&n->touched, node) {
		const struct nesting_sum *sum = &n->sums.items[*node];

		vec_push(&n->values, (struct nesting_value){
			.ns = sum->ns,
			.node = *node,
			.count = sum->calls + sum->went_on,
			.partial = sum->partial,
		});
	}
}

static int nesting_reserve(struct nesting *n)
{
	int err = vec_reserve(&n->messages, n->messages.len + 1);

	return err ? err : vec_reserve(&n->values, n->values.len + n->touched.len);
}

int nesting_end(struct nesting *n, uint32_t *message)
{
	nesting_end_piece(n);
	if (!n->err)
		n->err = nesting_reserve(n);
	if (n->err) {
		*(n->now.reference ? &n->losses.references : &n->losses.targets) += 1;
		return n->err;
	}
	n->now.first = (uint32_t)n->values.len;
	n->now.n = (uint32_t)n->touched.len;
	nesting_store(n);
	*message = (uint32_t)n->messages.len;
	return vec_push(&n->messages, n->now);
}

void nesting_losses(const struct nesting *n, struct nesting_losses *losses)
{
	*losses = n->losses;
}
