/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a reply to CLUSTER SLOTS and as the text of an error. The first byte is the number
 * of replies before it. Each slot of an accepted map is of a known node or of none, bytes that are
 * cut off are no map, and a redirect that is accepted names a slot and a port.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "load/cluster.h"

static struct cluster cluster;

static void check_map(void)
{
	unsigned int from, to;

	BUG_ON(cluster.n_nodes > CLUSTER_NODES_MAX);
	for (unsigned int slot = 0; slot < CLUSTER_SLOTS; slot++)
		BUG_ON(cluster.slots[slot] != CLUSTER_NO_NODE &&
		       cluster.slots[slot] >= cluster.n_nodes);
	for (uint32_t i = 0; i < cluster.n_nodes; i++)
		BUG_ON(!cluster.nodes[i].port || !*cluster.nodes[i].host ||
		       !memchr(cluster.nodes[i].host, '\0', sizeof(cluster.nodes[i].host)));
	if (cluster_find_unserved(&cluster, &from, &to))
		BUG_ON(from > to || to >= CLUSTER_SLOTS);
}

static void read_map(unsigned int skip, const uint8_t *data, size_t size)
{
	struct strbuf why = STRBUF_INIT(4096);
	const int ret = cluster_read_slots(&cluster, skip, "home", data, size, &why);

	BUG_ON(ret > 1 || (ret < 0) != (why.len != 0));
	if (ret == 1)
		check_map();
	strbuf_reset(&why);
	/* Bytes that are no complete reply are none without the last byte either. */
	if (ret == 0 && size)
		BUG_ON(cluster_read_slots(&cluster, skip, "home", data, size - 1, &why) == 1);
	strbuf_release(&why);
}

static void read_redirect(const uint8_t *data, size_t size)
{
	struct cluster_redirect to;
	struct error_text text = { 0 };
	uint16_t node;

	error_text_add(&text, (const char *)data, size);
	if (!cluster_read_redirect(&text, &to))
		return;
	BUG_ON(to.slot >= CLUSTER_SLOTS || !to.port || !memchr(to.host, '\0', sizeof(to.host)));
	cluster.n_nodes = 1;
	node = cluster_redirect_node(&cluster, 0, &to);
	BUG_ON(node && node != CLUSTER_NO_NODE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (!size)
		return 0;
	/* memory of just this size, for the sanitizer */
	copy = malloc(size);
	BUG_ON(!copy);
	memcpy(copy, data, size);
	BUG_ON(cluster_slot(copy, size) >= CLUSTER_SLOTS);
	read_map(copy[0] % 3, copy + 1, size - 1);
	read_redirect(copy + 1, size - 1);
	free(copy);
	return 0;
}
