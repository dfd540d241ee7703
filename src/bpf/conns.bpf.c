/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Programs of `conns`. Hooks count events in a record for each TCP socket, iterators sample states,
 * and one ring buffer carries the records to user space. docs/design/connections.md.
 */
#include "bpf/abi_calls.h"
#include "bpf/abi_conns.h"
#include "bpf/conn_calls.bpf.h"
#include "bpf/conn_owner.bpf.h"
#include "bpf/conn_poll.bpf.h"
#include "bpf/conn_push.bpf.h"
#include "bpf/conn_records.bpf.h"
#include "bpf/conn_state.bpf.h"
#include "bpf/conn_visit.bpf.h"
#include "bpf/kernel/types.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

/* ---- passes ---- */

SEC("iter/bpf_sk_storage_map")
int conn_visit(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	return visit_iterated(ctx);
}

/* Visits idle connections, in a pass over all connections. */
SEC("iter/bpf_sk_storage_map")
int conn_visit_rest(struct bpf_iter__bpf_sk_storage_map *ctx)
{
	return visit_iterated_idle(ctx);
}

SEC("syscall")
int conn_walk(void *unused)
{
	return walk_pass_table();
}

/* ---- begin and end of connections ---- */

static __always_inline void conn_report_end(struct sock *sk, struct tcp_sock *tp,
					    struct conn_idle *q, struct conn_stats *k, __u64 now)
{
	q->flags |= STATS_CLOSED;
	if (!conn_report(sk, sk, tp, q, k, now, true))
		conn_count_lost(LOST_RING);
	conn_unfollow(q);
	calls_end_choice(q);
}

static __always_inline void conn_end(struct sock *sk, struct tcp_sock *tp, __u64 now)
{
	struct conn_stats *k = conn_stats_ready(sk);
	struct conn_idle *q = k ? NULL : idle_conns_find(sk);

	if (!k && !q) /* look again: conn_wake() may just have made the full record */
		k = conn_stats_ready(sk);
	if (k) {
		conn_end_stall(tp, k, now);
		conn_report_end(sk, tp, &k->idle, k, now);
		rtts_drop(sk);
	} else if (q) {
		conn_report_end(sk, tp, q, NULL, now);
		idle_conns_drop(sk);
	}
	conns_drop(sk); /* also drops a record that conn_wake() is just making */
	if (in_tables)
		conn_drop_other_records(sk);
}

/* Counts a new connection. Returns false if the connection is not followed. */
static __always_inline bool conn_count_begin(struct sock *sk)
{
	struct conn_counts *c = &counts[bpf_get_smp_processor_id() & (CONN_CPUS - 1)];

	__sync_fetch_and_add(&c->begun, 1);
	if (!conn_is_unfollowed(sk))
		return true;
	__sync_fetch_and_add(&c->left_out, 1);
	return false;
}

static __always_inline void conn_establish(struct sock *sk, struct tcp_sock *tp, bool accepted)
{
	__u64 now = bpf_ktime_get_ns();
	struct conn_stats *k;

	if (in_tables)
		conn_drop_stale(sk);
	k = conns_make(sk);
	if (!k)
		conn_count_lost(LOST_NO_MEMORY);
	if (!k || k->idle.born)
		return;
	k->idle.born = BEING_MADE;
	conn_begin(sk, tp, &k->idle, now, STATS_BEGAN | (accepted ? STATS_ACCEPTED : 0));
	conn_stats_begin(k, now, tp->data_segs_in);
	if (tp->packets_out || thin_one_in > 1)
		conn_warm_up(sk, k);
	calls_begin_log(sk, sk, &k->idle);
}

