/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Storage of each socket's records, for bpf/conns.bpf.c.
 *
 * Records lie in socket storage, which the kernel frees with the socket, if this kernel lets
 * iterators visit that storage. Where the kernel refuses the iterators or the storage, records lie
 * in hash tables by the socket's address, and user space runs a program to visit them
 * (bpf/conn_visit.bpf.h). That program follows a list of keys: the cost of a pass depends on the
 * number of connections, not on the table's size.
 */
#ifndef HOSTLAT_BPF_CONN_RECORDS_H
#define HOSTLAT_BPF_CONN_RECORDS_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/abi_calls.h"
#include "bpf/abi_conns.h"

/* records lie in hash tables, not in socket storage */
const volatile bool in_tables = false;

/* entries of a key ring - 1; the number of entries is a power of two */
const volatile __u32 key_ring_mask = 0;

/*
 * Returns true if a key can be added. One sixteenth stays free for CPUs that add keys at the same
 * time, and for walks that append keys again.
 */
static __always_inline bool key_ring_has_room(const volatile struct key_ring *ring)
{
	return ring->tail - ring->head <= key_ring_mask - key_ring_mask / 16;
}

static __always_inline void key_ring_add(void *places, volatile struct key_ring *ring, __u64 key)
{
	__u32 at = __sync_fetch_and_add(&ring->tail, 1) & key_ring_mask;
	volatile __u64 *place = bpf_map_lookup_elem(places, &at);

	if (place)
		*place = key;
}

/* Removes the key at the head from the ring. Returns 0 if another CPU is still writing the key. */
static __always_inline __u64 key_ring_pop(void *places, volatile struct key_ring *ring)
{
	__u32 at = ring->head & key_ring_mask;
	volatile __u64 *place = bpf_map_lookup_elem(places, &at);
	__u64 key = place ? *place : 0;

	if (key) {
		*place = 0;
		ring->head++;
	}
	return key;
}

/*
 * Defines a key ring and its functions. NAME_has_room() returns whether a key can be added;
 * NAME_add_key() adds a key. For walks: NAME_pop_key() removes a key, NAME_n_keys() returns the
 * number of keys.
 */
#define KEYS(name)                                                                       \
	struct {                                                                         \
		__uint(type, BPF_MAP_TYPE_ARRAY);                                        \
		__uint(max_entries, 1);                                                  \
		__type(key, __u32);                                                      \
		__type(value, __u64);                                                    \
	} name##_keys SEC(".maps");                                                      \
	volatile struct key_ring name##_ring = {}; /* user space reads head and tail */  \
                                                                                         \
	static __always_inline bool name##_has_room(void)                                \
	{                                                                                \
		return key_ring_has_room(&name##_ring);                                  \
	}                                                                                \
                                                                                         \
	static __always_inline void name##_add_key(__u64 key)                            \
	{                                                                                \
		key_ring_add(&name##_keys, &name##_ring, key);                           \
	}                                                                                \
                                                                                         \
	static __always_inline __u64 name##_pop_key(void)                                \
	{                                                                                \
		return key_ring_pop(&name##_keys, &name##_ring);                         \
	}                                                                                \
                                                                                         \
	static __always_inline __u32 name##_n_keys(void)                                 \
	{                                                                                \
		return name##_ring.tail - name##_ring.head;                              \
	}

/* Defines empty key functions for a table that is never iterated, and so needs no list of keys. */
#define NO_KEYS(name)                                                                    \
	static __always_inline bool name##_has_room(void)                                \
	{                                                                                \
		return true;                                                             \
	}                                                                                \
                                                                                         \
	static __always_inline void name##_add_key(__u64 key)                            \
	{                                                                                \
	}

/*
 * NAME_find() returns the socket's record or NULL. NAME_make() returns the record, zeroed if new;
 * NAME_make_from(): a copy of `init` if new; NULL: no memory. NAME_drop() returns 0, or -ENOENT if
 * there is no record.
 */
#define RECORDS(name, value_type)                                                        \
	struct {                                                                         \
		__uint(type, BPF_MAP_TYPE_SK_STORAGE);                                   \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                    \
		__type(key, int);                                                        \
		__type(value, value_type);                                               \
	} name SEC(".maps");                                                             \
	struct {                                                                         \
		__uint(type, BPF_MAP_TYPE_HASH);                                         \
		__uint(map_flags, BPF_F_NO_PREALLOC);                                    \
		__uint(max_entries, 1);                                                  \
		__type(key, __u64);                                                      \
		__type(value, value_type);                                               \
	} name##_table SEC(".maps");                                                     \
	static const value_type name##_none = {};                                        \
                                                                                         \
	static __always_inline value_type *name##_find(void *sk)                         \
	{                                                                                \
		__u64 key = (__u64)sk;                                                   \
                                                                                         \
		return in_tables ? bpf_map_lookup_elem(&name##_table, &key) :            \
				   bpf_sk_storage_get(&name, sk, NULL, 0);               \
	}                                                                                \
                                                                                         \
	static __always_inline value_type *name##_make_from(void *sk, value_type *init)  \
	{                                                                                \
		__u64 key = (__u64)sk;                                                   \
                                                                                         \
		if (!in_tables)                                                          \
			return bpf_sk_storage_get(&name, sk, init, BPF_SK_STORAGE_GET_F_CREATE); \
		if (name##_has_room() &&                                                 \
		    !bpf_map_update_elem(&name##_table, &key, init ? init : &name##_none, \
					 BPF_NOEXIST))                                   \
			name##_add_key(key);                                             \
		return bpf_map_lookup_elem(&name##_table, &key);                         \
	}                                                                                \
                                                                                         \
	static __always_inline value_type *name##_make(void *sk)                         \
	{                                                                                \
		return name##_make_from(sk, NULL);                                       \
	}                                                                                \
                                                                                         \
	static __always_inline long name##_drop(void *sk)                                \
	{                                                                                \
		__u64 key = (__u64)sk;                                                   \
                                                                                         \
		return in_tables ? bpf_map_delete_elem(&name##_table, &key) :            \
				   bpf_sk_storage_delete(&name, sk);                     \
	}

KEYS(conns)
RECORDS(conns, struct conn_stats)

/* Records of idle connections: open before hostlat began, and without activity since then. */
KEYS(idle_conns)
RECORDS(idle_conns, struct conn_idle)

/* Histograms of connections with at least one round trip. */
NO_KEYS(rtts)
RECORDS(rtts, struct conn_rtts)

/*
 * Connections of LEVEL_HOT (a problem in the last COOL_NS) and LEVEL_WARM (active), for passes over
 * one level. In hash tables, the value is the number of the last walk that visited the entry.
 */
KEYS(hot)
RECORDS(hot, __u32)
KEYS(warm)
RECORDS(warm, __u32)

/* Log state of connections with logged calls. */
NO_KEYS(logged)
RECORDS(logged, struct call_log)

#endif
