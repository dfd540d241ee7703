/* SPDX-License-Identifier: Apache-2.0 */
/* All analyses of a fleet, and the order of their findings. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/sort.h"
#include "fleet/analyses.h"
#include "fleet/explained.h"

#define MEMBERS_MAX (64u * FLEET_CONNECTIONS_MAX)

static int analyze_order(const void *a, const void *b, void *ctx)
{
	const struct fleet_finding *items = ctx;
	const uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;

	return sort_order(items[j].excess_ns, items[i].excess_ns) ?:
	       sort_order(items[j].lost_ns, items[i].lost_ns) ?: sort_order(i, j);
}

struct analyze {
	const struct fleet_finding *items;
	const uint32_t *order;   /* all findings, most excess time first */
	uint32_t *next, *last;   /* findings inside of the same one; the last that was put there */
	uint32_t *inside;        /* first finding inside of each; [n]: of those inside of none */
	uint32_t *place;         /* new index of each */
	struct fleet_finding *sorted;
	uint32_t placed;
};

/* Lists the findings inside of each one in their order. */
static void analyze_chain(struct analyze *a, uint32_t n)
{
	for (uint32_t i = 0; i <= n; i++)
		a->inside[i] = a->last[i] = FLEET_NONE;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t at = a->order[i], within = a->items[at].within;
		const uint32_t parent = within == FLEET_NONE ? n : within;

		*(a->last[parent] == FLEET_NONE ? &a->inside[parent] : &a->next[a->last[parent]]) =
			at;
		a->next[at] = FLEET_NONE;
		a->last[parent] = at;
	}
}

/* Places the findings inside of one; a finding is never inside of itself. */
static void analyze_place(struct analyze *a, uint32_t parent, uint32_t within)
{
	for (uint32_t at = a->inside[parent]; at != FLEET_NONE; at = a->next[at]) {
		a->place[at] = a->placed;
		a->sorted[a->placed] = a->items[at];
		a->sorted[a->placed++].within = within;
		analyze_place(a, at, a->place[at]);
	}
}

static int analyze_sort(struct fleet_findings *findings)
{
	const uint32_t n = (uint32_t)findings->len;
	uint32_t *order = malloc((5 * (size_t)n + 2) * sizeof(*order));
	struct analyze a = { .items = findings->items, .order = order };

	a.sorted = malloc(((size_t)n + 1) * sizeof(*a.sorted));
	if (!order || !a.sorted) {
		free(order);
		free(a.sorted);
		return -ENOMEM;
	}
	a.next = order + n;
	a.place = a.next + n;
	a.last = a.place + n;
	a.inside = a.last + n + 1;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	qsort_r(order, n, sizeof(*order), analyze_order, findings->items);
	analyze_chain(&a, n);
	analyze_place(&a, n, FLEET_NONE);
	free(order);
	free(findings->items);
	findings->items = a.sorted;
	findings->cap = n + 1;
	return 0;
}

static void analyze_result_init(struct fleet_result *result)
{
	*result = (struct fleet_result){ 0 };
	vec_init(&result->findings, FLEET_RESOURCES_MAX);
	vec_init(&result->members, MEMBERS_MAX);
	vec_init(&result->same, (size_t)FLEET_CLASSES * FLEET_RESOURCES_MAX);
	vec_init(&result->pipelines, (size_t)FLEET_CLASSES * FLEET_RESOURCES_MAX);
}

/* Appends the findings of rates and bursts, which are inside of none, to those of synchrony. */
static int analyze_append(const struct fleet_result *rest, struct fleet_result *out)
{
	const uint32_t members = (uint32_t)out->members.len;
	int err = 0;

	out->tested += rest->tested;
	out->too_few += rest->too_few;
	vec_for_each(&rest->members, member)
		if (!err)
			err = vec_push(&out->members, *member);
	vec_for_each(&rest->findings, finding) {
		if (!err)
			err = vec_push(&out->findings, *finding);
		if (!err)
			vec_last(&out->findings)->first += members;
	}
	return err;
}

/* The analyses that need no correlation. They only read the fleet, as the other one does. */
struct analyze_rest {
	const struct fleet *f;
	const struct fleet_options *options;
	struct fleet_result result;
	int err;
};

static void *analyze_rest(void *ctx)
{
	struct analyze_rest *rest = ctx;

	rest->err = fleet_more(rest->f, rest->options, &rest->result);
	if (!rest->err)
		rest->err = fleet_at_once(rest->f, rest->options, &rest->result);
	return NULL;
}

/* Runs the analyses, on two cores if there is a thread. */
static int analyze_all(struct analyze_rest *rest, struct fleet_result *out)
{
	pthread_t thread;
	const bool alone = pthread_create(&thread, NULL, analyze_rest, rest);
	int err = fleet_together(rest->f, rest->options, out);

	if (alone)
		analyze_rest(rest);
	else
		pthread_join(thread, NULL);
	return err ?: rest->err ?: analyze_append(&rest->result, out);
}

int fleet_analyze(const struct fleet *f, const struct fleet_options *options,
		  struct fleet_result *out)
{
	struct analyze_rest rest = { .f = f, .options = options };
	int err;

	analyze_result_init(out);
	analyze_result_init(&rest.result);
	err = analyze_all(&rest, out);
	fleet_result_release(&rest.result);
	err = err ? err : fleet_explained(f, out);
	err = err ? err : fleet_pipelines(f, options, out);
	err = err ? err : analyze_sort(&out->findings);
	return err ? -ENOMEM : 0;
}

void fleet_result_release(struct fleet_result *result)
{
	vec_release(&result->findings);
	vec_release(&result->members);
	vec_release(&result->same);
	vec_release(&result->pipelines);
}
