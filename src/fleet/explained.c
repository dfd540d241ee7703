/* SPDX-License-Identifier: Apache-2.0 */
/* Removes findings that another one explains. */
#include "fleet/explained.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether half or more of the connections behind a finding are marked. */
static bool explained_by_marked(const struct fleet_result *result,
				const struct fleet_finding *finding, const bool *marked)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < finding->n; i++)
		n += marked[result->members.items[finding->first + i].conn];
	return finding->n && 2 * n >= finding->n;
}

static void explained_mark(const struct fleet_result *result, const struct fleet_finding *finding,
			   bool *marked, bool mark)
{
	for (uint32_t i = 0; i < finding->n; i++)
		marked[result->members.items[finding->first + i].conn] = mark;
}

/* Sets by[i] of the findings that finding `w` explains, whose members are marked. */
static void explained_look(struct fleet_result *result, uint32_t w, const bool *marked,
			   uint32_t *by)
{
	struct fleet_finding *items = result->findings.items;

	for (uint32_t i = 0; i < result->findings.len; i++) {
		if (items[i].evidence == FLEET_MORE || items[i].class != items[w].class ||
		    by[i] != FLEET_NONE || !explained_by_marked(result, &items[i], marked))
			continue;
		by[i] = w;
		if (items[i].evidence == FLEET_TOGETHER &&
		    items[i].resource == items[w].resource) {
			items[w].rho = items[i].rho;
			items[w].defined = items[i].defined;
		}
	}
}

/* Removes the findings with by[i]; those inside of them are then inside of what explains them. */
static void explained_remove(struct fleet_findings *findings, const uint32_t *by, uint32_t *place)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < findings->len; i++)
		place[i] = by[i] == FLEET_NONE ? n++ : FLEET_NONE;
	for (uint32_t i = 0; i < findings->len; i++) {
		struct fleet_finding *finding = &findings->items[i];
		uint32_t within = finding->within;

		if (within != FLEET_NONE && by[within] != FLEET_NONE)
			within = by[within];
		finding->within = within == FLEET_NONE || within == i ? FLEET_NONE : place[within];
		if (place[i] != FLEET_NONE)
			findings->items[place[i]] = *finding;
	}
	findings->len = n;
}

int fleet_explained(const struct fleet *f, struct fleet_result *result)
{
	const size_t n = result->findings.len;
	uint32_t *by = malloc((2 * n + 1) * sizeof(*by));
	bool *marked = calloc(f->all.len + 1, sizeof(*marked));

	if (by && marked) {
		memset(by, 0xff, n * sizeof(*by)); /* FLEET_NONE */
		for (uint32_t w = 0; w < n; w++) {
			const struct fleet_finding *finding = &result->findings.items[w];

			if (finding->evidence != FLEET_MORE)
				continue;
			explained_mark(result, finding, marked, true);
			explained_look(result, w, marked, by);
			explained_mark(result, finding, marked, false);
		}
		explained_remove(&result->findings, by, by + n);
	}
	free(marked);
	free(by);
	return by && marked ? 0 : -ENOMEM;
}
