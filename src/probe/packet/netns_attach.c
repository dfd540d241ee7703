/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Netfilter links in network namespaces. A link keeps its namespace alive and must be closed once
 * nothing else uses the namespace.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "clock/clock.h"
#include "host/netns.h"
#include "probe/common/netfilter.h"
#include "probe/packet/netns_attach.h"
#include "probe/packet/pkt_internal.h"

/*
 * Pause between routine searches for network namespaces: FOLLOW_NS at least, and so long that
 * searches take at most 1/FOLLOW_SHARE of a CPU and 1/WAIT_SHARE of the time. A search looks at all
 * processes and may block, e.g. on namespaces being removed; the probe waits meanwhile.
 */
#define FOLLOW_NS NS_PER_S
#define FOLLOW_SHARE 100
#define WAIT_SHARE 10

struct netns_links {
	uint64_t inode;
	int links[NETFILTER_HOOKS][2]; /* link descriptors by family; -1: none */
	int err;      /* -errno of a failed attachment; 0: none failed */
	bool reported;    /* the stream reports this namespace as not covered */
};

struct netns_set {
	struct netns_links items[HOST_NETNS_MAX];
	size_t n;
	bool lost;        /* packets in namespaces without hooks were lost since the last search */
	bool useful;      /* the last search found a namespace that was not covered */
	uint64_t look_at; /* time of the next search */
};

int pkt_netns_open(struct pkt_probe *probe)
{
	probe->netns = calloc(1, sizeof(*probe->netns));
	return probe->netns ? 0 : -ENOMEM;
}

void pkt_netns_free(struct pkt_probe *probe)
{
	free(probe->netns);
}

static struct netns_links *netns_find_links(struct netns_set *set, uint64_t inode)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->items[i].inode == inode)
			return &set->items[i];
	return NULL;
}

static struct netns_links *netns_add_links(struct netns_set *set, uint64_t inode)
{
	struct netns_links *l;

	if (set->n == HOST_NETNS_MAX)
		return NULL;
	l = &set->items[set->n++];
	*l = (struct netns_links){ .inode = inode };
	memset(l->links, -1, sizeof(l->links));
	return l;
}

static void netns_close_links(struct netns_links *l)
{
	for (int i = 0; i < NETFILTER_HOOKS; i++)
		for (int family = 0; family < 2; family++)
			if (l->links[i][family] >= 0)
				close(l->links[i][family]);
}

static int netns_attach_one(struct pkt_probe *probe, const struct pkt_hook *h,
			    const struct host_netns *ns, struct netns_links *l)
{
	struct bpf_program *p = pkt_find_program(probe, h);
	int *links = l->links[h->netfilter], err;

	if (links[0] >= 0) /* the program is attached already, for another protocol */
		return 0;
	err = netfilter_attach(bpf_program__fd(p), h->netfilter, ns, links);
	if (err)
		l->err = err;
	return err;
}

static bool netns_is_selected(const struct pkt_probe *probe, const struct host_netns *ns)
{
	return !probe->config.netns || ns->inode == probe->config.netns_inode;
}

/* Attaches in hostlat's own namespace, too, if it is not selected: for the self-test. */
int pkt_netns_attach(struct pkt_probe *probe, const struct pkt_hook *h)
{
	struct host_netns_vec list = {};
	int err = host_netns_list(NULL, &list), last = -ENOENT, attached = 0;

	for (size_t i = 0; !err && i < list.len; i++) {
		const struct host_netns *ns = &list.items[i];
		struct netns_links *l = netns_find_links(probe->netns, ns->inode);
		int rc = -ENOSPC;

		if (!netns_is_selected(probe, ns) && !ns->own)
			continue;
		if (!l)
			l = netns_add_links(probe->netns, ns->inode);
		if (l)
			rc = netns_attach_one(probe, h, ns, l);
		if (!netns_is_selected(probe, ns))
			continue;
		last = rc;
		attached += !rc;
	}
	host_netns_vec_release(&list);
	return attached ? 0 : last;
}

