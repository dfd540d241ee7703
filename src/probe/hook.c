/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/hook.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "event/layout.h"
#include "probe/netfilter.h"

static const struct {
	const char *name;
	enum bpf_prog_type type;
	uint32_t attach;
} kinds[] = {
	[HOOK_TP_BTF] = { "tp_btf", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP },
	[HOOK_FENTRY] = { "fentry", BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY },
	[HOOK_FEXIT] = { "fexit", BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT },
	[HOOK_NETFILTER] = { "netfilter", NETFILTER_PROG_TYPE, NETFILTER_ATTACH_TYPE },
	[HOOK_CGROUP_INGRESS] = { "cgroup_skb", BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_INGRESS },
};

const struct hook hooks[] = {
	/* Attached before what remembers sockets and tasks. */
	{ STAGE_NONE, PROTO_TCP, HOOK_TP_BTF, "tcp_destroy_sock", NULL, "destroy_tp", NULL },
	{ STAGE_NONE, PROTO_TCP, HOOK_TP_BTF, "inet_sock_set_state", NULL, "connect_tp", NULL },
	{ STAGE_NONE, PROTO_ANY, HOOK_TP_BTF, "sched_process_free", NULL, "task_end_tp", NULL },
	{ STAGE_LINK, PROTO_ANY, HOOK_TP_BTF, "netif_receive_skb", NULL, "link_tp", NULL },
	{ STAGE_IP, PROTO_ANY, HOOK_NETFILTER, "PRE_ROUTING", NULL, "ip_nf", NULL },
	{ STAGE_TRANSPORT, PROTO_TCP, HOOK_TP_BTF, "tcp_probe", NULL, "tcp_transport_tp", NULL },
	{ STAGE_TRANSPORT, PROTO_UDP, HOOK_NETFILTER, "LOCAL_IN", NULL, "udp_transport_nf", NULL },
	{ STAGE_TRANSPORT, PROTO_UDP, HOOK_CGROUP_INGRESS, "ingress of the root cgroup", NULL,
	  "udp_transport_cgroup", NULL },
	{ STAGE_TRANSPORT, PROTO_UDP, HOOK_FENTRY, "udp_rcv", "udpv6_rcv", "udp_transport_fentry",
	  "udp_transport6_fentry" },
	{ STAGE_ENQUEUED, PROTO_ANY, HOOK_TP_BTF, "sk_data_ready", NULL, "enqueued_tp", NULL },
	{ STAGE_ENQUEUED, PROTO_ANY, HOOK_FENTRY, "sock_def_readable", NULL, "enqueued_fentry",
	  NULL },
	{ STAGE_NONE, PROTO_ANY, HOOK_TP_BTF, "local_timer_entry", NULL, "timer_tp", NULL },
	{ STAGE_RUNNABLE, PROTO_ANY, HOOK_TP_BTF, "sched_waking", NULL, "waking_tp", NULL },
	{ STAGE_RUNNING, PROTO_ANY, HOOK_TP_BTF, "sched_switch", NULL, "switch_tp", NULL },
	{ STAGE_READ, PROTO_TCP, HOOK_TP_BTF, "tcp_rcv_space_adjust", "sock_recv_length",
	  "tcp_copied_tp", "returned_tp" },
	{ STAGE_READ, PROTO_TCP, HOOK_FEXIT, "tcp_recvmsg", NULL, "tcp_returned_fexit", NULL },
	{ STAGE_READ, PROTO_UDP, HOOK_TP_BTF, "sock_recv_length", NULL, "returned_tp", NULL },
	{ STAGE_READ, PROTO_UDP, HOOK_FENTRY, "skb_consume_udp", NULL, "udp_returned_fentry",
	  NULL },
	{ STAGE_NONE, PROTO_ANY, HOOK_TP_BTF, "kfree_skb", NULL, "drop_tp", NULL },
	{ 0, 0, 0, NULL, NULL, NULL, NULL },
};

const char *hook_kind_name(enum hook_kind kind)
{
	return kinds[kind].name;
}

int hook_btf_id(enum hook_kind kind, const char *target)
{
	return libbpf_find_vmlinux_btf_id(target, kinds[kind].attach);
}

/* "return 0" of that kind, loaded; its descriptor or -errno. */
static int load_empty(enum hook_kind kind, int btf_id)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		.expected_attach_type = kinds[kind].attach,
		.attach_btf_id = btf_id);

	return bpf_prog_load(kinds[kind].type, "hostlat_try", "Dual BSD/GPL", code,
			     sizeof(code) / sizeof(code[0]), &opts);
}

static int try_one(enum hook_kind kind, const char *target, char *why, size_t size)
{
	bool by_btf = kinds[kind].type == BPF_PROG_TYPE_TRACING;
	int fd, id = 0;

	if (by_btf) {
		id = hook_btf_id(kind, target);
		if (id < 0) {
			snprintf(why, size, id == -ENOENT || id == -ESRCH ?
				 "this kernel has no %s %s" : "no BTF to find %s %s in",
				 kind == HOOK_TP_BTF ? "tracepoint" : "function", target);
			return id;
		}
	}
	fd = load_empty(kind, id);
	if (fd < 0) {
		snprintf(why, size, "%s %s: refused by this kernel (%s)", kinds[kind].name, target,
			 strerror(-fd));
		return fd;
	}
	close(fd);
	return 0;
}

int hook_try(const struct hook *hook, char *why, size_t size)
{
	int err;

	why[0] = '\0';
	err = try_one(hook->kind, hook->target, why, size);
	if (!err && hook->also)
		err = try_one(hook->kind, hook->also, why, size);
	return err;
}
