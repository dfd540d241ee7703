/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the hook of each stage: the first in pkt_hooks[] that this kernel takes. */
#include <errno.h>
#include <stdio.h>

#include "base/bug.h"
#include "probe/common/kernel.h"
#include "probe/packet/hook_select.h"
#include "probe/packet/pkt_internal.h"

bool pkt_stages_selected(const struct pkt_probe *probe, uint32_t stages)
{
	return probe->config.stages & stages;
}

bool pkt_udp_sends_bound(const struct pkt_probe *probe, const char **why)
{
	bool all = true;

	*why = NULL;
	for (int i = 0; pkt_hooks[i].at.target; i++) {
		if (!(pkt_hooks[i].needs & NEED_UDP_SENDS))
			continue;
		all &= probe->status[i].state == HOOK_BOUND;
		if (probe->status[i].state == HOOK_FAILED && !*why)
			*why = probe->status[i].why;
	}
	return all;
}

static bool hook_select_is_bound(const struct pkt_probe *probe, int i)
{
	return probe->status[i].state == HOOK_BOUND;
}

bool pkt_role_is_bound(const struct pkt_probe *probe, enum hook_role role)
{
	for (int i = 0; role && pkt_hooks[i].at.target; i++)
		if (pkt_hooks[i].role == role && hook_select_is_bound(probe, i))
			return true;
	return false;
}

static bool hook_select_has_transport_netfilter(const struct pkt_probe *probe)
{
	for (int i = 0; pkt_hooks[i].at.target; i++)
		if (pkt_hooks[i].stage == STAGE_TRANSPORT &&
		    pkt_hooks[i].at.kind == HOOK_NETFILTER && hook_select_is_bound(probe, i))
			return true;
	return false;
}

static const char *why_others_not_counted(const struct pkt_probe *probe)
{
	const struct pkt_probe_config *c = &probe->config;

	if (!(c->stages & INGRESS_STAGES))
		return "no stage of received packets is measured";
	if (c->port || c->pid || c->cgroup || c->min_queue)
		return "the filter selects sockets, and these packets have none";
	for (int i = 0; pkt_hooks[i].at.target; i++)
		if (pkt_hooks[i].needs & NEED_OTHERS && probe->status[i].state == HOOK_FAILED)
			return "hostlat cannot attach to netfilter's hook for forwarded packets";
	if (!hook_select_has_transport_netfilter(probe))
		return "counting this traffic needs the netfilter hook of stage `transport`";
	return NULL;
}

bool pkt_counts_other_traffic(const struct pkt_probe *probe, const char **why)
{
	*why = why_others_not_counted(probe);
	return !*why;
}

bool pkt_gro_selected(const struct pkt_probe *probe)
{
	return (probe->config.stages & GRO_STAGES) == GRO_STAGES;
}

_Static_assert(STAGE_MAX <= 27, "NEED_MIN_QUEUE is no stage");

/*
 * Returns what needs hooks in this run: a mask of the selected stages, and each condition NEED_* of
 * hooks.h that holds.
 */
static uint32_t hook_select_needs(const struct pkt_probe *probe)
{
	const struct pkt_probe_config *c = &probe->config;
	uint32_t want = c->stages & (STAGE_BIT(STAGE_MAX) - 1);
	const char *why;

	if (c->min_queue)
		want |= NEED_MIN_QUEUE;
	if (c->pid && pkt_stages_selected(probe, EGRESS_STAGES))
		want |= NEED_PID_SENDS;
	if (pkt_gro_selected(probe))
		want |= NEED_GRO;
	if (pkt_counts_other_traffic(probe, &why))
		want |= NEED_OTHERS;
	pkt_udp_sends_bound(probe, &why);
	if (pkt_stages_selected(probe, SENDING_STAGES) && !why)
		want |= NEED_UDP_SENDS;
	return want;
}

static bool hook_select_is_needed(const struct pkt_probe *probe, const struct pkt_hook *h)
{
	return (h->needs ? h->needs : h->helps) & hook_select_needs(probe);
}

