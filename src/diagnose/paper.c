/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/paper.h"

#include "diagnose/diagnose.h"
#include "diagnose/nesting_state.h"

static uint64_t paper_whole_deviation(uint64_t deviation, uint64_t within)
{
	(void)within;
	return deviation;
}

static bool paper_reported_above(const struct nesting *n, uint32_t node)
{
	while (n->nodes.items[node].parent >= NESTING_ROOTS) {
		node = n->nodes.items[node].parent;
		if (n->work[node].reported)
			return true;
	}
	return false;
}

static void paper_select_outermost(struct nesting *n)
{
	size_t selected = 0;

	vec_for_each(&n->causes, c)
		if (!paper_reported_above(n, c->node))
			n->causes.items[selected++] = *c;
	n->causes.len = selected;
}

const struct nesting_rule paper_nesting = {
	.own = paper_whole_deviation,
	.explained = paper_whole_deviation,
	.select = paper_select_outermost,
};

const struct diagnose_method paper_method = { .nesting = &paper_nesting };
