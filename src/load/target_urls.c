/* SPDX-License-Identifier: Apache-2.0 */
#include "load/target_urls.h"

#include <errno.h>
#include <stdlib.h>

static int target_urls_add(struct load_target *target, const struct url_entry *entry,
			   struct strbuf *why)
{
	struct load_url *url = &target->urls[target->n_urls++];
	struct target parsed;
	int err = target_parse(entry->url, &parsed, why);

	if (err)
		return err;
	parsed.options = target->target.options;
	err = workload_init_path(&url->workload, &target->workload, &parsed, why);
	if (!err && workload_request_max(&url->workload) > target->request_max)
		target->request_max = workload_request_max(&url->workload);
	return err;
}

int target_urls_init(struct load_target *target, const struct url_list *list, uint32_t number,
		     struct strbuf *why)
{
	const struct url_target *of = &list->targets[number];
	double sum = 0;
	int err = 0;

	if (of->n_urls < 2)
		return 0;
	target->urls = calloc(of->n_urls, sizeof(*target->urls));
	if (!target->urls)
		return -ENOMEM;
	for (const struct url_entry *e = list->items; e < list->items + list->n && !err; e++) {
		if (e->target != number)
			continue;
		err = target_urls_add(target, e, why);
		sum += e->weight;
		target->urls[target->n_urls - 1].until = sum / of->weight;
	}
	return err;
}

void target_urls_release(struct load_target *target)
{
	for (uint32_t i = 0; i < target->n_urls; i++)
		workload_release(&target->urls[i].workload);
	free(target->urls);
}

const struct workload *target_urls_draw(const struct load_target *target, struct rng *rng)
{
	uint32_t from = 0, to = target->n_urls;
	double u;

	if (!to)
		return &target->workload;
	u = rng_uniform(rng);
	/* The first URL whose `until` is above u; the last one's may be below 1 by rounding. */
	while (to - from > 1) {
		const uint32_t middle = (from + to) / 2;

		if (u < target->urls[middle - 1].until)
			to = middle;
		else
			from = middle;
	}
	return &target->urls[from].workload;
}

uint32_t *target_urls_deal(const struct url_list *list, uint32_t n)
{
	uint32_t *of = calloc(n, sizeof(*of)), counts[LOAD_TARGETS_MAX] = { 0 };

	for (uint32_t i = 0; of && i < n; i++) {
		uint32_t best = i < list->n_targets ? i : 0;

		/* After one for each: by the method of Webster and Sainte-Laguë. */
		for (uint32_t k = 1; i >= list->n_targets && k < list->n_targets; k++) {
			if ((counts[k] + 0.5) * list->targets[best].weight <
			    (counts[best] + 0.5) * list->targets[k].weight)
				best = k;
		}
		of[i] = best;
		counts[best]++;
	}
	return of;
}