void pkt_netns_detach(struct pkt_probe *probe)
{
	struct netns_set *set = probe->netns;

	for (size_t i = 0; set && i < set->n; i++)
		netns_close_links(&set->items[i]);
	if (set)
		set->n = 0;
}

/* ---- during the run ---- */

static void netns_drop_gone(struct netns_set *set, const struct host_netns_vec *list)
{
	size_t n = 0;

	if (list->truncated)
		return;
	for (size_t i = 0; i < set->n; i++) {
		if (host_netns_find(list, set->items[i].inode))
			set->items[n++] = set->items[i];
		else
			netns_close_links(&set->items[i]);
	}
	set->n = n;
}

static struct netns_links *netns_attach_new(struct pkt_probe *probe, const struct host_netns *ns)
{
	struct netns_links *l = netns_add_links(probe->netns, ns->inode);

	for (int i = 0; l && pkt_hooks[i].at.target; i++)
		if (pkt_hooks[i].at.kind == HOOK_NETFILTER &&
		    probe->status[i].state == HOOK_BOUND &&
		    netns_attach_one(probe, &pkt_hooks[i], ns, l))
			break;
	return l;
}

static void netns_put_uncovered(const struct host_netns *ns, int err, struct event_sink *sink,
				uint64_t now)
{
	char text[sizeof(ns->name) + 96];

	if (err)
		snprintf(text, sizeof(text), "%s [%llu]: %s", ns->name,
			 (unsigned long long)ns->inode, strerror(-err));
	else
		snprintf(text, sizeof(text),
			 "%s [%llu]: this network namespace is measured only since hostlat "
			 "attached to it",
			 ns->name, (unsigned long long)ns->inode);
	event_put_fact(sink, now, "netns-uncovered", text);
}

static void netns_follow_one(struct pkt_probe *probe, const struct host_netns *ns, bool lost,
			     struct event_sink *sink, uint64_t now)
{
	struct netns_links *l = netns_find_links(probe->netns, ns->inode);
	bool is_new = !l || l->err, reported = l && l->reported;

	if (!netns_is_selected(probe, ns))
		return;
	if (l && l->err) { /* a failed attachment may succeed now */
		netns_close_links(l);
		*l = probe->netns->items[--probe->netns->n];
	}
	if (is_new)
		l = netns_attach_new(probe, ns);
	if (!l)
		return;
	probe->netns->useful |= is_new && !l->err;
	l->reported = reported;
	if (!lost || reported || !is_new)
		return;
	l->reported = true;
	netns_put_uncovered(ns, l->err, sink, now);
}

/* Returns false once --max-overhead has detached the programs, or if no netfilter hook is bound. */
static bool netns_has_hooks(const struct pkt_probe *probe)
{
	if (probe->detached)
		return false;
	for (int i = 0; pkt_hooks[i].at.target; i++)
		if (pkt_hooks[i].at.kind == HOOK_NETFILTER && probe->status[i].state == HOOK_BOUND)
			return true;
	return false;
}

void pkt_netns_follow(struct pkt_probe *probe, bool lost, struct event_sink *sink, uint64_t now)
{
	struct netns_set *set = probe->netns;
	struct host_netns_vec list = {};
	uint64_t began = clock_now(), wait, cpu = clock_cpu(), pause;

	set->lost |= lost;
	if (!netns_has_hooks(probe) || (now < set->look_at && !(lost && set->useful)))
		return;
	lost = set->lost;
	set->lost = set->useful = false;
	if (!host_netns_list(NULL, &list)) {
		netns_drop_gone(set, &list);
		for (size_t i = 0; i < list.len; i++)
			netns_follow_one(probe, &list.items[i], lost, sink, now);
	}
	host_netns_vec_release(&list);
	pause = (clock_cpu() - cpu) * FOLLOW_SHARE;
	wait = (clock_now() - began) * WAIT_SHARE;
	if (pause < wait)
		pause = wait;
	set->look_at = now + (pause > FOLLOW_NS ? pause : FOLLOW_NS);
}
