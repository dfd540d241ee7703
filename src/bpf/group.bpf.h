/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Groups (--by): finds a packet's group, and the group's rows, i.e. its histograms.
 *
 * Groups lie in a table that is read without a lock. The program that claims an entry writes it
 * once before its state is GROUP_READY; it is valid until user space frees it. Each CPU claims rows
 * as it needs them, so that recording stays plain additions. Packets without an entry in either
 * table go to the rows of all packets, which then hold the overflow. If one program interrupts
 * another's claim, both may make a group or row twice: user space adds them up.
 */
#ifndef HOSTLAT_BPF_GROUP_H
#define HOSTLAT_BPF_GROUP_H

#include "bpf/abi.h"
#include "bpf/kernel/types.h"
#include "bpf/maps.bpf.h"
#include "event/layout.h"

#define BY(key) (by & 1U << (key))

/* 64-bit golden ratio: multiplicative hashing, D. Knuth, TAOCP 3, 6.4. */
#define GOLDEN 0x9e3779b97f4a7c15ULL

union group_words {
	struct group_traits traits;
	__u64 word[GROUP_WORDS];
};

static __always_inline __u32 packet_trait_put(__u32 field, __u32 value)
{
	__u32 mask = trait_mask[field];

	return (value < mask ? value : mask) << trait_shift[field];
}

/* Returns false for veth, whose packets carry the sender's queue number. */
static __always_inline bool iface_has_queues(const struct net_device *dev)
{
	char kind[5] = {};

	if (!dev->rtnl_link_ops)
		return true;
	bpf_probe_read_kernel(kind, sizeof(kind), dev->rtnl_link_ops->kind);
	return kind[0] != 'v' || kind[1] != 'e' || kind[2] != 't' || kind[3] != 'h' || kind[4];
}

/*
 * Returns interface, CPU and queue of a packet (enum packet_trait). The upper half is the
 * interface's network namespace, without which its index is ambiguous.
 */
static __always_inline __u64 packet_traits_of(const struct sk_buff *skb, bool received)
{
	__u64 device = 0;
	__u32 traits = 0;

	if (BY(GROUP_IFINDEX)) {
		traits |= packet_trait_put(TRAIT_IFINDEX, skb->dev->ifindex);
		device = skb->dev->nd_net.net->ns.inum;
	}
	if (BY(GROUP_CPU))
		traits |= packet_trait_put(TRAIT_CPU, bpf_get_smp_processor_id());
	if (BY(GROUP_RXQ) && received && iface_has_queues(skb->dev))
		traits |= packet_trait_put(TRAIT_RXQ, skb->queue_mapping);
	return device << 32 | traits;
}

static __always_inline bool group_is(const struct group_place *p, const union group_words *k)
{
	const __u64 *word = (const __u64 *)&p->traits;

	return p->state == GROUP_READY && word[0] == k->word[0] && word[1] == k->word[1] &&
	       word[2] == k->word[2] && word[3] == k->word[3] && word[4] == k->word[4];
}

static __always_inline bool group_claim(struct group_place *p, const union group_words *k)
{
	if (p->state != GROUP_FREE ||
	    __sync_val_compare_and_swap(&p->state, GROUP_FREE, GROUP_BUSY) != GROUP_FREE)
		return false;
	p->traits = k->traits;
	/* also a memory barrier: other CPUs see `traits` before they see GROUP_READY */
	__sync_val_compare_and_swap(&p->state, GROUP_BUSY, GROUP_READY);
	return true;
}

/*
 * Claims an entry in one of two sets; returns the group's number, or 0. Sets fill from the front,
 * so the first free entry is in the emptier set: the fullest set stays far emptier than with one
 * random set per group.
 */
static __noinline __u32 group_new(const union group_words *k, __u32 a, __u32 b)
{
	struct group_set *x = bpf_map_lookup_elem(&groups, &a);
	struct group_set *y = bpf_map_lookup_elem(&groups, &b);
	__u32 i;

	if (!x || !y || !k)
		return 0;
	for (i = 0; i < GROUP_WAYS; i++) {
		if (group_claim(&x->at[i], k))
			return GROUP_NUMBER(a * GROUP_WAYS + i, x->at[i].generation);
		if (group_claim(&y->at[i], k))
			return GROUP_NUMBER(b * GROUP_WAYS + i, y->at[i].generation);
	}
	return 0;
}

