/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <string.h>

#include "base/rng.h"
#include "brief.h"
#include "diagnose/nesting.h"
#include "diagnose/paper.h"
#include "nesting_naive.h"

#define ROUNDS 1200
#define MESSAGES 12
#define REFERENCES 7	/* the first ones */
#define PIECES 2
#define SPANS_MAX 40
#define DEPTH_MAX 6
#define SYMBOLS 3
#define PIECE_NS 200
#define PATHS_MAX 2000
#define PATH_MAX (DEPTH_MAX + 3)

struct span {
	struct event_span is;
	int parent;	/* -1: none */
};

struct piece {
	uint8_t role;
	uint64_t begin, end;
	struct span spans[SPANS_MAX];	/* callers first */
	int n;
};

struct message {
	struct piece pieces[PIECES];
};

/* A role, a context and symbols, a character each. */
struct path {
	char text[PATH_MAX];
	uint64_t ns[MESSAGES], count[MESSAGES];
	bool has[MESSAGES];
	uint64_t usual_ns, usual_count, mad;
	int present;
};

struct told {
	char path[PATH_MAX];
	uint64_t self, deviation;
	int type;
};

enum mutant { NONE, MORE_THAN_80, RAW, NOT_CLIPPED, CONTEXTS_COUNT, MUTANTS };

struct naive {
	struct path paths[PATHS_MAX];
	int n_paths;
	struct told told[PATHS_MAX];
	int n_told;
	const struct nesting_options *options;
	enum mutant mutant;
};

/* ---- random messages ---- */

static uint8_t random_type(struct rng *rng)
{
	static const uint8_t types[] = { SPAN_SOFTIRQ, SPAN_HARDIRQ, SPAN_TASK, SPAN_SYSCALL };

	return rng_below(rng, 5) ? SPAN_FUNCTION : types[rng_below(rng, 4)];
}

/* Fills a stretch with spans side by side, and each of them in turn. */
static void grow(struct rng *rng, struct piece *p, int parent, uint64_t from, uint64_t to,
		 uint8_t depth)
{
	while (p->n < SPANS_MAX && from < to && rng_below(rng, 6)) {
		const uint64_t begin = from + rng_below(rng, (to - from) / 2 + 1);
		const uint64_t end = begin + rng_below(rng, to - begin + 1);
		const int me = p->n++;

		p->spans[me] = (struct span){ .parent = parent, .is = {
			.begin = begin, .end = end, .depth = depth, .type = random_type(rng),
			.what = 1 + (uint32_t)rng_below(rng, SYMBOLS),
			.resumed = !rng_below(rng, 8),
		} };
		if (depth + 1 < DEPTH_MAX)
			grow(rng, p, me, begin, end, depth + 1);
		from = end + 1;
	}
}

static void make(struct rng *rng, struct message *m)
{
	uint64_t at = 100;

	memset(m, 0, sizeof(*m));
	for (int i = 0; i < PIECES; i++) {
		struct piece *p = &m->pieces[i];

		p->role = (uint8_t)(PIECE_RECEIVE + rng_below(rng, 2));
		p->begin = at + rng_below(rng, 20);
		p->end = at = p->begin + rng_below(rng, PIECE_NS);
		grow(rng, p, -1, p->begin - 50, p->end + 50, 0);
	}
}

/* As the edges would have it: children before their parents, elder ones before younger ones. */
static void feed_below(struct nesting *n, const struct piece *p, int parent)
{
	for (int i = 0; i < p->n; i++) {
		if (p->spans[i].parent != parent)
			continue;
		feed_below(n, p, i);
		nesting_span(n, &p->spans[i].is, false);
	}
}

static uint32_t feed(struct nesting *n, const struct message *m, bool reference)
{
	uint32_t number;

	nesting_begin(n, reference);
	for (int i = 0; i < PIECES; i++) {
		const struct piece *p = &m->pieces[i];

		nesting_piece(n, p->role, p->begin, p->end);
		feed_below(n, p, -1);
	}
	assert_int_equal(nesting_end(n, &number), 0);
	return number;
}

