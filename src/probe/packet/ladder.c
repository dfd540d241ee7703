/* SPDX-License-Identifier: Apache-2.0 */
/* Which hook of a stage's ladder measures it. */
#include <errno.h>
#include <stdio.h>

#include "base/bug.h"
#include "probe/packet/pkt_internal.h"

bool pkt_asked(const struct pkt_probe *probe, uint32_t stages)
{
	return probe->config.stages & stages;
}

bool pkt_sends_udp(const struct pkt_probe *probe, const char **why)
{
	bool all = true;

	*why = NULL;
	for (int i = 0; hooks[i].target; i++) {
		if (!(hooks[i].needs & NEED_UDP_SENDS))
			continue;
		all &= probe->status[i].state == HOOK_BOUND;
		if (probe->status[i].state == HOOK_FAILED && !*why)
			*why = probe->status[i].why;
	}
	return all;
}

static bool is_bound(const struct pkt_probe *probe, int i)
{
	return probe->status[i].state == HOOK_BOUND;
}

bool pkt_has_role(const struct pkt_probe *probe, enum hook_role role)
{
	for (int i = 0; role && hooks[i].target; i++)
		if (hooks[i].role == role && is_bound(probe, i))
			return true;
	return false;
}

static bool has_transport_netfilter(const struct pkt_probe *probe)
{
	for (int i = 0; hooks[i].target; i++)
		if (hooks[i].stage == STAGE_TRANSPORT && hooks[i].kind == HOOK_NETFILTER &&
		    is_bound(probe, i))
			return true;
	return false;
}

static const char *why_others_not_counted(const struct pkt_probe *probe)
{
	const struct pkt_probe_config *c = &probe->config;

	if (!(c->stages & INGRESS_STAGES))
		return "no stage of received packets is measured";
	if (c->port || c->pid || c->cgroup || c->min_queue)
		return "the filter is by socket, and they have none";
	for (int i = 0; hooks[i].target; i++)
		if (hooks[i].needs & NEED_OTHERS && probe->status[i].state == HOOK_FAILED)
			return "netfilter's hook for what is forwarded can't be bound";
	if (!has_transport_netfilter(probe))
		return "it takes the netfilter hook of `transport`, which is not bound";
	return NULL;
}

bool pkt_counts_others(const struct pkt_probe *probe, const char **why)
{
	*why = why_others_not_counted(probe);
	return !*why;
}

bool pkt_gro_asked(const struct pkt_probe *probe)
{
	return (probe->config.stages & GRO_STAGES) == GRO_STAGES;
}

_Static_assert(STAGE_MAX <= 27, "NEED_MIN_QUEUE is no stage");

/* The stages that are asked for, and the NEED_* that hold. */
static uint32_t ladder_needs(const struct pkt_probe *probe)
{
	const struct pkt_probe_config *c = &probe->config;
	uint32_t want = c->stages & (STAGE_BIT(STAGE_MAX) - 1);
	const char *why;

	if (c->min_queue)
		want |= NEED_MIN_QUEUE;
	if (c->pid && pkt_asked(probe, EGRESS_STAGES))
		want |= NEED_PID_SENDS;
	if (pkt_gro_asked(probe))
		want |= NEED_GRO;
	if (pkt_counts_others(probe, &why))
		want |= NEED_OTHERS;
	pkt_sends_udp(probe, &why);
	if (pkt_asked(probe, EGRESS_STAGES & ~STAGE_BIT(STAGE_ACKED)) && !why)
		want |= NEED_UDP_SENDS;
	return want;
}

static bool is_needed(const struct pkt_probe *probe, const struct hook *h)
{
	return (h->needs ? h->needs : h->helps) & ladder_needs(probe);
}

/* Hooks that serve the same: the first that can be bound is. */
static bool same_place(const struct hook *a, const struct hook *b)
{
	return a->stage != STAGE_NONE && a->stage == b->stage && a->protocol == b->protocol;
}

static bool of_backend(const struct pkt_probe *probe, const struct hook *h)
{
	bool function = h->kind == HOOK_FENTRY || h->kind == HOOK_FEXIT;

	return function == (probe->config.backend == BACKEND_FENTRY);
}

/* By --backend; where a stage has hooks of the other kind only, there is nothing to choose. */
static bool left_out(const struct pkt_probe *probe, const struct hook *h)
{
	if (probe->config.backend == BACKEND_AUTO || of_backend(probe, h))
		return false;
	for (int i = 0; hooks[i].target; i++)
		if (same_place(&hooks[i], h) && of_backend(probe, &hooks[i]))
			return true;
	return false;
}

/* A program that needs a kernel function is not loaded in vain: then all would be loaded again. */
static int try_hook(const struct hook *h, struct hook_status *s)
{
	if (h->kind == HOOK_CGROUP_INGRESS && !pkt_can_cast()) {
		snprintf(s->why, sizeof(s->why), "%s %s: this kernel has no bpf_cast_to_kern_ctx()",
			 hook_kind_name(h->kind), h->target);
		return -ENOENT;
	}
	return hook_try(h, s->why, sizeof(s->why));
}

