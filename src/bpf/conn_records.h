/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Part of bpf/conns.bpf.c: the records of each socket, and where they lie.
 *
 * A record lies in the storage beside its socket, which the kernel frees with the socket, if this
 * kernel lets iterators visit that storage. Some kernels refuse those iterators, or the storage:
 * there, records lie in hash tables by the socket's address, and a program visits them that user
 * space runs (bpf/conn_visit.h).
 */
#ifndef HOSTLAT_BPF_CONN_RECORDS_H
#define HOSTLAT_BPF_CONN_RECORDS_H

#include "bpf/abi_calls.h"
#include "bpf/abi_conns.h"

/* Records lie in hash tables. */
const volatile bool in_tables = false;

/*
 * NAME_find() returns the socket's record or NULL; NAME_make() creates a zeroed one if there is
 * none, NAME_make_from() a copy of `init`; both return NULL if there is no memory. NAME_drop()
 * returns 0, or -ENOENT if there was none.
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
		bpf_map_update_elem(&name##_table, &key, init ? init : &name##_none,     \
				    BPF_NOEXIST);                                        \
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

RECORDS(kept, struct conn_kept)

/* Small records of connections that were open before and have done nothing since. */
RECORDS(quiet, struct conn_quiet)

/* Of connections that had a round trip measured. */
RECORDS(rtts, struct conn_rtts)

/* Who is in a level: a pass over the level visits these. Members of LEVEL_REST are in neither. */
RECORDS(hot, __u32)
RECORDS(warm, __u32)

/* Of connections whose single calls are logged. */
RECORDS(logged, struct call_log)

#endif
