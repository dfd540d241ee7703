/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines: which resource's problem is behind an application that has nothing to send. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/sort.h"
#include "fleet/analyses.h"
#include "fleet/pipeline_effect.h"
#include "fleet/pipeline_lags.h"
#include "stats/multiple.h"

/* Least effect: mean correlation, and more waiting as a part of the time. */
#define LEAST_RHO 0.03
#define LEAST_MORE 0.03
#define LEAST_TIMES 4.0      /* that show it, in equal parts */
/* Beside other problems, so much of a pair's correlation and deviations must be left. */
#define LEFT_PART 0.5
#define LEFT_Z 3.0
#define CAUSES_MAX 8u        /* pipelines of one application in one class */
#define PAIRS_MAX 100000000u
/*
 * Applications are with those for which they wait. Among thousands of hosts any two meet on a few;
 * a pair is on half of the hosts of one of its sides.
 */
#define COMMON_PART 2u

struct pipelines_pair {
	uint32_t resource, application;
	struct pipeline_test test;
};

struct pipelines {
	const struct fleet *f;
	const struct fleet_options *options;
	struct fleet_result *out;
	struct pipeline_work work;
	enum fleet_class class;
	struct pipeline_ends by_host; /* ends of the waiting, by host and resource */
	uint32_t *hosts;             /* by application: on which its connections wait */
	uint32_t *common;            /* by application: of these, hosts of the resource; else 0 */
	struct pipelines_touched VEC_OF(uint32_t) touched; /* applications with common hosts */
	struct pipelines_pairs VEC_OF(struct pipelines_pair) tests;
	uint32_t families;
	uint32_t half;           /* tests every other resource, from this one on */
	int err;                 /* the other half's */
};

static bool pipelines_has_class(const struct fleet *f, enum fleet_class class)
{
	vec_for_each(&f->all, s)
		if (s->limited_ns[class])
			return true;
	return false;
}

/* Each kind of resource in each class is a family of tests, beside those of all evidences. */
static uint32_t pipelines_families(const struct fleet *f)
{
	uint32_t kinds = 0, classes = 0;

	vec_for_each(&f->resources, resource)
		if (resource->kind == FLEET_APP || resource->kind == FLEET_SERVICE)
			kinds |= 1u << resource->kind;
	for (unsigned int class = 0; class < FLEET_CLASSES; class++)
		classes += class != FLEET_SENDER_APP && pipelines_has_class(f, class);
	return (uint32_t)__builtin_popcount(kinds) * classes * (FLEET_EVIDENCES + 1);
}

/* ---- pairs ---- */

static int pipelines_host_order(const void *a, const void *b)
{
	const struct pipeline_end *x = a, *y = b;

	return sort_order(x->host, y->host) ?: sort_order(x->resource, y->resource);
}

/* Returns whether it is the first one of its application on the host. */
static bool pipelines_is_first(const struct pipelines *p, size_t i)
{
	const struct pipeline_end *end = &p->by_host.items[i];

	return !i || end[-1].host != end->host || end[-1].resource != end->resource;
}

static int pipelines_list_hosts(struct pipelines *p)
{
	const struct pipeline_ends *ends = &p->work.waiting.ends;
	int err = 0;

	for (size_t i = 0; i < ends->len && !err; i++)
		err = vec_push(&p->by_host, ends->items[i]);
	if (p->by_host.len)
		qsort(p->by_host.items, p->by_host.len, sizeof(*p->by_host.items),
		      pipelines_host_order);
	for (size_t i = 0; i < p->by_host.len; i++)
		p->hosts[p->by_host.items[i].resource] += pipelines_is_first(p, i);
	return err;
}

static int pipelines_test(struct pipelines *p, uint32_t resource, uint32_t application)
{
	struct pipelines_pair add = { resource, application, { 0 } };
	struct pipeline_pair pair;
	int err = pipeline_pair_make(&p->work, resource, application, &pair);

	err = err ? err : pipeline_lags_test(&pair, p->options->alpha / p->families, &add.test);
	pipeline_pair_release(&pair);
	if (err)
		return err;
	p->out->pipelines_tested += add.test.testable;
	p->out->pipelines_too_few += !add.test.testable;
	return add.test.testable ? vec_push(&p->tests, add) : 0;
}

/* Counts a host of the resource for each application that waits there. */
static int pipelines_count_host(struct pipelines *p, uint32_t host)
{
	const struct pipeline_end *ends = p->by_host.items;
	size_t i = sort_first(at, 0, p->by_host.len, ends[at].host >= host);
	int err = 0;

	for (; i < p->by_host.len && ends[i].host == host && !err; i++)
		if (pipelines_is_first(p, i) && !p->common[ends[i].resource]++)
			err = vec_push(&p->touched, ends[i].resource);
	return err;
}

