/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* The process that owns a connection, for bpf/conns.bpf.c. */
#ifndef HOSTLAT_BPF_CONN_OWNER_H
#define HOSTLAT_BPF_CONN_OWNER_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/abi_conns.h"
#include "bpf/kernel/types.h"
#include "event/layout.h"

#define IPPROTO_TCP_ 6
#define IPPROTO_MPTCP_ 262

/* Copies the name of the calling process: that of its main thread. */
static __always_inline void owner_copy_comm(char *into)
{
	const __u64 *comm = (const __u64 *)bpf_get_current_task_btf()->group_leader->comm;

	((__u64 *)into)[0] = comm[0];
	((__u64 *)into)[1] = comm[1];
}

static __always_inline void owner_set_caller(struct conn_stats *k)
{
	__u32 pid = bpf_get_current_pid_tgid() >> 32;

	if (k->idle.pid == pid)
		return;
	k->idle.pid = pid;
	owner_copy_comm(k->idle.comm);
}

/* ---- MPTCP: applications call the MPTCP socket, which has a token ---- */

struct mptcp_owner {
	/* aligned, as it is copied as two 64-bit words */
	char comm[EVENT_COMM_LEN] __attribute__((aligned(8)));
	__u32 pid;
	__u32 pad;
};

/* this kernel refuses the map `mptcp_owners` */
const volatile bool lacks_mptcp_owners = false;

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, __u32);
	__type(value, struct mptcp_owner);
} mptcp_owners SEC(".maps");

static __always_inline bool owner_is_mptcp(struct sock *sk)
{
	return !lacks_mptcp_owners && bpf_core_type_exists(struct mptcp_sock) &&
	       sk->sk_protocol == IPPROTO_MPTCP_;
}

static __always_inline void owner_set_mptcp_caller(struct sock *sk)
{
	struct mptcp_sock *msk = (void *)sk;
	__u32 token = BPF_CORE_READ(msk, token);
	struct mptcp_owner it = { .pid = bpf_get_current_pid_tgid() >> 32 };
	struct mptcp_owner *old = bpf_map_lookup_elem(&mptcp_owners, &token);

	if (old && old->pid == it.pid)
		return;
	owner_copy_comm(it.comm);
	bpf_map_update_elem(&mptcp_owners, &token, &it, BPF_ANY);
}

/* Sets an MPTCP socket's owner to a process that holds a descriptor, unless a caller is known. */
static __always_inline void owner_set_mptcp_holder(struct sock *sk, struct task_struct *task)
{
	struct mptcp_sock *msk = (void *)sk;
	__u32 token = BPF_CORE_READ(msk, token);
	struct mptcp_owner it = { .pid = task->tgid };

	bpf_probe_read_kernel(it.comm, sizeof(it.comm), task->comm);
	bpf_map_update_elem(&mptcp_owners, &token, &it, BPF_NOEXIST);
}

/* Copies the MPTCP socket's owner to the record of a subflow. */
static __always_inline void owner_from_mptcp(struct tcp_sock *tp, struct conn_idle *q)
{
	struct mptcp_subflow_context *subflow;
	struct mptcp_owner *it;
	__u32 token;

	if (lacks_mptcp_owners || !bpf_core_type_exists(struct mptcp_sock) || !tp->is_mptcp)
		return;
	subflow = tp->inet_conn.icsk_ulp_data;
	token = BPF_CORE_READ(subflow, conn, token);
	it = bpf_map_lookup_elem(&mptcp_owners, &token);
	if (!it)
		return;
	q->pid = it->pid;
	__builtin_memcpy(q->comm, it->comm, sizeof(q->comm));
}

#endif
