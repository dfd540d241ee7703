/* SPDX-License-Identifier: Apache-2.0 */
/* --probe: the function or tracepoint of that name, and which of its arguments is a packet. */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe/packet/pkt_internal.h"
#include "bpf/watch.skel.h"

/* The first arguments of a function are in registers; the programs know so many. */
#define ARGS_MAX 6

static bool is_packet(const struct btf *btf, __u32 type)
{
	const struct btf_type *t = btf__type_by_id(btf, type);

	if (!t || !btf_is_ptr(t))
		return false;
	t = btf__type_by_id(btf, btf__resolve_type(btf, t->type)); /* without `const` */
	return t && btf_is_struct(t) &&
	       !strcmp(btf__name_by_offset(btf, t->name_off), "sk_buff");
}

/* From argument `from` of the prototype on; -ENOENT. */
static int packet_of(const struct btf *btf, const struct btf_type *proto, uint32_t from)
{
	const struct btf_param *p = btf_params(proto);

	for (uint32_t i = from; i < btf_vlen(proto) && i - from < ARGS_MAX; i++)
		if (is_packet(btf, p[i].type))
			return i - from;
	return -ENOENT;
}

/* True if there is such a place, whatever it is given. */
static bool add(struct pkt_probe *probe, const struct btf *btf, enum hook_kind kind)
{
	const char *target = probe->config.probe;
	const struct btf_type *proto = hook_prototype(hook_btf_id(kind, target));
	struct function *f;
	int arg;

	if (!proto)
		return false;
	arg = packet_of(btf, proto, kind == HOOK_TP_BTF); /* the first is the tracepoint's own */
	if (arg < 0)
		return true;
	f = &probe->functions[probe->n_functions++];
	f->arg = arg;
	f->hook = (struct hook){
		.stage = STAGE_PROBE, .kind = kind, .target = target,
		.program = kind == HOOK_TP_BTF ? "function_tp" : "function_fentry",
	};
	return true;
}

int pkt_function_find(struct pkt_probe *probe, char *why, size_t size)
{
	const struct btf *btf;
	bool found = false;

	if (!probe->config.probe)
		return 0;
	btf = hook_kernel_btf();
	if (!btf) {
		snprintf(why, size, "--probe: this kernel has no BTF");
		return -ENOENT;
	}
	if (probe->config.backend != BACKEND_TRACEPOINT)
		found |= add(probe, btf, HOOK_FENTRY);
	if (probe->config.backend != BACKEND_FENTRY)
		found |= add(probe, btf, HOOK_TP_BTF);
	if (probe->n_functions)
		return 0;
	if (found)
		snprintf(why, size, "--probe %s: none of its first %d arguments is a packet "
			 "(struct sk_buff *)", probe->config.probe, ARGS_MAX);
	else
		snprintf(why, size, "--probe %s: the kernel itself, without its modules, has no "
			 "such function or tracepoint; `bpftool btf dump file "
			 "/sys/kernel/btf/vmlinux` lists what there is", probe->config.probe);
	return -ENOENT;
}

/* As in a ladder: the first that this kernel takes. */
void pkt_function_choose(struct pkt_probe *probe)
{
	bool taken = false;

	for (uint32_t i = 0; i < probe->n_functions; i++) {
		struct function *f = &probe->functions[i];

		if (f->status.state == HOOK_FAILED)
			continue;
		f->status.state = HOOK_NOT_NEEDED;
		if (taken)
			continue;
		f->status.state = hook_try(&f->hook, f->status.why, sizeof(f->status.why)) ?
				  HOOK_FAILED : HOOK_BOUND;
		taken = f->status.state == HOOK_BOUND;
	}
}

struct function *pkt_function(struct pkt_probe *probe)
{
	for (uint32_t i = 0; i < probe->n_functions; i++)
		if (probe->functions[i].status.state == HOOK_BOUND)
			return &probe->functions[i];
	return NULL;
}
