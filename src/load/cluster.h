/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Redis Cluster, client side (redis.io, "Redis cluster specification"): each key belongs to one of
 * 16384 slots, and each slot to a master. The reply to CLUSTER SLOTS is the map; the errors MOVED
 * and ASK name the node to ask instead.
 */
#ifndef HOSTLAT_LOAD_CLUSTER_H
#define HOSTLAT_LOAD_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/strbuf.h"
#include "load/error_text.h"

#define CLUSTER_SLOTS 16384
#define CLUSTER_NODES_MAX 1000 /* most nodes that the specification recommends */
#define CLUSTER_NO_NODE UINT16_MAX

struct cluster_node {
	char host[256];
	uint16_t port;
};

/* The map of slots. The nodes do not change once read; the slots are atomic. */
struct cluster {
	struct cluster_node nodes[CLUSTER_NODES_MAX];
	uint32_t n_nodes;
	/* index in `nodes` of each slot's master; CLUSTER_NO_NODE: served by none */
	uint16_t slots[CLUSTER_SLOTS];
};

/* The content of an error MOVED or ASK. */
struct cluster_redirect {
	bool ask;  /* ASK: for the next request only */
	uint16_t slot;
	uint16_t port;
	char host[ERROR_TEXT_MAX]; /* "": the host of the node that answers */
};

/*
 * Returns the slot of a key: of all of it or, if it has braces with text within, of the text
 * between the first "{" and the next "}" (the hash tag).
 */
uint16_t cluster_slot(const void *key, size_t size);

/*
 * Reads the reply to CLUSTER SLOTS, in RESP2 or RESP3, after `skip` replies of which none may be an
 * error. `home` is the host of nodes whose own is unknown to the server. Returns 1; 0: the reply is
 * not complete; -EPROTO: it violates the protocol; -EREMOTEIO: it is an error; -ENOTCONN: clients
 * cannot reach a node; -E2BIG: too many nodes. `why` gets a sentence after an error, but the
 * server's words after -EREMOTEIO.
 */
int cluster_read_slots(struct cluster *out, unsigned int skip, const char *home, const void *data,
		       size_t size, struct strbuf *why);

/* Finds the first range of slots that no node serves. Returns false if there is none. */
bool cluster_find_unserved(const struct cluster *cluster, unsigned int *from, unsigned int *to);

/* Reads "MOVED SLOT HOST:PORT" or "ASK SLOT HOST:PORT". Returns false for any other text. */
bool cluster_read_redirect(const struct error_text *text, struct cluster_redirect *out);

/*
 * Returns the index of the node that a redirect of node `from` names; CLUSTER_NO_NODE: it is none
 * of the nodes.
 */
uint16_t cluster_redirect_node(const struct cluster *cluster, uint16_t from,
			       const struct cluster_redirect *redirect);

/* The master of a slot, from any thread. */
static inline uint16_t cluster_node_of(const struct cluster *cluster, uint16_t slot)
{
	return __atomic_load_n(&cluster->slots[slot], __ATOMIC_RELAXED);
}

static inline void cluster_move_slot(struct cluster *cluster, uint16_t slot, uint16_t node)
{
	__atomic_store_n(&cluster->slots[slot], node, __ATOMIC_RELAXED);
}

#endif