/* Returns the group's number, and makes the group if needed; 0: no entry is free. */
static __noinline __u32 group_find(const union group_words *k)
{
	__u64 hash = 0;
	__u32 at[2], i, j;

	if (!k)
		return 0;
	for (i = 0; i < GROUP_WORDS; i++) {
		hash = (hash ^ k->word[i]) * GOLDEN;
		hash ^= hash >> 32;
	}
	at[0] = hash & (GROUP_SETS - 1);
	at[1] = hash >> 20 & (GROUP_SETS - 1);
	for (i = 0; i < 2; i++) {
		struct group_set *set = bpf_map_lookup_elem(&groups, &at[i]);

		if (!set)
			return 0;
		for (j = 0; j < GROUP_WAYS; j++)
			if (group_is(&set->at[j], k)) {
				if (BY(GROUP_COMM) && !set->at[j].used)
					set->at[j].used = 1;
				return GROUP_NUMBER(at[i] * GROUP_WAYS + j, set->at[j].generation);
			}
	}
	return group_new(k, at[0], at[1]);
}

/* Returns the group of a packet that socket `sk` receives or sends; 0: none, or no --by. */
static __always_inline __u32 group_of(const struct sock *sk, __u64 traits)
{
	union group_words k = {};

	if (!by)
		return 0;
	if (BY(GROUP_CGROUP) && bpf_core_field_exists(sk->sk_cgrp_data))
		k.traits.cgroup = sk->sk_cgrp_data.cgroup->kn->id;
	if (BY(GROUP_NETNS))
		k.traits.netns = sk->__sk_common.skc_net.net->ns.inum;
	if (BY(GROUP_PORT))
		k.traits.port = sk->__sk_common.skc_num;
	k.traits.packet = traits;
	k.traits.device = traits >> 32;
	return group_find(&k);
}

/* Returns the entry of group `number`, or NULL if it was freed meanwhile. */
static __always_inline struct group_place *group_place(__u32 number)
{
	__u32 place = GROUP_PLACE(number), at = place / GROUP_WAYS;
	struct group_set *set = bpf_map_lookup_elem(&groups, &at);
	struct group_place *p;

	if (!set)
		return NULL;
	p = &set->at[place % GROUP_WAYS];
	if (p->state != GROUP_READY || GROUP_NUMBER(place, p->generation) != number)
		return NULL;
	return p;
}

/*
 * Returns the number of the group with the traits of group `number` and the reading thread's name
 * `comm`, made if missing; 0: no entry is free, or group `number` is gone.
 */
static __noinline __u32 group_read(__u32 number, const __u64 *comm)
{
	struct group_place *p = group_place(number);
	union group_words k;

	if (!p || !comm)
		return 0;
	k.traits = p->traits;
	k.traits.read = 1;
	__builtin_memcpy(k.traits.comm, comm, sizeof(k.traits.comm));
	return group_find(&k);
}

static __always_inline bool row_claim(__u64 *at, __u64 key)
{
	return !*at && !__sync_val_compare_and_swap(at, 0, key);
}

/* Claims histograms for `key` in one of two sets, returns their index; ~0: none are free. */
static __noinline __u32 row_new(__u64 key, __u32 a, __u32 b)
{
	struct row_set *x = bpf_map_lookup_elem(&row_keys, &a);
	struct row_set *y = bpf_map_lookup_elem(&row_keys, &b);
	__u32 i;

	if (!x || !y)
		return ~0U;
	for (i = 0; i < ROW_WAYS; i++) {
		if (row_claim(&x->key[i], key))
			return a * ROW_WAYS + i;
		if (row_claim(&y->key[i], key))
			return b * ROW_WAYS + i;
	}
	return ~0U;
}

/* Returns this CPU's histograms `id` (as in ROW_KEY()) of group number `group`; NULL: none free. */
static __noinline struct stage_row *group_row(__u32 group, __u32 id)
{
	__u64 key = ROW_KEY(bpf_get_smp_processor_id(), id, group), hash = key * GOLDEN;
	__u32 at[2], i, j, place;

	at[0] = (hash >> 32) * row_sets >> 32;
	hash = (hash ^ hash >> 32) * GOLDEN;
	at[1] = (hash >> 32) * row_sets >> 32;
	for (i = 0; i < 2; i++) {
		struct row_set *set = bpf_map_lookup_elem(&row_keys, &at[i]);

		if (!set)
			return NULL;
		for (j = 0; j < ROW_WAYS; j++)
			if (set->key[j] == key) {
				place = at[i] * ROW_WAYS + j;
				return bpf_map_lookup_elem(&group_rows, &place);
			}
	}
	place = row_new(key, at[0], at[1]);
	return bpf_map_lookup_elem(&group_rows, &place);
}

#endif