/* ---- the naive way ---- */

static bool is_context(const struct span *s)
{
	return s->is.type != SPAN_FUNCTION && s->is.type != SPAN_SYSCALL;
}

static bool seen(const struct piece *p, const struct span *s)
{
	if (s->is.begin == s->is.end)
		return s->is.begin >= p->begin && s->is.begin < p->end;
	return s->is.begin < p->end && s->is.end > p->begin;
}

static void path_text(const struct piece *p, int at, char *text)
{
	int way[DEPTH_MAX], len = 0, context = SPAN_NONE;

	for (int i = at; i >= 0; i = p->spans[i].parent) {
		if (!seen(p, &p->spans[i]))
			break;
		if (is_context(&p->spans[i])) {
			context = p->spans[i].is.type;
			break;
		}
		if (p->spans[i].is.type == SPAN_FUNCTION)
			way[len++] = i;
	}
	*text++ = (char)('0' + p->role);
	*text++ = (char)('0' + context);
	while (len)
		*text++ = (char)('0' + p->spans[way[--len]].is.what);
	*text = '\0';
}

static struct path *path_of(struct naive *t, const char *text)
{
	for (int i = 0; i < t->n_paths; i++)
		if (!strcmp(t->paths[i].text, text))
			return &t->paths[i];
	assert_true(t->n_paths < PATHS_MAX);
	memset(&t->paths[t->n_paths], 0, sizeof(t->paths[0]));
	memcpy(t->paths[t->n_paths].text, text, strlen(text));
	return &t->paths[t->n_paths++];
}

static int below_at(const struct piece *p, int parent, uint64_t time)
{
	for (int i = 0; i < p->n; i++)
		if (p->spans[i].parent == parent && time >= p->spans[i].is.begin &&
		    time < p->spans[i].is.end)
			return i;
	return -1;
}

/* All functions on the way to the innermost span have this ns, but those around a context. */
static void count_ns(struct naive *t, const struct piece *p, int m, uint64_t time)
{
	char text[PATH_MAX];
	int at = -1, next;

	while ((next = below_at(p, at, time)) >= 0)
		at = next;
	for (; at >= 0; at = p->spans[at].parent) {
		if (p->spans[at].is.type == SPAN_FUNCTION) {
			path_text(p, at, text);
			path_of(t, text)->ns[m]++;
		}
		if (is_context(&p->spans[at]) && t->mutant != CONTEXTS_COUNT)
			return;
	}
}

static void count_calls(struct naive *t, const struct piece *p, int m)
{
	char text[PATH_MAX];

	/* Callers come first, and elder ones: so the first of a path is its earliest. */
	for (int i = 0; i < p->n; i++) {
		const struct span *s = &p->spans[i];
		struct path *path;

		if (s->is.type != SPAN_FUNCTION || !seen(p, s))
			continue;
		path_text(p, i, text);
		path = path_of(t, text);
		path->count[m] += !path->has[m] || !(s->is.resumed || s->is.begin < p->begin);
		path->has[m] = true;
	}
}