/* Returns true if two hooks are alternatives: of one stage and protocol, only one is bound. */
static bool hook_select_same_stage(const struct pkt_hook *a, const struct pkt_hook *b)
{
	return a->stage != STAGE_NONE && a->stage == b->stage && a->protocol == b->protocol;
}

static bool hook_select_is_of_backend(const struct pkt_probe *probe, const struct pkt_hook *h)
{
	bool function = h->at.kind == HOOK_FENTRY || h->at.kind == HOOK_FEXIT;

	return function == (probe->config.backend == BACKEND_FENTRY);
}

/* Returns true if --backend excludes the hook, as its stage has a hook of that backend. */
static bool hook_select_excludes(const struct pkt_probe *probe, const struct pkt_hook *h)
{
	if (probe->config.backend == BACKEND_AUTO || hook_select_is_of_backend(probe, h))
		return false;
	for (int i = 0; pkt_hooks[i].at.target; i++)
		if (hook_select_same_stage(&pkt_hooks[i], h) &&
		    hook_select_is_of_backend(probe, &pkt_hooks[i]))
			return true;
	return false;
}

/*
 * Tries a hook on this kernel. For a cgroup hook, first looks for bpf_cast_to_kern_ctx(), which its
 * program calls: if that failed at loading, all programs would have to be loaded again.
 */
static int hook_select_try(const struct pkt_hook *h, struct hook_status *s)
{
	if (h->at.kind == HOOK_CGROUP_INGRESS && !kernel_can_cast()) {
		snprintf(s->why, sizeof(s->why), "%s %s: this kernel has no bpf_cast_to_kern_ctx()",
			 hook_kind_name(h->at.kind), h->at.target);
		return -ENOENT;
	}
	return hook_try(&h->at, s->why, sizeof(s->why));
}

/* Stages that cannot be measured unless another stage has a hook. */
static const struct {
	uint32_t needs, stages;
	uint8_t protocol;
	const char *why;
} dependents[] = {
	{ STAGE_LINK, INGRESS_STAGES, PROTO_ANY,
	  "this stage needs stage `link`, which has no hook" },
	/* `enqueued` assigns packets to sockets. TCP's stages up to `transport` do not need it. */
	{ STAGE_ENQUEUED, STAGE_BIT(STAGE_RUNNABLE) | STAGE_BIT(STAGE_RUNNING) |
	  STAGE_BIT(STAGE_READ), PROTO_ANY,
	  "this stage needs stage `enqueued`, which has no hook" },
	{ STAGE_ENQUEUED, STAGE_BIT(STAGE_TRANSPORT), PROTO_UDP,
	  "this stage needs stage `enqueued`, which has no hook" },
	{ STAGE_QDISC, EGRESS_STAGES, PROTO_ANY,
	  "this stage needs stage `qdisc`, which has no hook" },
};

static void hook_select_drop_stages(struct pkt_probe *probe, uint32_t stages, uint8_t protocol,
				    const char *why)
{
	for (int i = 0; pkt_hooks[i].at.target; i++) {
		struct hook_status *s = &probe->status[i];

		if (s->state != HOOK_BOUND || !(STAGE_BIT(pkt_hooks[i].stage) & stages) ||
		    (protocol != PROTO_ANY && pkt_hooks[i].protocol != protocol))
			continue;
		s->state = HOOK_FAILED;
		snprintf(s->why, sizeof(s->why), "%s", why);
	}
}

static void hook_select_drop_dependents(struct pkt_probe *probe)
{
	for (size_t i = 0; i < ARRAY_LEN(dependents); i++)
		if (!pkt_stage_is_bound(probe, dependents[i].needs, PROTO_ANY) &&
		    !pkt_stage_is_bound(probe, dependents[i].needs, PROTO_TCP))
			hook_select_drop_stages(probe, dependents[i].stages, dependents[i].protocol,
						dependents[i].why);
}