/* Tests a resource, whose ends these are, with the applications of which it has enough hosts. */
static int pipelines_test_resource(struct pipelines *p, const struct pipeline_end *ends, size_t n)
{
	uint32_t hosts = 0;
	int err = 0;

	for (size_t i = 0; i < n && !err; i++)
		if (!i || ends[i - 1].host != ends[i].host) {
			hosts++;
			err = pipelines_count_host(p, ends[i].host);
		}
	vec_for_each(&p->touched, application) {
		const uint32_t waits = p->hosts[*application];
		const uint32_t least = waits < hosts ? waits : hosts;

		if (!err && COMMON_PART * p->common[*application] >= least)
			err = pipelines_test(p, ends->resource, *application);
		p->common[*application] = 0;
	}
	vec_clear(&p->touched);
	return err;
}

/* Tests one half of the resources. */
static int pipelines_test_half(struct pipelines *p)
{
	const struct pipeline_ends *ends = &p->work.problem.ends;
	uint32_t number = 0;
	int err = 0;

	for (size_t from = 0, to; from < ends->len && !err; from = to) {
		for (to = from + 1; to < ends->len; to++)
			if (ends->items[to].resource != ends->items[from].resource)
				break;
		if (number++ % 2 == p->half)
			err = pipelines_test_resource(p, ends->items + from, to - from);
	}
	return err;
}

static void *pipelines_run_half(void *ctx)
{
	struct pipelines *p = ctx;

	p->err = pipelines_test_half(p);
	return NULL;
}

/* Runs both halves, on two cores if there is a thread. */
static int pipelines_run_halves(struct pipelines *p, struct pipelines *other)
{
	pthread_t thread;
	const bool alone = pthread_create(&thread, NULL, pipelines_run_half, other);
	int err = pipelines_test_half(p);

	if (alone)
		pipelines_run_half(other);
	else
		pthread_join(thread, NULL);
	return err ?: other->err;
}

/* Adds the other half's tests; the choice does not depend on their order. */
static int pipelines_merge(struct pipelines *p, const struct pipelines *other)
{
	int err = 0;

	p->out->pipelines_tested += other->out->pipelines_tested;
	p->out->pipelines_too_few += other->out->pipelines_too_few;
	vec_for_each(&other->tests, pair)
		if (!err)
			err = vec_push(&p->tests, *pair);
	return err;
}

static int pipelines_test_all(struct pipelines *p)
{
	struct fleet_result counts = { 0 };
	struct pipelines other = *p;
	int err = pipeline_work_fork(&p->work, &other.work);

	other.half = 1;
	other.out = &counts;
	vec_init(&other.tests, PAIRS_MAX);
	vec_init(&other.touched, FLEET_RESOURCES_MAX);
	other.common = calloc(p->f->resources.len + 1, sizeof(*other.common));
	if (!other.common)
		err = -ENOMEM;
	err = err ? err : pipelines_run_halves(p, &other);
	err = err ? err : pipelines_merge(p, &other);
	pipeline_work_join(&other.work);
	vec_release(&other.tests);
	vec_release(&other.touched);
	free(other.common);
	return err;
}

/* ---- choice ---- */

/* Adjusts the p of one kind's tests. */
static int pipelines_adjust(struct pipelines *p, enum fleet_kind kind, double *raw,
			    double *adjusted)
{
	size_t n = 0, i = 0;
	int err;

	vec_for_each(&p->tests, pair)
		if (p->f->resources.items[pair->resource].kind == kind)
			raw[n++] = pair->test.p;
	err = fdr_adjust(raw, n, adjusted);
	vec_for_each(&p->tests, pair)
		if (!err && p->f->resources.items[pair->resource].kind == kind)
			pair->test.p = fmin(1, adjusted[i++] * p->families);
	return err;
}

static bool pipelines_is_candidate(const struct pipelines *p, const struct pipeline_test *test)
{
	return test->p <= p->options->alpha && test->rho >= LEAST_RHO &&
	       test->times >= LEAST_TIMES && !test->reversed;
}

static int pipelines_order(const void *a, const void *b)
{
	const struct pipelines_pair *x = a, *y = b;

	return sort_order(x->application, y->application) ?: sort_order(y->test.z, x->test.z) ?:
		sort_order(x->resource, y->resource);
}

/* Keeps the candidates: by application, strongest first. */
static int pipelines_choose(struct pipelines *p)
{
	double *raw = malloc((2 * p->tests.len + 1) * sizeof(*raw));
	size_t n = 0;
	int err = raw ? 0 : -ENOMEM;

	err = err ? err : pipelines_adjust(p, FLEET_APP, raw, raw + p->tests.len);
	err = err ? err : pipelines_adjust(p, FLEET_SERVICE, raw, raw + p->tests.len);
	vec_for_each(&p->tests, pair)
		if (!err && pipelines_is_candidate(p, &pair->test))
			p->tests.items[n++] = *pair;
	p->tests.len = n;
	if (n)
		qsort(p->tests.items, n, sizeof(*p->tests.items), pipelines_order);
	free(raw);
	return err;
}

/* ---- pipelines ---- */

