/* SPDX-License-Identifier: Apache-2.0 */
/* Looks up names for the labels of EV_GROUP (--by). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/cgroup.h"
#include "host/iface.h"
#include "probe/packet/deltas.h"
#include "bpf/watch.skel.h"

#define NAMED_IFACES 64

/* Cached name of an interface, looked up in the snapshot at time `at`. */
struct named_iface {
	uint64_t at;
	uint32_t netns, ifindex, name;
};

struct labels {
	struct host_netns_vec netns;
	uint64_t netns_at; /* time of the snapshot that listed the namespaces */
	struct named_iface ifaces[NAMED_IFACES];
};

int pkt_labels_open(struct pkt_probe *probe)
{
	probe->labels = calloc(1, sizeof(*probe->labels));
	return probe->labels ? 0 : -ENOMEM;
}

void pkt_labels_free(struct pkt_probe *probe)
{
	if (probe->labels)
		host_netns_vec_release(&probe->labels->netns);
	free(probe->labels);
}

static const struct host_netns *label_find_netns(const struct delta_out *o, uint64_t inode)
{
	struct labels *l = o->probe->labels;
	const struct host_netns *ns = host_netns_find(&l->netns, inode);

	if (ns && host_netns_is(ns))
		return ns;
	if (l->netns_at == o->now)
		return NULL;
	l->netns_at = o->now;
	host_netns_vec_release(&l->netns);
	l->netns = (struct host_netns_vec){ 0 };
	if (host_netns_list(NULL, &l->netns))
		return NULL;
	return host_netns_find(&l->netns, inode);
}

/* Writes "eth0", or "eth0@blue" in another namespace. Returns false if the interface is gone. */
static bool label_iface_name(const struct delta_out *o, uint32_t netns, uint32_t ifindex, char *buf,
			     size_t size)
{
	const struct host_netns *ns = label_find_netns(o, netns);
	char name[IFNAMSIZ];

	if (!ns || host_iface_name(ns, ifindex, name))
		return false;
	snprintf(buf, size, "%s%s%s", name, ns->own ? "" : "@", ns->own ? "" : ns->name);
	return true;
}

/* Names are cached per snapshot: a lookup in another namespace needs a thread of its own. */
uint32_t label_iface_id(struct delta_out *o, uint32_t netns, uint32_t ifindex)
{
	const uint32_t place = (netns * 31 + ifindex) % NAMED_IFACES;
	struct named_iface *known = &o->probe->labels->ifaces[place];
	char name[IFNAMSIZ + HOST_LABEL_MAX + 2];

	if (known->at == o->now && known->netns == netns && known->ifindex == ifindex)
		return known->name;
	*known = (struct named_iface){ .at = o->now, .netns = netns, .ifindex = ifindex };
	if (label_iface_name(o, netns, ifindex, name, sizeof(name)))
		known->name = event_dict_intern(o->dict, DICT_IFACE, name, o->sink, o->now);
	return known->name;
}

/* Returns a packet's --by value TRAIT_*; GROUP_UNKNOWN: it had too many bits for its field. */
static uint64_t label_packet_trait(const struct pkt_probe *probe, uint32_t traits, uint32_t field)
{
	uint32_t mask = probe->skel->rodata->trait_mask[field];
	uint32_t value = traits >> probe->skel->rodata->trait_shift[field] & mask;

	return value == mask ? GROUP_UNKNOWN : value;
}

static void label_iface(struct delta_out *o, const struct group_traits *t,
			struct event_label *label)
{
	label->value = label_packet_trait(o->probe, t->packet, TRAIT_IFINDEX);
	if (label->value != GROUP_UNKNOWN)
		label->name = label_iface_id(o, t->device, label->value);
}

static void label_cgroup(struct delta_out *o, const struct group_traits *t,
			 struct event_label *label)
{
	char path[HOST_PATH_MAX];

	label->value = t->cgroup;
	if (!host_cgroup2_path(NULL, t->cgroup, path, sizeof(path)))
		label->name = event_dict_intern(o->dict, DICT_CGROUP, path, o->sink, o->now);
}

static void label_netns(struct delta_out *o, const struct group_traits *t,
			struct event_label *label)
{
	const struct host_netns *ns = label_find_netns(o, t->netns);

	label->value = t->netns;
	if (ns)
		label->name = event_dict_intern(o->dict, DICT_NETNS, ns->name, o->sink, o->now);
}

static void label_comm(struct delta_out *o, const struct group_traits *t, struct event_label *label)
{
	char comm[sizeof(t->comm) + 1] = "";

	label->value = GROUP_UNKNOWN; /* a packet has no reader's name before it is read */
	memcpy(comm, t->comm, sizeof(t->comm));
	if (t->read)
		label->name = event_dict_intern(o->dict, DICT_STRING, comm, o->sink, o->now);
}

static void label_of(struct delta_out *o, const struct group_traits *t, struct event_label *label)
{
	uint64_t queue;

	switch (label->key) {
	case GROUP_CGROUP:
		label_cgroup(o, t, label);
		break;
	case GROUP_NETNS:
		label_netns(o, t, label);
		break;
	case GROUP_IFINDEX:
		label_iface(o, t, label);
		break;
	case GROUP_PORT:
		label->value = t->port;
		break;
	case GROUP_CPU:
		label->value = label_packet_trait(o->probe, t->packet, TRAIT_CPU);
		break;
	case GROUP_RXQ:
		queue = label_packet_trait(o->probe, t->packet, TRAIT_RXQ);
		label->value = queue == GROUP_UNKNOWN || !queue ? GROUP_UNKNOWN : queue - 1;
		break;
	case GROUP_COMM:
		label_comm(o, t, label);
		break;
	}
}

uint32_t label_group(struct delta_out *o, const struct group_traits *traits,
		     struct event_label *labels)
{
	uint32_t n = 0;

	for (uint32_t key = 0; key < GROUP_KEY_MAX; key++) {
		if (!(o->probe->config.by >> key & 1))
			continue;
		labels[n].key = key;
		label_of(o, traits, &labels[n++]);
	}
	return n;
}

bool label_group_again(struct delta_out *o, const struct group_traits *traits,
		       struct event_label *labels, uint32_t n)
{
	bool changed = false;

	for (uint32_t i = 0; i < n; i++) {
		struct event_label now = { .key = labels[i].key };

		if (now.key != GROUP_NETNS && now.key != GROUP_IFINDEX)
			continue;
		label_of(o, traits, &now);
		/* a deleted namespace or interface keeps its last name */
		if (!now.name || now.name == labels[i].name)
			continue;
		labels[i].name = now.name;
		changed = true;
	}
	return changed;
}