void pkt_hooks_select(struct pkt_probe *probe)
{
	for (int i = 0; pkt_hooks[i].at.target; i++) {
		struct hook_status *s = &probe->status[i];
		bool taken = false;

		for (int j = 0; j < i; j++)
			taken |= hook_select_same_stage(&pkt_hooks[i], &pkt_hooks[j]) &&
				 probe->status[j].state == HOOK_BOUND;
		if (s->state == HOOK_FAILED)
			continue;
		s->state = HOOK_NOT_NEEDED;
		if (taken || !hook_select_is_needed(probe, &pkt_hooks[i]) ||
		    hook_select_excludes(probe, &pkt_hooks[i]))
			continue;
		s->state = hook_select_try(&pkt_hooks[i], s) ? HOOK_FAILED : HOOK_BOUND;
	}
	hook_select_drop_dependents(probe);
}

bool pkt_stage_is_bound(const struct pkt_probe *probe, uint32_t stage, uint32_t protocol)
{
	for (int i = 0; pkt_hooks[i].at.target; i++)
		if (pkt_hooks[i].stage == stage && probe->status[i].state == HOOK_BOUND &&
		    (pkt_hooks[i].protocol == protocol || pkt_hooks[i].protocol == PROTO_ANY))
			return true;
	return false;
}

bool pkt_times_transport(const struct pkt_probe *probe)
{
	return pkt_stages_selected(probe, STAGE_BIT(STAGE_TRANSPORT)) &&
	       pkt_stage_is_bound(probe, STAGE_TRANSPORT, PROTO_TCP);
}

static const char *hook_select_why_failed(const struct pkt_probe *probe, uint32_t stage)
{
	for (int i = 0; pkt_hooks[i].at.target; i++)
		if (pkt_hooks[i].stage == stage && probe->status[i].state == HOOK_FAILED)
			return probe->status[i].why;
	return "no hook";
}

/* Returns the ingress stage whose missing hook prevents all measurement, or STAGE_NONE. */
static uint32_t hook_select_missing_ingress(const struct pkt_probe *probe)
{
	if (!pkt_stage_is_bound(probe, STAGE_LINK, PROTO_ANY))
		return STAGE_LINK;
	if (!pkt_stage_is_bound(probe, STAGE_ENQUEUED, PROTO_ANY) &&
	    !pkt_stage_is_bound(probe, STAGE_SOCKET, PROTO_TCP))
		return STAGE_ENQUEUED; /* no hook assigns packets to sockets */
	return STAGE_NONE;
}

static uint32_t hook_select_missing_egress(const struct pkt_probe *probe)
{
	if (!pkt_stage_is_bound(probe, STAGE_QDISC, PROTO_TCP))
		return STAGE_QDISC;
	if (probe->config.pid && !pkt_stage_is_bound(probe, STAGE_SEGMENT, PROTO_TCP))
		return STAGE_SEGMENT;
	return STAGE_NONE;
}

/*
 * If stages of received and of sent packets are selected, it suffices that one of the two
 * directions can be measured.
 */
int pkt_check_essential(struct pkt_probe *probe, char *why, size_t size)
{
	const bool ingress = pkt_stages_selected(probe, INGRESS_STAGES);
	const bool egress = pkt_stages_selected(probe, EGRESS_STAGES);
	uint32_t in = ingress ? hook_select_missing_ingress(probe) : STAGE_NONE;
	uint32_t out = egress ? hook_select_missing_egress(probe) : STAGE_NONE;
	uint32_t missing = STAGE_NONE;

	if (ingress && in != STAGE_NONE && (!egress || out != STAGE_NONE))
		missing = in;
	else if (egress && out != STAGE_NONE && !ingress)
		missing = out;
	if (probe->config.min_queue && (!pkt_stage_is_bound(probe, STAGE_READ, PROTO_TCP) ||
					!pkt_stage_is_bound(probe, STAGE_READ, PROTO_UDP)))
		missing = STAGE_READ; /* only hooks of reads tell the length of a socket's queue */
	if (missing == STAGE_NONE)
		return 0;
	snprintf(why, size, "%s", hook_select_why_failed(probe, missing));
	return -ENOENT;
}
