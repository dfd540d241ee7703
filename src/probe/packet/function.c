/* SPDX-License-Identifier: Apache-2.0 */
/* --probe: finds the function or tracepoint, and its argument that points to a packet. */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe/packet/hook_select.h"
#include "probe/packet/pkt_internal.h"
#include "bpf/watch.skel.h"

_Static_assert(PKT_PROBE_MAX <= HOOK_TARGET_MAX, "the target of --probe fits into a trial");

/* Number of arguments that the programs can read: functions get these in registers. */
#define ARGS_MAX 6

static bool function_is_packet(const struct btf *btf, __u32 type)
{
	const struct btf_type *t = btf__type_by_id(btf, type);

	if (!t || !btf_is_ptr(t))
		return false;
	t = btf__type_by_id(btf, btf__resolve_type(btf, t->type)); /* skips `const` */
	return t && btf_is_struct(t) &&
	       !strcmp(btf__name_by_offset(btf, t->name_off), "sk_buff");
}

/* Returns the index of the first struct sk_buff * argument, counted from `from`; or -ENOENT. */
static int function_find_packet(const struct btf *btf, const struct btf_type *proto, uint32_t from)
{
	const struct btf_param *p = btf_params(proto);

	for (uint32_t i = from; i < btf_vlen(proto) && i - from < ARGS_MAX; i++)
		if (function_is_packet(btf, p[i].type))
			return i - from;
	return -ENOENT;
}

/* Adds --probe's target as a hook if an argument is a packet. Returns true if it exists. */
static bool function_add_candidate(struct pkt_probe *probe, const struct btf *btf,
				   enum hook_kind kind)
{
	const char *target = probe->config.probe;
	const struct btf_type *proto = hook_prototype(hook_btf_id(kind, target));
	struct function *f;
	int arg;

	if (!proto)
		return false;
	arg = function_find_packet(btf, proto,
				   kind == HOOK_TP_BTF); /* skips a tracepoint's context argument */
	if (arg < 0)
		return true;
	f = &probe->functions[probe->n_functions++];
	f->arg = arg;
	f->hook = (struct pkt_hook){
		.at = { .kind = kind, .target = target }, .stage = STAGE_PROBE,
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
		snprintf(why, size,
			 "--probe needs type information (BTF), which this kernel lacks");
		return -ENOENT;
	}
	if (probe->config.backend != BACKEND_TRACEPOINT)
		found |= function_add_candidate(probe, btf, HOOK_FENTRY);
	if (probe->config.backend != BACKEND_FENTRY)
		found |= function_add_candidate(probe, btf, HOOK_TP_BTF);
	if (probe->n_functions)
		return 0;
	if (found)
		snprintf(why, size, "--probe %s: none of its first %d arguments is a packet "
			 "(struct sk_buff *)", probe->config.probe, ARGS_MAX);
	else
		snprintf(why, size, "--probe %s: the kernel, without its modules, has no function "
			 "or tracepoint of this name (`bpftool btf dump file "
			 "/sys/kernel/btf/vmlinux` lists all)", probe->config.probe);
	return -ENOENT;
}

/*
 * Selects the hook of --probe: the first candidate (function or tracepoint) that this kernel
 * accepts.
 */
void pkt_function_select(struct pkt_probe *probe)
{
	bool taken = false;

	for (uint32_t i = 0; i < probe->n_functions; i++) {
		struct function *f = &probe->functions[i];

		if (f->status.state == HOOK_FAILED)
			continue;
		f->status.state = HOOK_NOT_NEEDED;
		if (taken)
			continue;
		f->status.state = hook_try(&f->hook.at, f->status.why, sizeof(f->status.why)) ?
				  HOOK_FAILED : HOOK_BOUND;
		taken = f->status.state == HOOK_BOUND;
	}
}

struct function *pkt_function_bound(struct pkt_probe *probe)
{
	for (uint32_t i = 0; i < probe->n_functions; i++)
		if (probe->functions[i].status.state == HOOK_BOUND)
			return &probe->functions[i];
	return NULL;
}
