/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the model of the references, and judges a message's deviations from it. */
#include <errno.h>
#include <string.h>

#include "base/sort.h"
#include "diagnose/nesting_state.h"

/* ---- the model ---- */

/* Values of all reference messages, grouped by node. */
struct gathered {
	uint32_t *first;	/* by node: index of the node's first value; one extra entry at the
				 * end */
	uint64_t *ns;
	uint32_t *count;
};

static int nesting_gathered_new(struct gathered *g, size_t nodes, size_t values)
{
	g->first = calloc(nodes + 2, sizeof(*g->first));
	g->ns = malloc((values + 1) * sizeof(*g->ns));
	g->count = malloc((values + 1) * sizeof(*g->count));
	return g->first && g->ns && g->count ? 0 : -ENOMEM;
}

static void nesting_gathered_free(struct gathered *g)
{
	free(g->first);
	free(g->ns);
	free(g->count);
}

/* Loops over the reference messages' values. `at`: the index of a value. */
#define for_each_reference_value(n, m, at)                                                         \
	vec_for_each(&(n)->messages, m)                                                            \
		if ((m)->reference)                                                                \
			for (uint32_t at = (m)->first; at < (m)->first + (m)->n; at++)

/*
 * Groups values by node, by counting sort. first[node + 1] is the index of the node's next value;
 * finally it is the index after the node's last value.
 */
static void nesting_gather_values(const struct nesting *n, struct gathered *g)
{
	for_each_reference_value(n, m, i)
		g->first[n->values.items[i].node + 2]++;
	for (size_t i = 2; i < n->nodes.len + 2; i++)
		g->first[i] += g->first[i - 1];
	for_each_reference_value(n, m, i) {
		const struct nesting_value *v = &n->values.items[i];
		const uint32_t at = g->first[v->node + 1]++;

		g->ns[at] = v->ns;
		g->count[at] = v->count;
	}
}

