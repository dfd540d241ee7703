/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet_toy.h"

#include <stdio.h>
#include <string.h>

#include "base/bug.h"

void toy_init(struct toy *toy)
{
	const struct fleet_grid grid = { TOY_START, TOY_STEP, TOY_INTERVALS };

	memset(toy, 0, sizeof(*toy));
	toy->waiting = 1;
	toy->f = fleet_new(&grid);
	BUG_ON(!toy->f);
	vec_init(&toy->result.findings, 1000);
	vec_init(&toy->result.members, 100000);
}

void toy_release(struct toy *toy)
{
	fleet_free(toy->f);
	vec_release(&toy->result.findings);
	vec_release(&toy->result.members);
}

struct toy toy;

int toy_begin(void **state)
{
	(void)state;
	toy_init(&toy);
	return 0;
}

int toy_end(void **state)
{
	(void)state;
	toy_release(&toy);
	return 0;
}

uint32_t toy_resource(struct toy *toy, enum fleet_kind kind, uint32_t which)
{
	char name[64];
	uint32_t index;

	snprintf(name, sizeof(name), "%s%u", fleet_kind_name(kind), which);
	BUG_ON(fleet_resource(toy->f, kind, name, &index));
	return index;
}

uint32_t toy_connect(struct toy *toy, const struct toy_conn *conn)
{
	const struct { enum fleet_kind kind; uint32_t which; } all[] = {
		{ FLEET_HOST, conn->host }, { FLEET_RACK, conn->rack }, { FLEET_APP, conn->app },
		{ FLEET_LINK, conn->link }, { FLEET_SERVICE, conn->service } };
	uint32_t shares[ARRAY_LEN(all)], index;
	struct fleet_conn add = { .shares = shares, .name = "connection" };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (all[i].which != FLEET_NONE)
			shares[add.n++] = toy_resource(toy, all[i].kind, all[i].which);
	add.host = shares[0];
	BUG_ON(fleet_connection(toy->f, &add, &index));
	return index;
}

uint32_t toy_connect_hosts(struct toy *toy, uint32_t host, uint32_t remote)
{
	const uint32_t shares[] = { toy_resource(toy, FLEET_HOST, host),
				    toy_resource(toy, FLEET_HOST, remote),
				    toy_resource(toy, FLEET_APP, 0) };
	const struct fleet_conn conn = { .host = shares[0], .shares = shares,
					 .n = ARRAY_LEN(shares), .name = "connection" };
	uint32_t index;

	BUG_ON(fleet_connection(toy->f, &conn, &index));
	return index;
}

void toy_read(struct toy *toy, uint32_t conn, uint32_t from, uint32_t to, enum fleet_class class,
	      double share)
{
	struct fleet_reading reading = {
		.from_ns = TOY_START + from * TOY_STEP, .to_ns = TOY_START + to * TOY_STEP,
		.known = 1u << class,
	};

	if (from == to)
		return;
	reading.share[class] = share;
	reading.lost_ns[class] = (uint64_t)(share * (double)((to - from) * TOY_STEP) *
					     toy->waiting);
	BUG_ON(fleet_add(toy->f, conn, &reading));
}

uint32_t toy_add(struct toy *toy, const struct toy_conn *conn, enum fleet_class class, double share)
{
	const uint32_t index = toy_connect(toy, conn);
	const double times = 0.7 + 0.6 * (double)(index * 7919 % 101) / 100;

	toy_read(toy, index, 0, TOY_INTERVALS, class, share * times < 1 ? share * times : 1);
	return index;
}

const struct fleet_finding *toy_only(struct toy *toy, enum fleet_evidence evidence,
				     enum fleet_kind kind, uint32_t which)
{
	const struct fleet_finding *finding = toy->result.findings.items;

	if (toy->result.findings.len != 1 || finding->evidence != evidence ||
	    finding->resource != toy_resource(toy, kind, which))
		return NULL;
	return finding;
}
