/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/conns_places.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bug.h"
#include "host/cgroup.h"
#include "probe/hook.h"
#include "bpf/abi_calls.h"
#include "bpf/conns.skel.h"

#define WHY_MAX 160

/* Which programs make a thing known; the first of a place that this kernel takes is loaded. */
struct place {
	const char *program;
	enum hook_kind kind;
	const char *target;
	enum { NEEDED, WANTED, INSTEAD /* of the one before */, WHERE_IT_IS } how;
	uint32_t known;
	const char *what;
};

#define CALLS CONN_KNOWS_CALLS

static const struct place places[] = {
	{ "conn_state", HOOK_TP_BTF, "inet_sock_set_state", NEEDED, 0, "connections" },
	{ "conn_send", HOOK_TP_BTF, "sock_send_length", WANTED, CALLS, "calls" },
	{ "conn_send_fexit", HOOK_FEXIT, "tcp_sendmsg", INSTEAD, CALLS, "calls" },
	{ "conn_sendpage", HOOK_FEXIT, "tcp_sendpage", WHERE_IT_IS, 0, "calls of sendfile" },
	{ "conn_recv", HOOK_TP_BTF, "sock_recv_length", WANTED, CALLS, "calls" },
	{ "conn_recv_fexit", HOOK_FEXIT, "tcp_recvmsg", INSTEAD, CALLS, "calls" },
	{ "conn_retransmit", HOOK_TP_BTF, "tcp_retransmit_skb", WANTED, CONN_KNOWS_LOSSES,
	  "losses" },
	{ "conn_congestion", HOOK_TP_BTF, "tcp_cong_state_set", WANTED, CONN_KNOWS_LOSSES,
	  "losses" },
	{ "conn_timer", HOOK_TP_BTF, "timer_expire_entry", WANTED, CONN_KNOWS_DELACKS,
	  "delayed ACKs" },
};

/* Arguments of a tracepoint, as the kernel's types have them; 0: not known. */
static int arguments_of(const char *tracepoint)
{
	const struct btf *btf = hook_kernel_btf();
	const struct btf_type *t;
	char name[128];
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) : -ENOENT;
	if (id < 0)
		return 0;
	t = btf__type_by_id(btf, btf__type_by_id(btf, (__u32)id)->type); /* a pointer */
	t = btf__type_by_id(btf, t->type);
	return btf_is_func_proto(t) ? btf_vlen(t) - 1 : 0; /* the first is the tracer's own */
}

static bool is_taken(struct conns_bpf *skel, const struct place *place, bool needed)
{
	const struct hook hook = { .kind = place->kind, .target = place->target };
	struct bpf_program *program = bpf_object__find_program_by_name(skel->obj,
								       place->program);
	char why[WHY_MAX];
	bool taken = needed && !hook_try(&hook, why, sizeof(why));

	bpf_program__set_autoload(program, taken);
	return taken;
}

static bool may_load(void)
{
	return host_may(NULL, CAP_SYS_ADMIN) ||
	       (host_may(NULL, CAP_BPF) && host_may(NULL, CAP_PERFMON) &&
		host_may(NULL, CAP_NET_ADMIN));
}

/* What all of its places give is known. */
int conns_places_select(struct conns_bpf *skel, struct conns_told *told, struct strbuf *absent,
			char *why, size_t size)
{
	uint32_t missing = 0;
	bool two;

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		const struct place *place = &places[i];
		bool wanted = place->how != WHERE_IT_IS ||
			      hook_btf_id(place->kind, place->target) > 0;
		bool taken = is_taken(skel, place, wanted);

		if (!wanted)
			continue;
		if (i + 1 < ARRAY_LEN(places) && places[i + 1].how == INSTEAD) {
			bool instead = is_taken(skel, &places[++i], !taken);

			told->calls_below_tls |= instead; /* the only ones with another */
			taken |= instead;
		}
		if (!taken && place->how == NEEDED && !may_load())
			return -EPERM;
		if (!taken && place->how == NEEDED) {
			snprintf(why, size, "this kernel doesn't take programs at %s",
				 place->target);
			return -ENOENT;
		}
		told->known |= place->known;
		if (taken)
			continue;
		missing |= place->known;
		strbuf_printf(absent, "%s: this kernel has no hook for them\n", place->what);
	}
	told->known &= ~missing;
	two = arguments_of("tcp_retransmit_skb") != 3 && told->known & CONN_KNOWS_LOSSES;
	bpf_program__set_autoload(skel->progs.conn_retransmit_two, two);
	if (two)
		bpf_program__set_autoload(skel->progs.conn_retransmit, false);
	return 0;
}

