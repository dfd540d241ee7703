/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/paper_report.h"

#include "base/bug.h"
#include "fleet/paper.h"
#include "fleet/state.h"

int fleet_paper_report(const struct fleet *f, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "kind", .head = "by the paper" }, { .name = "name", .head = "resource" },
		{ .name = "members", .head = "connections" },
		{ .name = "members_defined", .head = "not constant" },
		{ .name = "acc", .head = "mean correlation" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	struct fleet_paper found;
	int err = fleet_paper(f, FLEET_PAPER_ALPHA, &found);

	vec_for_each(&found, item) {
		const struct fleet_resource *resource = &f->resources.items[item->resource];

		TABLE_ADD(t, value_string(fleet_kind_name(resource->kind)),
			  value_string(resource->name), value_u64(item->connections),
			  value_u64(item->defined), value_number(item->acc));
	}
	object_add(&r->body, "paper", value_table(t));
	vec_release(&found);
	return err;
}