static __always_inline void conn_change_state(struct sock *sk, int from, int to)
{
	struct tcp_sock *tp;

	if (to != TCP_ESTABLISHED && to != TCP_CLOSE)
		return;
	if (!following)
		return;
	tp = bpf_skc_to_tcp_sock(sk);
	if (!tp)
		return;
	if (to == TCP_CLOSE) {
		conn_end(sk, tp, bpf_ktime_get_ns());
		conn_timers_forget(sk);
	} else if (conn_count_begin(sk)) {
		conn_establish(sk, tp, from == TCP_SYN_RECV);
	}
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(conn_state, struct sock *sk, int from, int to)
{
	struct timed_run run = run_begin(USE_STATE);

	conn_change_state(sk, from, to);
	run_end(USE_STATE, run);
	return 0;
}

/* ---- calls ---- */

SEC("tp_btf/sock_send_length")
int BPF_PROG(conn_send, struct sock *sk, int ret, int flags)
{
	struct timed_run run = run_begin(USE_SEND);

	if (sk->sk_protocol == IPPROTO_TCP_)
		conn_sent(sk, ret);
	else if (owner_is_mptcp(sk))
		owner_set_mptcp_caller(sk);
	run_end(USE_SEND, run);
	return 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(conn_recv, struct sock *sk, int ret, int flags)
{
	struct timed_run run = run_begin(USE_RECV);

	if (sk->sk_protocol == IPPROTO_TCP_ && !(flags & MSG_PEEK_))
		conn_received(sk, ret);
	else if (owner_is_mptcp(sk))
		owner_set_mptcp_caller(sk);
	run_end(USE_RECV, run);
	return 0;
}

/* Handles send calls on kernels without the tracepoint sock_send_length. */
SEC("fexit/tcp_sendmsg")
int BPF_PROG(conn_send_fexit, struct sock *sk, void *msg, __u64 size, int ret)
{
	struct timed_run run = run_begin(USE_SEND);

	conn_sent(sk, ret);
	run_end(USE_SEND, run);
	return 0;
}

/* Handles sendfile() before 6.5, which neither sock_send_length nor tcp_sendmsg() sees. */
SEC("fexit/tcp_sendpage")
int BPF_PROG(conn_sendpage, struct sock *sk, void *page, int offset, __u64 size, int flags, int ret)
{
	struct timed_run run = run_begin(USE_RARE);

	conn_sent(sk, ret);
	run_end(USE_RARE, run);
	return 0;
}

SEC("fexit/tcp_recvmsg")
int BPF_PROG(conn_recv_fexit, struct sock *sk, void *msg, __u64 len, int flags, int *addr_len,
	     int ret)
{
	struct timed_run run = run_begin(USE_RECV);

	if (!(flags & MSG_PEEK_))
		conn_received(sk, ret);
	run_end(USE_RECV, run);
	return 0;
}

/* ---- losses ---- */

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(conn_retransmit, struct sock *sk, struct sk_buff *skb, int err)
{
	struct timed_run run = run_begin(USE_RARE);

	if (!err)
		conn_count_retransmit(sk, skb);
	run_end(USE_RARE, run);
	return 0;
}

/* Before 6.15 the tracepoint has two arguments, and fires only for segments that were sent. */
SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(conn_retransmit_two, struct sock *sk, struct sk_buff *skb)
{
	struct timed_run run = run_begin(USE_RARE);

	conn_count_retransmit(sk, skb);
	run_end(USE_RARE, run);
	return 0;
}

static __always_inline void conn_enter_ca_state(struct sock *sk, __u8 state)
{
	struct tcp_sock *tp = bpf_skc_to_tcp_sock(sk);
	struct conn_stats *k = tp ? conn_stats_get(sk) : NULL;
	__u64 now;

	if (!k || k->idle.ca == state)
		return;
	now = bpf_ktime_get_ns();
	conn_add_times(k, now);
	conn_note_progress(tp, k, now);
	k->idle.ca = state;
	if (state == CA_RECOVERY)
		k->recoveries++;
	if (state == CA_RECOVERY || state == CA_LOSS) {
		if (!k->repair_since)
			k->repair_since = now;
		conn_note_problem(sk, k, now);
	}
	conn_check_repair(k, now);
	conn_mark_changed(k);
}

SEC("tp_btf/tcp_cong_state_set")
int BPF_PROG(conn_congestion, struct sock *sk, __u8 state)
{
	struct timed_run run = run_begin(USE_RARE);

	conn_enter_ca_state(sk, state);
	run_end(USE_RARE, run);
	return 0;
}

/* ---- round trips and timers ---- */

SEC("sockops")
int conn_ops(struct bpf_sock_ops *ops)
{
	struct timed_run run = run_begin(USE_RTT);

	switch (ops->op) {
	case BPF_SOCK_OPS_ACTIVE_ESTABLISHED_CB:
	case BPF_SOCK_OPS_PASSIVE_ESTABLISHED_CB:
		ops_begin(ops);
		break;
	case BPF_SOCK_OPS_RTT_CB:
		ops_count_rtt(ops);
		break;
	case BPF_SOCK_OPS_RTO_CB:
		ops_count_rto(ops);
		break;
	}
	run_end(USE_RTT, run);
	return 1;
}

SEC("tp_btf/timer_expire_entry")
int BPF_PROG(conn_timer, struct timer_list *timer)
{
	struct timed_run run = run_begin(USE_TIMER);
	void *function = timer->function;

	if (function == delack_function && function)
		conn_count_delack(timer);
	else if (function == write_function && function)
		conn_count_probe(timer);
	run_end(USE_TIMER, run);
	return 0;
}

/* ---- connections older than hostlat ---- */

/* this kernel refuses the map `listeners` */
const volatile bool lacks_listeners = false;

/* Listening ports. A connection older than hostlat with a listening local port was accepted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u64); /* network namespace and port */
	__type(value, __u8);
} listeners SEC(".maps");

static __always_inline __u64 listener_key(struct sock_common *skc)
{
	return (__u64)skc->skc_net.net->ns.inum << 32 | skc->skc_num;
}

static __always_inline void listener_add(struct sock_common *skc)
{
	__u64 key = listener_key(skc);
	__u8 one = 1;

	if (!lacks_listeners)
		bpf_map_update_elem(&listeners, &key, &one, BPF_ANY);
}

static __always_inline bool listener_exists(struct sock_common *skc)
{
	__u64 key = listener_key(skc);

	return !lacks_listeners && bpf_map_lookup_elem(&listeners, &key);
}

/* Clears hostlat's flags in a socket when hostlat ends. */
static __always_inline void conn_release_flags(struct sock *sk, struct tcp_sock *tp,
					       const struct conn_idle *q)
{
	if (q && q->flags & (STATS_SET_RTT | STATS_SET_RTO) &&
	    !(pass.follow == PASS_LEAVE_OLD && q->flags & STATS_BEGAN))
		ops_unflag_socket(sk, tp, q->flags);
}

/* Begins to follow the connections of one network namespace that exist when hostlat starts. */
SEC("iter/tcp")
int conn_existing(struct bpf_iter__tcp *ctx)
{
	struct sock_common *skc = ctx->sk_common;
	struct conn_idle it = {}, *q;
	struct tcp_sock *tp;
	struct conn_stats *k;
	struct sock *sk;

	if (!skc)
		return 0;
	tp = bpf_skc_to_tcp_sock(skc);
	if (!tp)
		return 0;
	sk = (struct sock *)tp;
	if (skc->skc_state == TCP_LISTEN) { /* iter/tcp visits listeners first */
		listener_add(skc);
		return 0;
	}
	if (skc->skc_state == TCP_SYN_SENT || skc->skc_state == TCP_SYN_RECV)
		return 0; /* in the handshake: the program conn_state sees its end */
	pass.members++;
	q = conn_idle_get(sk);
	if (pass.follow != PASS_FOLLOW) {
		conn_release_flags(sk, tp, q);
		return 0;
	}
	if (q)
		return 0;
	conn_begin(sk, tp, &it, bpf_ktime_get_ns(), listener_exists(skc) ? STATS_ACCEPTED : 0);
	q = idle_conns_make_from(sk, &it); /* the record is complete when it becomes visible */
	if (!q) {
		conn_count_lost(LOST_NO_MEMORY);
		__sync_fetch_and_add(&members[LEVEL_REST], -1);
		return 0;
	}
	calls_begin_log(sk, sk, q);
	if (calls_of == CALLS_OF_CHOSEN) /* report the connection, so that it can be chosen */
		q->changes++;
	ops_flag_socket(sk, tp, q);
	k = tp->packets_out ? conn_wake(sk, tp->data_segs_in) : NULL;
	if (k)
		conn_warm_up(sk, k);
	pass.reported++;
	return 0;
}

/* Sets the owner of sockets without a known owner, by the open descriptors of processes. */
SEC("iter/task_file")
int conn_owner(struct bpf_iter__task_file *ctx)
{
	struct task_struct *task = ctx->task;
	struct file *file = ctx->file;
	struct conn_idle *q;
	struct socket *socket;
	struct sock *sk;

	if (!task || !file || task->pid != task->tgid)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = socket->sk;
	if (!sk)
		return 0;
	if (owner_is_mptcp(sk)) {
		owner_set_mptcp_holder(sk, task);
		return 0;
	}
	if (sk->sk_protocol != IPPROTO_TCP_)
		return 0;
	q = conn_idle_get(sk);
	if (!q || q->pid)
		return 0;
	q->pid = task->tgid;
	bpf_probe_read_kernel(q->comm, sizeof(q->comm), task->comm);
	q->changes++;
	return 0;
}