/* ---- for doctor ---- */

struct trial {
	const char *name;
	int err;
	const char *takes;
	const char *found; /* if it is there; else why not */
};

static void add_trial(struct cap_vec *caps, const struct trial *t)
{
	if (!t->err)
		cap_add(caps, "conns", t->name, CAP_YES, NULL, "%s", t->found);
	else if (!may_load())
		cap_add(caps, "conns", t->name, CAP_UNKNOWN,
			"CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN: run as root (sudo)",
			"not permitted to try");
	else
		cap_add(caps, "conns", t->name, CAP_NO, t->takes, "%s",
			*t->found ? t->found : strerror(-t->err));
}

static int add_hook(struct cap_vec *caps, const char *name, enum hook_kind kind,
		    const char *target, const char *takes)
{
	const struct hook hook = { .kind = kind, .target = target };
	char text[WHY_MAX];
	struct trial t = { .name = name, .takes = takes, .found = text };

	t.err = hook_try(&hook, text, sizeof(text));
	if (!t.err)
		snprintf(text, sizeof(text), "%s %s", hook_kind_name(kind), target);
	add_trial(caps, &t);
	return t.err;
}

/* Of two that see the same, one is enough. */
static void add_places(struct cap_vec *caps)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		const struct place *p = &places[i];

		if (p->how == WHERE_IT_IS && hook_btf_id(p->kind, p->target) < 0)
			continue;
		err = add_hook(caps, p->what, p->kind, p->target,
			       p->how == INSTEAD && !err ? NULL : "a kernel with one of its hooks");
	}
}

/* As it is loaded when `conns` starts; nothing is attached. */
static int load_all(char *why, size_t size)
{
	struct conns_bpf *skel = conns_bpf__open();
	struct strbuf absent = STRBUF_INIT(4096);
	struct conns_told told = { 0 };
	int err = skel ? conns_places_select(skel, &told, &absent, why, size) : -errno;

	if (!err)
		err = conns_bpf__load(skel);
	conns_bpf__destroy(skel);
	strbuf_release(&absent);
	return err;
}

/* The kernel tells them to a program of the root's cgroup. */
static int round_trips(char *text, size_t size)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 1 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	char path[HOST_PATH_MAX];
	int fd;

	if (host_cgroup2_mount(NULL, path, sizeof(path))) {
		snprintf(text, size, "there is no cgroup2 file system");
		return -ENOENT;
	}
	snprintf(text, size, "sockops at %.120s", path);
	fd = bpf_prog_load(BPF_PROG_TYPE_SOCK_OPS, "hostlat_try", "Dual BSD/GPL", code,
			   ARRAY_LEN(code), NULL);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

void conns_caps(struct cap_vec *caps)
{
	static const char *const iterators[] = { "bpf_sk_storage_map", "tcp", "task_file" };
	char why[WHY_MAX] = "";
	struct trial all = { .name = "all programs", .found = why,
			     .takes = "Linux 6.1 with BTF; what is missing stands above" };
	struct trial rtt = { .name = "round trips", .found = why, .takes = "a cgroup2 mount" };

	add_places(caps);
	for (size_t i = 0; i < ARRAY_LEN(iterators); i++)
		add_hook(caps, "iterators", HOOK_ITERATOR, iterators[i], "Linux 5.10");
	rtt.err = round_trips(why, sizeof(why));
	add_trial(caps, &rtt);
	why[0] = '\0';
	all.err = load_all(why, sizeof(why));
	if (!all.err)
		snprintf(why, sizeof(why), "loaded, with storage beside sockets");
	add_trial(caps, &all);
}
