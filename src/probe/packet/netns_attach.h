/* SPDX-License-Identifier: Apache-2.0 */
/* Netfilter programs in network namespaces, which come and go during a run. */
#ifndef HOSTLAT_PROBE_NETNS_ATTACH_H
#define HOSTLAT_PROBE_NETNS_ATTACH_H

#include <stdbool.h>
#include <stdint.h>

#include "event/source.h"
#include "probe/packet/hooks.h"

struct pkt_probe;

/* Allocates the list of namespaces with hooks. Returns 0 or -ENOMEM. */
int pkt_netns_open(struct pkt_probe *probe);
void pkt_netns_free(struct pkt_probe *probe);

/*
 * Attaches a netfilter hook's program in every namespace that can be entered and that the filter
 * selects. Returns 0, or -errno if it could be attached in none.
 */
int pkt_netns_attach(struct pkt_probe *probe, const struct pkt_hook *h);
void pkt_netns_detach(struct pkt_probe *probe);

/*
 * Attaches to new namespaces and detaches from removed ones, if a search is due or if packets were
 * `lost` in an uncovered namespace. For `lost` it puts a fact for each such namespace.
 */
void pkt_netns_follow(struct pkt_probe *probe, bool lost, struct event_sink *sink, uint64_t now);

#endif