static void take(struct naive *t, const struct message *m, int number)
{
	for (int i = 0; i < PIECES; i++) {
		const struct piece *p = &m->pieces[i];
		const uint64_t more = t->mutant == NOT_CLIPPED ? 1 : 0;

		count_calls(t, p, number);
		for (uint64_t time = p->begin; time < p->end + more; time++)
			count_ns(t, p, number, time);
	}
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t median(const uint64_t *values)
{
	uint64_t sorted[REFERENCES];

	memcpy(sorted, values, sizeof(sorted));
	qsort(sorted, REFERENCES, sizeof(*sorted), by_value);
	return sorted[REFERENCES / 2];
}

static void learn(struct path *p)
{
	uint64_t off[REFERENCES];

	p->usual_ns = median(p->ns);
	p->usual_count = median(p->count);
	for (int i = 0; i < REFERENCES; i++) {
		off[i] = (uint64_t)llabs((long long)p->ns[i] - (long long)p->usual_ns);
		p->present += p->has[i];
	}
	p->mad = median(off);
}

static uint64_t deviation_of(const struct naive *t, const struct path *p, int m)
{
	const uint64_t mads = t->options->mads * p->mad;
	const uint64_t fine = t->options->granularity_ns;
	const uint64_t least = mads > fine ? mads : fine;

	return p->ns[m] > p->usual_ns + least ? p->ns[m] - p->usual_ns : 0;
}

static bool explained(const struct naive *t, uint64_t within, uint64_t deviation)
{
	if (t->mutant == MORE_THAN_80)
		return 10 * within > 8 * deviation;
	return 10 * within >= 8 * deviation;
}

static uint64_t judge(struct naive *t, const char *above, int m);

static uint64_t judge_path(struct naive *t, const struct path *p, int m)
{
	const uint64_t deviation = deviation_of(t, p, m);
	const int before = t->n_told;
	const uint64_t within = judge(t, p->text, m);
	struct told *told;

	if (!deviation)
		return within;
	if (explained(t, within, deviation))
		return t->options->rule || t->mutant == RAW ? deviation : within;
	if (t->options->rule)
		t->n_told = before;
	told = &t->told[t->n_told++];
	memcpy(told->path, p->text, sizeof(told->path));
	told->deviation = deviation;
	told->self = t->options->rule ? deviation : deviation - within;
	told->type = 2 * p->present < REFERENCES ? NESTING_UNEXPECTED :
		     p->count[m] > p->usual_count ? NESTING_MORE_FREQUENT : NESTING_SLOWER;
	return deviation;
}

/* Returns what everything directly below `above` is charged with. */
static uint64_t judge(struct naive *t, const char *above, int m)
{
	const size_t len = strlen(above);
	uint64_t charged = 0;

	for (int i = 0; i < t->n_paths; i++)
		if (strlen(t->paths[i].text) == len + 1 && !strncmp(t->paths[i].text, above, len))
			charged += judge_path(t, &t->paths[i], m);
	return charged;
}

static int by_self(const void *a, const void *b)
{
	const struct told *x = a, *y = b;

	if (x->self != y->self)
		return x->self < y->self ? 1 : -1;
	return strcmp(x->path, y->path);
}

static void judge_message(struct naive *t, int m)
{
	char root[3] = "";

	t->n_told = 0;
	for (int role = 0; role < PIECE_ROLE_MAX; role++) {
		for (int type = 0; type < SPAN_TYPE_MAX; type++) {
			root[0] = (char)('0' + role);
			root[1] = (char)('0' + type);
			judge(t, root, m);
		}
	}
	qsort(t->told, (size_t)t->n_told, sizeof(*t->told), by_self);
}

/* ---- both ---- */

static void text_of(const struct nesting *n, const struct nesting_cause *c, char *text)
{
	uint32_t symbols[EVENT_DEPTH_MAX], len = nesting_path(n, c->node, symbols);

	*text++ = (char)('0' + c->role);
	*text++ = (char)('0' + c->context);
	for (uint32_t i = 0; i < len; i++)
		*text++ = (char)('0' + symbols[i]);
	*text = '\0';
}

static bool agree(const struct nesting *n, const struct nesting_verdict *v, const struct naive *t)
{
	char text[PATH_MAX];

	if (v->n_causes != (uint32_t)t->n_told)
		return false;
	for (int i = 0; i < t->n_told; i++) {
		const struct nesting_cause *c = &v->causes[i];

		text_of(n, c, text);
		if (strcmp(text, t->told[i].path) || c->self_ns != t->told[i].self ||
		    c->deviation_ns != t->told[i].deviation || c->type != t->told[i].type)
			return false;
	}
	return true;
}

/* How many of a round's messages are judged alike; *causes counts what was told of them. */
static int round_of(struct naive *t, uint64_t seed, uint64_t *causes)
{
	static struct message messages[MESSAGES];
	const struct nesting_limits limits = NESTING_LIMITS;
	struct nesting *n;
	struct rng rng;
	int alike = 0;

	rng_init(&rng, seed);
	t->n_paths = 0;
	assert_int_equal(nesting_new(&n, &limits), 0);
	for (int i = 0; i < MESSAGES; i++) {
		make(&rng, &messages[i]);
		take(t, &messages[i], i);
		assert_int_equal(feed(n, &messages[i], i < REFERENCES), i);
	}
	for (int i = 0; i < t->n_paths; i++)
		learn(&t->paths[i]);
	for (int i = 0; i < MESSAGES; i++) {
		struct nesting_verdict v;

		judge_message(t, i);
		assert_int_equal(nesting_judge(n, (uint32_t)i, t->options, &v), 0);
		assert_true(v.charged_ns <= v.window_ns);
		alike += agree(n, &v, t);
		*causes += v.n_causes;
	}
	nesting_free(n);
	return alike;
}

void test_naive(void **state)
{
	static const struct nesting_options options[] = {
		{ .granularity_ns = 0, .mads = 0 },
		{ .granularity_ns = 3, .mads = 3 },
		{ .granularity_ns = 1, .rule = &paper_nesting },
	};
	const uint64_t rounds = brief() ? ROUNDS / 30 : ROUNDS;
	static struct naive t;
	uint64_t causes = 0;

	(void)state;
	for (t.mutant = NONE; t.mutant < MUTANTS; t.mutant++) {
		uint64_t unlike = 0;

		for (uint64_t seed = 0; seed < (t.mutant ? rounds / 10 : rounds); seed++) {
			t.options = &options[seed % (t.mutant == RAW ? 2 : 3)];
			unlike += (uint64_t)(MESSAGES - round_of(&t, seed, &causes));
		}
		if (t.mutant)
			assert_true(unlike > 0); /* a wrong rule would be seen */
		else
			assert_int_equal(unlike, 0);
	}
	assert_true(causes > rounds);
}

/* The same messages in another order. */
void test_order(void **state)
{
	static struct message messages[MESSAGES];
	const struct nesting_limits limits = NESTING_LIMITS;
	const struct nesting_options options = { .granularity_ns = 1 };
	struct nesting *a, *b;
	struct rng rng;
	uint32_t causes = 0;

	(void)state;
	rng_init(&rng, 5);
	assert_int_equal(nesting_new(&a, &limits), 0);
	assert_int_equal(nesting_new(&b, &limits), 0);
	for (int i = 0; i < MESSAGES; i++) {
		make(&rng, &messages[i]);
		feed(a, &messages[i], i < REFERENCES);
	}
	for (int i = MESSAGES; i--;)
		feed(b, &messages[i], i < REFERENCES);
	for (uint32_t i = 0; i < MESSAGES; i++) {
		struct nesting_verdict va, vb;
		char ta[PATH_MAX], tb[PATH_MAX];

		assert_int_equal(nesting_judge(a, i, &options, &va), 0);
		assert_int_equal(nesting_judge(b, MESSAGES - 1 - i, &options, &vb), 0);
		assert_int_equal(va.n_causes, vb.n_causes);
		causes += va.n_causes;
		for (uint32_t j = 0; j < va.n_causes; j++) {
			text_of(a, &va.causes[j], ta);
			text_of(b, &vb.causes[j], tb);
			assert_string_equal(ta, tb);
			assert_int_equal(va.causes[j].self_ns, vb.causes[j].self_ns);
		}
	}
	assert_true(causes > MESSAGES);
	nesting_free(a);
	nesting_free(b);
}
