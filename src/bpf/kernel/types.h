/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * The kernel types that the programs read, cut down to the fields used.
 *
 * Every access is relocated against the running kernel's BTF (CO-RE), so only names and types
 * matter here, not order or size. A full vmlinux.h would tie the build to one kernel and cost
 * half a second per compilation.
 */
#ifndef HOSTLAT_BPF_KERNEL_TYPES_H
#define HOSTLAT_BPF_KERNEL_TYPES_H

#include <linux/types.h>
#include <stdbool.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

typedef struct {
	__s64 counter;
} atomic64_t;

typedef struct refcount_struct {
	atomic_t refs;
} refcount_t;

struct ns_common {
	unsigned int inum;
};

struct netns_ipv4 {
	__u8 sysctl_tcp_slow_start_after_idle;
	int sysctl_tcp_wmem[3];
};

struct net {
	struct ns_common ns;
	struct netns_ipv4 ipv4;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct rtnl_link_ops {
	const char *kind;
};

struct rps_map {
	unsigned int len;
};

struct netdev_rx_queue {
	struct rps_map *rps_map;
	void *rps_flow_table;
};

struct net_device {
	struct netdev_rx_queue *_rx;
	unsigned int real_num_rx_queues;
	char name[16];
	int ifindex;
	const struct rtnl_link_ops *rtnl_link_ops;
	possible_net_t nd_net;
};

struct sk_buff_head {
	struct sk_buff *next;
	struct sk_buff *prev;
	__u32 qlen;
};

struct sock;

struct sk_buff {
	struct sk_buff *next;
	struct sk_buff *prev;
	struct net_device *dev;
	struct sock *sk;
	__s64 tstamp;
	char cb[48];
	unsigned int len;
	unsigned int data_len;
	__u8 tstamp_type : 2;
	int skb_iif;
	__be16 protocol;
	__u16 transport_header;
	__u16 network_header;
	unsigned char *head;
	unsigned char *data;
	unsigned int end;
	unsigned int truesize;
	__u16 queue_mapping;
	__u8 pkt_type : 3;
};

#define PF_KTHREAD 0x200000 /* include/linux/sched.h */

struct timespec64 {
	__s64 tv_sec;
	long tv_nsec;
};

struct skb_shared_info {
	unsigned short gso_size;
};

/* 5.18 to 6.10: one bit says that the stamp is the sender's monotonic departure time. */
struct sk_buff___mono {
	__u8 mono_delivery_time : 1;
};

struct tcp_skb_cb {
	__u32 seq;
	__u32 end_seq;
	__u16 tcp_gso_segs;
	__u32 ack_seq;
	__u8 tcp_flags;
};

struct in6_addr {
	union {
		__u8 u6_addr8[16];
	} in6_u;
};

struct sock_common {
	__be32 skc_daddr;
	__be32 skc_rcv_saddr;
	struct in6_addr skc_v6_daddr;
	struct in6_addr skc_v6_rcv_saddr;
	unsigned int skc_hash;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	atomic64_t skc_cookie;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup {
	struct kernfs_node *kn;
	int level; /* depth in the hierarchy; 0: the root */
	struct cgroup *ancestors[]; /* since 6.1, by level */
};

struct cgroup___ids {
	__u64 ancestor_ids[];
};

struct sock_cgroup_data {
	struct cgroup *cgroup;
};

struct socket;

struct sock {
	struct sock_common __sk_common;
	struct socket *sk_socket;
	refcount_t sk_wmem_alloc;
	void *sk_user_data;
	struct sk_buff_head sk_receive_queue;
	struct {
		atomic_t rmem_alloc;
	} sk_backlog;
	int sk_rcvlowat;
	int sk_rcvbuf;
	int sk_sndbuf;
	int sk_wmem_queued;
	__u8 sk_userlocks;
	unsigned long sk_pacing_rate;
	unsigned long sk_max_pacing_rate;
	unsigned long sk_tsq_flags;
	__u16 sk_protocol;
	__u16 sk_type;
	__u8 sk_clockid;
	__u32 sk_pacing_status;
	struct sock_cgroup_data sk_cgrp_data; /* with CONFIG_SOCK_CGROUP_DATA */
};

struct inet_sock {
	__be16 inet_sport;
};

struct timer_list {
	void *function;
};

struct tcp_congestion_ops {
	char name[16];
};

struct tcp_ulp_ops {
	char name[16];
};

struct inet_connection_sock {
	const void *icsk_ulp_ops;
	void *icsk_ulp_data;
	struct timer_list icsk_retransmit_timer;
	struct timer_list icsk_delack_timer;
	__u32 icsk_rto;
	const struct tcp_congestion_ops *icsk_ca_ops;
	__u8 icsk_ca_state : 5;
	__u8 icsk_pending;
	struct {
		__u8 pending;
		__u32 lrcvtime;
	} icsk_ack;
};

struct minmax_sample {
	__u32 v;
};

struct minmax {
	struct minmax_sample s[3];
};

struct tcp_rack {
	__u64 mstamp; /* us: send time of the latest segment that was delivered */
	__u32 rtt_us;
};

struct hrtimer;

struct hrtimer_clock_base {
	struct hrtimer *running;
};

struct hrtimer {
	__s64 _softexpires;
	struct hrtimer_clock_base *base;
	__u8 state;
};

struct tcp_sock {
	struct inet_connection_sock inet_conn;
	__u32 copied_seq;
	__u32 rcv_nxt;
	__u32 write_seq;
	__u32 snd_una;
	__u32 snd_nxt;
	__u32 segs_in;
	__u32 data_segs_in;
	__u32 data_segs_out;
	__u64 bytes_received;
	__u64 bytes_sent;
	__u64 bytes_acked;
	__u64 bytes_retrans;
	__u32 lsndtime;
	__u64 delivered_mstamp;
	__u64 tcp_wstamp_ns;
	__u64 tcp_clock_cache;
	struct minmax rtt_min;
	struct tcp_rack rack;
	__u32 chrono_stat[3];
	__u32 chrono_start;
	__u8 chrono_type : 2;
	__u8 nonagle : 4;
	__u8 is_cwnd_limited : 1;
	__u8 syn_data_acked : 1;
	__u8 bpf_sock_ops_cb_flags;
	__u16 total_rto; /* since 6.7 */
	__u32 packets_out;
	__u32 retrans_out;
	__u32 sacked_out;
	__u32 lost_out;
	__u32 delivered;
	__u32 tlp_high_seq;
	__u32 snd_cwnd;
	__u32 snd_ssthresh;
	__u32 snd_wnd;
	__u32 rcv_wnd;
	__u32 rcv_wup;
	__u32 mss_cache;
	__u32 srtt_us;
	__u32 mdev_us;
	__u32 dsack_dups;
	__u32 rate_delivered;
	__u32 rate_interval_us;
	struct hrtimer pacing_timer;
	bool is_mptcp; /* with CONFIG_MPTCP */
};

/* mptcp_sock and mptcp_subflow_context exist with CONFIG_MPTCP only. */
struct mptcp_sock {
	__u32 token;
};

struct mptcp_subflow_context {
	struct mptcp_sock *conn;
};

struct udp_sock {
	int pending;
	struct sk_buff_head reader_queue;
};

/*
 * Since 6.18 the first CPU that delivers to a socket also queues the datagrams of other CPUs, and
 * calls sk_data_ready() for them.
 */
struct udp_sock___batch {
	void *udp_prod_queue;
};

struct napi_struct {
	struct net_device *dev; /* NULL: polling of a CPU's backlog */
};

enum gro_result {
	GRO_MERGED,
	GRO_MERGED_FREE,
	GRO_HELD,
	GRO_NORMAL,
	GRO_CONSUMED,
};

struct socket {
	unsigned long flags;
	struct sock *sk;
};

struct file {
	void *private_data;
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct thread_info {
	unsigned long flags;
	__u32 status; /* x86 */
};

struct css_set {
	struct cgroup *dfl_cgrp; /* in the default hierarchy, cgroup2 */
};

struct task_struct {
	struct thread_info thread_info;
	struct css_set *cgroups; /* with CONFIG_CGROUPS */
	struct files_struct *files;
	unsigned int flags;
	int pid;
	int tgid;
	struct task_struct *group_leader;
	int wake_cpu;
	__u64 start_time;
	unsigned int in_iowait : 1;
	char comm[16];
};

struct nf_hook_state {
	struct net *net;
};

struct bpf_nf_ctx {
	const struct nf_hook_state *state;
	struct sk_buff *skb;
};

struct seq_file;

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__tcp {
	struct bpf_iter_meta *meta;
	struct sock_common *sk_common;
};

struct bpf_iter__bpf_sk_storage_map {
	struct bpf_iter_meta *meta;
	struct sock *sk;
	void *value;
};

struct bpf_iter__task_file {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
	struct file *file;
};

#pragma clang attribute pop

#endif
