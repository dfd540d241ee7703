/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a node of a Redis cluster for the map of slots, before the run. */
#ifndef HOSTLAT_LOAD_CLUSTER_ASK_H
#define HOSTLAT_LOAD_CLUSTER_ASK_H

#include "load/cluster.h"
#include "load/thread.h"

struct cluster_ask {
	const struct load_target *target; /* the node to ask, with resolved addresses */
	const struct sources *sources;
	struct net_tls_context *tls; /* NULL unless the target's protocol has TLS */
	const char *sni;             /* TLS: name to check instead of the target's; NULL: none */
	uint64_t timeout_ns;         /* for each address of the target */
	int stop_fd;                 /* ends the wait when readable; -1: none */
};

/*
 * Reads the map from the first address that accepts a connection. Returns 0 with a map in which all
 * slots are served, to be freed with free(); -EINTR; or -errno with a sentence in `why`.
 */
int cluster_ask(struct cluster **out, const struct cluster_ask *how, struct strbuf *why);

#endif