/* Stages that nothing can measure without another one. */
static const struct {
	uint32_t needs, stages;
	uint8_t protocol;
	const char *why;
} dependents[] = {
	{ STAGE_LINK, INGRESS_STAGES, PROTO_ANY, "it takes `link`, which is not bound" },
	/* It says which socket a packet is for; TCP's segments say so up to `transport`. */
	{ STAGE_ENQUEUED, STAGE_BIT(STAGE_RUNNABLE) | STAGE_BIT(STAGE_RUNNING) |
	  STAGE_BIT(STAGE_READ), PROTO_ANY, "it takes `enqueued`, which is not bound" },
	{ STAGE_ENQUEUED, STAGE_BIT(STAGE_TRANSPORT), PROTO_UDP,
	  "it takes `enqueued`, which is not bound" },
	{ STAGE_QDISC, EGRESS_STAGES, PROTO_ANY, "it takes `qdisc`, which is not bound" },
};

static void drop_stages(struct pkt_probe *probe, uint32_t stages, uint8_t protocol,
			const char *why)
{
	for (int i = 0; hooks[i].target; i++) {
		struct hook_status *s = &probe->status[i];

		if (s->state != HOOK_BOUND || !(STAGE_BIT(hooks[i].stage) & stages) ||
		    (protocol != PROTO_ANY && hooks[i].protocol != protocol))
			continue;
		s->state = HOOK_FAILED;
		snprintf(s->why, sizeof(s->why), "%s", why);
	}
}

static void drop_dependents(struct pkt_probe *probe)
{
	for (size_t i = 0; i < ARRAY_LEN(dependents); i++)
		if (!pkt_bound(probe, dependents[i].needs, PROTO_ANY) &&
		    !pkt_bound(probe, dependents[i].needs, PROTO_TCP))
			drop_stages(probe, dependents[i].stages, dependents[i].protocol,
				    dependents[i].why);
}

/* The first hook of each place that has not failed is bound. */
void pkt_choose(struct pkt_probe *probe)
{
	for (int i = 0; hooks[i].target; i++) {
		struct hook_status *s = &probe->status[i];
		bool taken = false;

		for (int j = 0; j < i; j++)
			taken |= same_place(&hooks[i], &hooks[j]) &&
				 probe->status[j].state == HOOK_BOUND;
		if (s->state == HOOK_FAILED)
			continue;
		s->state = HOOK_NOT_NEEDED;
		if (taken || !is_needed(probe, &hooks[i]) || left_out(probe, &hooks[i]))
			continue;
		s->state = try_hook(&hooks[i], s) ? HOOK_FAILED : HOOK_BOUND;
	}
	drop_dependents(probe);
}

bool pkt_bound(const struct pkt_probe *probe, uint32_t stage, uint32_t protocol)
{
	for (int i = 0; hooks[i].target; i++)
		if (hooks[i].stage == stage && probe->status[i].state == HOOK_BOUND &&
		    (hooks[i].protocol == protocol || hooks[i].protocol == PROTO_ANY))
			return true;
	return false;
}

bool pkt_times_transport(const struct pkt_probe *probe)
{
	return pkt_asked(probe, STAGE_BIT(STAGE_TRANSPORT)) &&
	       pkt_bound(probe, STAGE_TRANSPORT, PROTO_TCP);
}

static const char *why_not(const struct pkt_probe *probe, uint32_t stage)
{
	for (int i = 0; hooks[i].target; i++)
		if (hooks[i].stage == stage && probe->status[i].state == HOOK_FAILED)
			return probe->status[i].why;
	return "no hook";
}

/* Without these hooks nothing of that direction can be measured; STAGE_NONE: they are there. */
static uint32_t missing_ingress(const struct pkt_probe *probe)
{
	if (!pkt_bound(probe, STAGE_LINK, PROTO_ANY))
		return STAGE_LINK;
	if (!pkt_bound(probe, STAGE_ENQUEUED, PROTO_ANY) &&
	    !pkt_bound(probe, STAGE_SOCKET, PROTO_TCP))
		return STAGE_ENQUEUED; /* nothing says which socket a packet is for */
	return STAGE_NONE;
}

static uint32_t missing_egress(const struct pkt_probe *probe)
{
	if (!pkt_bound(probe, STAGE_QDISC, PROTO_TCP))
		return STAGE_QDISC;
	if (probe->config.pid && !pkt_bound(probe, STAGE_SEGMENT, PROTO_TCP))
		return STAGE_SEGMENT;
	return STAGE_NONE;
}

/* One direction goes on without the other. */
int pkt_essential(struct pkt_probe *probe, char *why, size_t size)
{
	const bool ingress = pkt_asked(probe, INGRESS_STAGES);
	const bool egress = pkt_asked(probe, EGRESS_STAGES);
	uint32_t in = ingress ? missing_ingress(probe) : STAGE_NONE;
	uint32_t out = egress ? missing_egress(probe) : STAGE_NONE;
	uint32_t missing = STAGE_NONE;

	if (ingress && in != STAGE_NONE && (!egress || out != STAGE_NONE))
		missing = in;
	else if (egress && out != STAGE_NONE && !ingress)
		missing = out;
	if (probe->config.min_queue && (!pkt_bound(probe, STAGE_READ, PROTO_TCP) ||
					!pkt_bound(probe, STAGE_READ, PROTO_UDP)))
		missing = STAGE_READ; /* how long a queue is, is known by who takes out of it */
	if (missing == STAGE_NONE)
		return 0;
	snprintf(why, size, "%s", why_not(probe, missing));
	return -ENOENT;
}
