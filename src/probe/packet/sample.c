/* SPDX-License-Identifier: Apache-2.0 */
/* Sampling: --sample, and --max-overhead, which measures fewer packets when needed. */
#include <bpf/libbpf.h>
#include <stdio.h>

#include "probe/packet/pkt_internal.h"
#include "probe/packet/shed.h"
#include "bpf/watch.skel.h"

static struct bpf_program *sample_find_program(const struct pkt_probe *probe,
					       const char *program)
{
	struct bpf_program *p;
	char name[64];

	snprintf(name, sizeof(name), "%s_sampled", program);
	p = pkt_samples(probe) ? bpf_object__find_program_by_name(probe->obj, name) : NULL;
	return p ? p : bpf_object__find_program_by_name(probe->obj, program);
}

struct bpf_program *pkt_find_program(const struct pkt_probe *probe, const struct pkt_hook *hook)
{
	return sample_find_program(probe, pkt_hook_program(hook));
}

struct bpf_program *pkt_find_second_program(const struct pkt_probe *probe,
					    const struct pkt_hook *hook)
{
	return hook->with ? sample_find_program(probe, hook->with) : NULL;
}

void pkt_set_sampling(struct pkt_probe *probe, uint32_t one_in)
{
	probe->one_in = one_in;
	probe->skel->data->sample_below = (uint32_t)((1ULL << 32) / one_in - 1);
}

/* sample_below = 0 samples one packet in 2^32, the lowest rate that can be set. */
void pkt_set_sampling_none(struct pkt_probe *probe)
{
	probe->one_in = 0;
	probe->skel->data->sample_below = 0;
}

bool pkt_shed_load(struct pkt_probe *probe, double cost)
{
	const struct pkt_probe_config *c = &probe->config;
	uint32_t base = c->one_in ? c->one_in : 1, next;

	if (!(c->max_overhead > 0) || probe->detached)
		return probe->detached;
	next = shed_next(probe->one_in, base, cost, c->max_overhead);
	probe->shed_over = next ? 0 : probe->shed_over + 1;
	if (probe->shed_over < SHED_PATIENCE) {
		pkt_set_sampling(probe, next ? next : SHED_MAX);
		return false;
	}
	probe->detached = true;
	return true;
}