static int nesting_order_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static int nesting_order_u32(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Returns the value of `rank` >= 1 among `len` sorted values and `times` copies of `other`. */
static uint64_t nesting_ranked_value(const uint64_t *sorted, uint32_t len, uint64_t other,
				     uint32_t times, uint32_t rank)
{
	const uint32_t lo = (uint32_t)sort_first(i, 0, len, sorted[i] >= other);

	if (rank <= lo)
		return sorted[rank - 1];
	return rank <= lo + times ? other : sorted[rank - times - 1];
}

static uint32_t nesting_median_rank(uint32_t n)
{
	return n / 2 + n % 2;
}

static uint32_t nesting_p95_rank(uint32_t n)
{
	return (uint32_t)((19ULL * n + 19) / 20);
}

/*
 * Returns a node's usual time and calls over `all` messages: `len` have the node, the others count
 * as 0. Changes `ns` and `count`.
 */
static struct nesting_usual nesting_get_usual(uint64_t *ns, uint32_t *count, uint32_t len,
					      uint32_t all)
{
	const uint32_t absent = all - len, mid = nesting_median_rank(all),
		       high = nesting_p95_rank(all);
	struct nesting_usual u = { .present = len };

	qsort(ns, len, sizeof(*ns), nesting_order_u64);
	qsort(count, len, sizeof(*count), nesting_order_u32);
	u.ns = nesting_ranked_value(ns, len, 0, absent, mid);
	u.p95_ns = nesting_ranked_value(ns, len, 0, absent, high);
	u.count = mid > absent ? count[mid - absent - 1] : 0;
	u.p95_count = high > absent ? count[high - absent - 1] : 0;
	for (uint32_t i = 0; i < len; i++)
		ns[i] = ns[i] > u.ns ? ns[i] - u.ns : u.ns - ns[i];
	qsort(ns, len, sizeof(*ns), nesting_order_u64);
	u.mad_ns = nesting_ranked_value(ns, len, u.ns, absent, mid);
	return u;
}

static void nesting_forget_model(struct nesting *n)
{
	free(n->usual);
	free(n->work);
	n->usual = NULL;
	n->work = NULL;
}

static bool nesting_model_holds(const struct nesting *n)
{
	return n->usual && n->usual_nodes == n->nodes.len && n->usual_messages == n->messages.len;
}

static int nesting_model(struct nesting *n)
{
	const size_t nodes = n->nodes.len;
	struct gathered g;
	int err;

	if (nesting_model_holds(n))
		return 0;
	nesting_forget_model(n);
	n->references = 0;
	vec_for_each(&n->messages, m)
		n->references += m->reference;
	if (!n->references)
		return -ENODATA;
	n->usual = calloc(nodes, sizeof(*n->usual));
	n->work = calloc(nodes, sizeof(*n->work));
	err = nesting_gathered_new(&g, nodes, n->values.len);
	if (!err && n->usual && n->work) {
		nesting_gather_values(n, &g);
		for (size_t i = NESTING_ROOTS; i < nodes; i++)
			n->usual[i] = nesting_get_usual(g.ns + g.first[i], g.count + g.first[i],
							g.first[i + 1] - g.first[i], n->references);
		n->usual_nodes = (uint32_t)nodes;
		n->usual_messages = (uint32_t)n->messages.len;
	} else {
		nesting_forget_model(n);
		err = -ENOMEM;
	}
	nesting_gathered_free(&g);
	return err;
}

/* ---- judging one message ---- */

static uint64_t nesting_threshold(const struct nesting_usual *u, const struct nesting_options *o)
{
	uint64_t ns;

	if (__builtin_mul_overflow(u->mad_ns, (uint64_t)o->mads, &ns))
		return UINT64_MAX;
	return ns > o->granularity_ns ? ns : o->granularity_ns;
}

/* Returns by how much `ns` exceeds `usual`; 0 if by no more than `least`. */
static uint64_t nesting_above(uint64_t ns, uint64_t usual, uint64_t least)
{
	return ns > usual && ns - usual > least ? ns - usual : 0;
}

/* Returns true if `part` is at least 80 % of `whole`. */
static bool nesting_explains(uint64_t part, uint64_t whole)
{
	return part >= whole - whole / 5;
}

static uint8_t nesting_type_of(const struct nesting *n, const struct nesting_usual *u,
			       uint32_t count)
{
	if (u->present < n->references - u->present)
		return NESTING_UNEXPECTED;
	return count > u->count ? NESTING_MORE_FREQUENT : NESTING_SLOWER;
}

static uint32_t nesting_root_above(const struct nesting *n, uint32_t node)
{
	while (node >= NESTING_ROOTS)
		node = n->nodes.items[node].parent;
	return node;
}

static int nesting_report(struct nesting *n, uint32_t node, uint64_t deviation, uint64_t self)
{
	const struct nesting_value *v = n->work[node].value;
	const struct nesting_usual *u = &n->usual[node];
	const uint32_t root = nesting_root_above(n, node);

	n->work[node].reported = true;
	return vec_push(&n->causes, (struct nesting_cause){
		.self_ns = self,
		.deviation_ns = deviation,
		.ns = v->ns,
		.usual_ns = u->ns,
		.usual_p95_ns = u->p95_ns,
		.count = v->count,
		.usual_count = u->count,
		.usual_p95_count = u->p95_count,
		.present = u->present,
		.node = node,
		.type = nesting_type_of(n, u, v->count),
		.role = (uint8_t)(root / SPAN_TYPE_MAX),
		.context = (uint8_t)(root % SPAN_TYPE_MAX),
		.partial = v->partial,
	});
}

/*
 * Judges a node, whose children are judged already. *charged: ns charged to the node and its
 * children.
 */
static int nesting_judge_node(struct nesting *n, uint32_t node, const struct nesting_options *o,
			      uint64_t *deviation, uint64_t *charged)
{
	const struct nesting_work *w = &n->work[node];
	const struct nesting_usual *u = &n->usual[node];

	*deviation = nesting_above(w->value ? w->value->ns : 0, u->ns, nesting_threshold(u, o));
	*charged = w->within;
	if (!*deviation)
		return 0;
	if (nesting_explains(w->within, *deviation)) {
		*charged = o->rule->explained(*deviation, w->within);
		return 0;
	}
	*charged = *deviation;
	return nesting_report(n, node, *deviation, o->rule->own(*deviation, w->within));
}

/* Returns by how many ns a node and its children were faster than usual. */
static uint64_t nesting_subtract(const struct nesting *n, uint32_t node,
				 const struct nesting_options *o)
{
	const struct nesting_work *w = &n->work[node];
	const struct nesting_usual *u = &n->usual[node];
	const uint64_t less =
		nesting_above(u->ns, w->value ? w->value->ns : 0, nesting_threshold(u, o));

	return less && !nesting_explains(w->less, less) ? less : w->less;
}

static int nesting_judge_all(struct nesting *n, const struct nesting_options *o,
			     struct nesting_verdict *v)
{
	/* Children come first: they have larger numbers than their parents. */
	for (uint32_t i = (uint32_t)n->nodes.len - 1; i >= NESTING_ROOTS; i--) {
		struct nesting_work *parent = &n->work[n->nodes.items[i].parent];
		uint64_t deviation, charged, less = nesting_subtract(n, i, o);
		int err = nesting_judge_node(n, i, o, &deviation, &charged);

		if (err)
			return err;
		parent->within += charged;
		parent->less += less;
		if (n->nodes.items[i].parent < NESTING_ROOTS) {
			v->saved_ns += less;
			v->over_ns += charged > deviation ? charged - deviation : 0;
		}
	}
	return 0;
}

/* Orders causes by self_ns, then by path: node numbers depend on the order of the messages. */
static int nesting_order_by_self(const void *a, const void *b, void *ctx)
{
	const struct nesting_cause *x = a, *y = b;
	uint32_t px[EVENT_DEPTH_MAX], py[EVENT_DEPTH_MAX], lx, ly;

	if (x->self_ns != y->self_ns)
		return x->self_ns < y->self_ns ? 1 : -1;
	if (x->role != y->role)
		return x->role < y->role ? -1 : 1;
	if (x->context != y->context)
		return x->context < y->context ? -1 : 1;
	lx = nesting_path(ctx, x->node, px);
	ly = nesting_path(ctx, y->node, py);
	for (uint32_t i = 0; i < lx && i < ly; i++)
		if (px[i] != py[i])
			return px[i] < py[i] ? -1 : 1;
	return (lx > ly) - (lx < ly);
}

static void nesting_load_message(struct nesting *n, const struct nesting_message *m)
{
	memset(n->work, 0, n->nodes.len * sizeof(*n->work));
	for (uint32_t i = 0; i < m->n; i++) {
		const struct nesting_value *value = &n->values.items[m->first + i];

		n->work[value->node].value = value;
	}
}

static uint64_t nesting_beyond_within(uint64_t deviation, uint64_t within)
{
	return deviation - within;
}

static uint64_t nesting_order_within(uint64_t deviation, uint64_t within)
{
	(void)deviation;
	return within;
}

int nesting_judge(struct nesting *n, uint32_t message, const struct nesting_options *options,
		  struct nesting_verdict *verdict)
{
	static const struct nesting_rule by_parts = { nesting_beyond_within, nesting_order_within,
						      NULL };
	struct nesting_options o = *options;
	const struct nesting_message *m;
	int err;

	*verdict = (struct nesting_verdict){ 0 };
	if (message >= n->messages.len)
		return -EINVAL;
	err = nesting_model(n);
	if (err)
		return err;
	m = &n->messages.items[message];
	nesting_load_message(n, m);
	vec_clear(&n->causes);
	if (!o.rule)
		o.rule = &by_parts;
	err = nesting_judge_all(n, &o, verdict);
	if (err)
		return err;
	if (o.rule->select)
		o.rule->select(n);
	if (n->causes.len)
		qsort_r(n->causes.items, n->causes.len, sizeof(*n->causes.items),
			nesting_order_by_self, n);
	vec_for_each(&n->causes, c)
		verdict->charged_ns += c->self_ns;
	verdict->causes = n->causes.items;
	verdict->n_causes = (uint32_t)n->causes.len;
	verdict->references = n->references;
	verdict->window_ns = m->window_ns;
	BUG_ON(verdict->charged_ns > verdict->window_ns);
	return 0;
}
