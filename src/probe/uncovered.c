/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces without our netfilter hook: those that were made after the start. */
#include <stdio.h>

#include "probe/watch_internal.h"

static bool covered(const struct watch_probe *probe, uint64_t inode)
{
	for (size_t i = 0; i < probe->n_netns; i++)
		if (probe->netns[i].inode == inode)
			return true;
	return false;
}

void watch_uncovered(struct watch_probe *probe, struct event_sink *sink, uint64_t now)
{
	struct host_netns_vec list = {};
	char text[sizeof(list.items->name) + 64];

	if (!probe->n_netns || host_netns_list(NULL, &list))
		goto out;
	for (size_t i = 0; i < list.len; i++) {
		const struct host_netns *ns = &list.items[i];

		if (covered(probe, ns->inode) ||
		    host_netns_find(&probe->uncovered, ns->inode) ||
		    (probe->config.netns && probe->config.netns != ns->inode))
			continue;
		snprintf(text, sizeof(text), "%s [%llu]: made after the start", ns->name,
			 (unsigned long long)ns->inode);
		event_put_fact(sink, now, "netns-uncovered", text);
	}
	host_netns_vec_release(&probe->uncovered);
	probe->uncovered = list;
	return;
out:
	host_netns_vec_release(&list);
}