/*
 * Returns whether the pair's correlation is its own: hosts and times of one resource's problem are
 * often those of another's.
 */
static int pipelines_is_left(struct pipelines *p, struct pipeline_pair *pair,
			     const struct pipelines_pair *chosen, size_t first, bool *left)
{
	const size_t last = p->out->pipelines.len;
	struct pipeline_test rest;
	int err = 0;

	*left = last - first < CAUSES_MAX;
	for (size_t i = first; i < last && *left && !err; i++) {
		const struct fleet_pipeline *before = &p->out->pipelines.items[i];
		struct pipeline_pair by;

		err = pipeline_pair_make(&p->work, before->resource, before->application, &by);
		if (!err)
			pipeline_pair_explain(pair, &by, before->lag);
		pipeline_pair_release(&by);
	}
	if (err || !*left || first == last)
		return err;
	err = pipeline_lags_test(pair, 1, &rest);
	*left = rest.testable && rest.rho >= LEFT_PART * chosen->test.rho && rest.z >= LEFT_Z;
	return err;
}

/* Adds a candidate's pipeline if its effect is large enough and its own. */
static int pipelines_tell(struct pipelines *p, const struct pipelines_pair *chosen, size_t first)
{
	const struct pipeline_test *test = &chosen->test;
	struct fleet_pipeline found = {
		.class = p->class, .resource = chosen->resource,
		.application = chosen->application, .rho = test->rho, .z = test->z, .p = test->p,
		.lag = test->lag, .later = test->later,
	};
	struct pipeline_pair pair;
	int err = pipeline_pair_make(&p->work, chosen->resource, chosen->application, &pair);
	bool left = false;

	if (!err)
		found.hosts_with = pipeline_lags_hosts(&pair, test->lag);
	err = err ? err : pipeline_effect_measure(&p->work, &pair, test->lag, &found);
	if (!err && found.share - found.share_otherwise >= LEAST_MORE)
		err = pipelines_is_left(p, &pair, chosen, first, &left);
	pipeline_pair_release(&pair);
	return err || !left ? err : vec_push(&p->out->pipelines, found);
}

static int pipelines_tell_all(struct pipelines *p)
{
	size_t first = p->out->pipelines.len;
	int err = 0;

	for (size_t i = 0; i < p->tests.len && !err; i++) {
		const struct pipelines_pair *pair = &p->tests.items[i];

		if (i && pair[-1].application != pair->application)
			first = p->out->pipelines.len;
		err = pipelines_tell(p, pair, first);
	}
	return err;
}

/* ---- all ---- */

static int pipelines_class(struct pipelines *p, enum fleet_class class)
{
	int err = pipeline_side_fill(&p->work, &p->work.problem, class, true);

	p->class = class;
	vec_clear(&p->tests);
	err = err ? err : pipelines_test_all(p);
	err = err ? err : pipelines_choose(p);
	return err ? err : pipelines_tell_all(p);
}

static int pipelines_run(struct pipelines *p)
{
	int err = pipeline_side_fill(&p->work, &p->work.waiting, FLEET_SENDER_APP, false);

	err = err ? err : pipelines_list_hosts(p);
	for (unsigned int class = 0; class < FLEET_CLASSES && !err; class++)
		if (class != FLEET_SENDER_APP && pipelines_has_class(p->f, class))
			err = pipelines_class(p, class);
	return err;
}

static int pipelines_time_order(const void *a, const void *b)
{
	const struct fleet_pipeline *x = a, *y = b;

	return sort_order(y->waiting_ns, x->waiting_ns) ?:
	       sort_order(x->application, y->application) ?:
	       sort_order(x->resource, y->resource) ?: sort_order(x->class, y->class);
}

int fleet_pipelines(const struct fleet *f, const struct fleet_options *options,
		    struct fleet_result *out)
{
	struct pipelines p = { .f = f, .options = options, .out = out,
			       .families = pipelines_families(f) };
	int err = 0;

	if (!pipelines_has_class(f, FLEET_SENDER_APP))
		return 0;
	vec_init(&p.by_host, (size_t)FLEET_CONNECTIONS_MAX * FLEET_SHARES_MAX);
	vec_init(&p.tests, PAIRS_MAX);
	vec_init(&p.touched, FLEET_RESOURCES_MAX);
	p.hosts = calloc(f->resources.len + 1, sizeof(*p.hosts));
	p.common = calloc(f->resources.len + 1, sizeof(*p.common));
	err = pipeline_work_init(&p.work, f);
	err = p.hosts && p.common ? err : -ENOMEM;
	err = err ? err : pipelines_run(&p);
	if (out->pipelines.len)
		qsort(out->pipelines.items, out->pipelines.len, sizeof(*out->pipelines.items),
		      pipelines_time_order);
	pipeline_work_release(&p.work);
	vec_release(&p.by_host);
	vec_release(&p.tests);
	vec_release(&p.touched);
	free(p.hosts);
	free(p.common);
	return err ? -ENOMEM : 0;
}
