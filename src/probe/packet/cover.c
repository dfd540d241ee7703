/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network namespaces and the netfilter links in them. A link keeps its namespace alive: once nobody
 * else has that, it has to go.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/parse.h"
#include "clock/clock.h"
#include "probe/common/netfilter.h"
#include "probe/packet/pkt_internal.h"

/*
 * Looking at all processes takes CPU time: no more than a hundredth of it. While it waits, as for
 * namespaces that are being taken down, nothing else is done: a tenth of the time.
 */
#define FOLLOW_NS NS_PER_S
#define FOLLOW_SHARE 100
#define WAIT_SHARE 10

struct netns_links {
	uint64_t inode;
	int links[NETFILTER_HOOKS][2]; /* by family; -1 = none */
	int err;      /* why there is none, negative; 0: all are there */
	bool told;    /* the stream reports this namespace as not covered */
};

struct netns_set {
	struct netns_links items[HOST_NETNS_MAX];
	size_t n;
	bool lost;        /* packets were lost as not covered, since namespaces were looked for */
	bool useful;      /* the last search found a namespace that was not covered */
	uint64_t look_at; /* when to look for them next */
};

int pkt_cover_open(struct pkt_probe *probe)
{
	probe->netns = calloc(1, sizeof(*probe->netns));
	return probe->netns ? 0 : -ENOMEM;
}

void pkt_cover_free(struct pkt_probe *probe)
{
	free(probe->netns);
}

static struct netns_links *links_of(struct netns_set *set, uint64_t inode)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->items[i].inode == inode)
			return &set->items[i];
	return NULL;
}

static struct netns_links *new_links(struct netns_set *set, uint64_t inode)
{
	struct netns_links *l;

	if (set->n == HOST_NETNS_MAX)
		return NULL;
	l = &set->items[set->n++];
	*l = (struct netns_links){ .inode = inode };
	memset(l->links, -1, sizeof(l->links));
	return l;
}

static void close_links(struct netns_links *l)
{
	for (int i = 0; i < NETFILTER_HOOKS; i++)
		for (int family = 0; family < 2; family++)
			if (l->links[i][family] >= 0)
				close(l->links[i][family]);
}

static int attach_in(struct pkt_probe *probe, const struct hook *h, const struct host_netns *ns,
		     struct netns_links *l)
{
	struct bpf_program *p = pkt_program(probe, h);
	int *links = l->links[h->netfilter], err;

	if (links[0] >= 0) /* for another protocol, by the same program */
		return 0;
	err = netfilter_attach(bpf_program__fd(p), h->netfilter, ns, links);
	if (err)
		l->err = err;
	return err;
}

static bool is_asked(const struct pkt_probe *probe, const struct host_netns *ns)
{
	return !probe->config.netns || ns->inode == probe->config.netns_inode;
}

/* Our own namespace, too: for the self-test's sake. */
int pkt_cover(struct pkt_probe *probe, const struct hook *h)
{
	struct host_netns_vec list = {};
	int err = host_netns_list(NULL, &list), last = -ENOENT, attached = 0;

	for (size_t i = 0; !err && i < list.len; i++) {
		const struct host_netns *ns = &list.items[i];
		struct netns_links *l = links_of(probe->netns, ns->inode);
		int rc = -ENOSPC;

		if (!is_asked(probe, ns) && !ns->own)
			continue;
		if (!l)
			l = new_links(probe->netns, ns->inode);
		if (l)
			rc = attach_in(probe, h, ns, l);
		if (!is_asked(probe, ns))
			continue;
		last = rc;
		attached += !rc;
	}
	host_netns_vec_release(&list);
	return attached ? 0 : last;
}

void pkt_uncover(struct pkt_probe *probe)
{
	struct netns_set *set = probe->netns;

	for (size_t i = 0; set && i < set->n; i++)
		close_links(&set->items[i]);
	if (set)
		set->n = 0;
}

/* ---- during the run ---- */

static void leave_gone(struct netns_set *set, const struct host_netns_vec *list)
{
	size_t kept = 0;

	if (list->truncated)
		return;
	for (size_t i = 0; i < set->n; i++) {
		if (host_netns_find(list, set->items[i].inode))
			set->items[kept++] = set->items[i];
		else
			close_links(&set->items[i]);
	}
	set->n = kept;
}

static struct netns_links *cover_new(struct pkt_probe *probe, const struct host_netns *ns)
{
	struct netns_links *l = new_links(probe->netns, ns->inode);

	for (int i = 0; l && hooks[i].target; i++)
		if (hooks[i].kind == HOOK_NETFILTER && probe->status[i].state == HOOK_BOUND &&
		    attach_in(probe, &hooks[i], ns, l))
			break;
	return l;
}

static void tell(const struct host_netns *ns, int err, struct event_sink *sink, uint64_t now)
{
	char text[sizeof(ns->name) + 96];

	if (err)
		snprintf(text, sizeof(text), "%s [%llu]: %s", ns->name,
			 (unsigned long long)ns->inode, strerror(-err));
	else
		snprintf(text, sizeof(text), "%s [%llu]: made after the start, covered since then",
			 ns->name, (unsigned long long)ns->inode);
	event_put_fact(sink, now, "netns-uncovered", text);
}

static void follow(struct pkt_probe *probe, const struct host_netns *ns, bool lost,
		   struct event_sink *sink, uint64_t now)
{
	struct netns_links *l = links_of(probe->netns, ns->inode);
	bool is_new = !l || l->err, told = l && l->told;

	if (!is_asked(probe, ns))
		return;
	if (l && l->err) { /* what failed may work now */
		close_links(l);
		*l = probe->netns->items[--probe->netns->n];
	}
	if (is_new)
		l = cover_new(probe, ns);
	if (!l)
		return;
	probe->netns->useful |= is_new && !l->err;
	l->told = told;
	if (!lost || told || !is_new)
		return;
	l->told = true;
	tell(ns, l->err, sink, now);
}

/* Nothing is attached: the run has stopped measuring. */
static bool has_links(const struct pkt_probe *probe)
{
	if (probe->detached)
		return false;
	for (int i = 0; hooks[i].target; i++)
		if (hooks[i].kind == HOOK_NETFILTER && probe->status[i].state == HOOK_BOUND)
			return true;
	return false;
}

void pkt_follow(struct pkt_probe *probe, bool lost, struct event_sink *sink, uint64_t now)
{
	struct netns_set *set = probe->netns;
	struct host_netns_vec list = {};
	uint64_t began = clock_now(), wait, cpu = clock_cpu(), pause;

	set->lost |= lost;
	if (!has_links(probe) || (now < set->look_at && !(lost && set->useful)))
		return;
	lost = set->lost;
	set->lost = set->useful = false;
	if (!host_netns_list(NULL, &list)) {
		leave_gone(set, &list);
		for (size_t i = 0; i < list.len; i++)
			follow(probe, &list.items[i], lost, sink, now);
	}
	host_netns_vec_release(&list);
	pause = (clock_cpu() - cpu) * FOLLOW_SHARE;
	wait = (clock_now() - began) * WAIT_SHARE;
	if (pause < wait)
		pause = wait;
	set->look_at = now + (pause > FOLLOW_NS ? pause : FOLLOW_NS);
}
