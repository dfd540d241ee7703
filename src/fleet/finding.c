/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/finding.h"

#include <math.h>

struct finding_times {
	double known_ns, limited_ns, lost_ns;
};

static void finding_times_add(struct finding_times *t, const struct fleet_series *s,
			      enum fleet_class class)
{
	t->known_ns += (double)s->known_ns[class];
	t->limited_ns += (double)s->limited_ns[class];
	t->lost_ns += (double)s->lost_ns[class];
}

/* Adds a connection of the resource, in the order of hosts; `host` is that of the one before. */
static void finding_add(const struct fleet *f, const struct fleet_series *s,
			struct fleet_finding *finding, struct finding_times *times, uint32_t *host)
{
	if (!s->known_ns[finding->class])
		return;
	finding->connections++;
	finding->affected += s->limited_ns[finding->class] > 0;
	finding->defined += fleet_series_changes(f, s, finding->class);
	finding->hosts += s->host != *host;
	*host = s->host;
	finding_times_add(times, s, finding->class);
}

/* Sets what follows from the times of the resource's own connections. */
static void finding_set_times(struct fleet_finding *finding, const struct finding_times *own)
{
	finding->share = own->known_ns > 0 ? own->limited_ns / own->known_ns : NAN;
	finding->lost_ns = (uint64_t)own->lost_ns;
}

static struct finding_times finding_count(const struct fleet_groups *groups,
					  struct fleet_finding *finding)
{
	const struct fleet *f = groups->f;
	struct finding_times times = { 0 };
	uint32_t host = FLEET_NONE;
	size_t n;
	const uint32_t *of = fleet_groups_of(groups, finding->resource, &n);

	for (size_t i = 0; i < n; i++) {
		const struct fleet_group *group = &groups->all.items[of[i]];

		for (uint32_t j = 0; j < group->n; j++)
			finding_add(f, &f->all.items[groups->conns[group->first + j]], finding,
				    &times, &host);
	}
	return times;
}

void fleet_finding_fill(const struct fleet_groups *groups, struct fleet_finding *finding)
{
	const struct fleet *f = groups->f;
	struct finding_times own, others = { 0 };

	*finding = (struct fleet_finding){
		.evidence = finding->evidence, .class = finding->class,
		.resource = finding->resource, .rho = NAN, .z = NAN, .p = NAN,
		.within = FLEET_NONE, .from_ns = f->grid.start_ns,
		.to_ns = f->grid.start_ns + f->grid.step_ns * f->grid.intervals,
	};
	own = finding_count(groups, finding);
	vec_for_each(&f->all, s)
		finding_times_add(&others, s, finding->class);
	others.known_ns -= own.known_ns;
	others.limited_ns -= own.limited_ns;
	others.lost_ns -= own.lost_ns;
	finding_set_times(finding, &own);
	finding->share_others = others.known_ns > 0 ? others.limited_ns / others.known_ns : NAN;
	if (others.known_ns > 0)
		finding->excess_ns = (uint64_t)fmax(0, own.lost_ns - others.lost_ns /
						       others.known_ns * own.known_ns);
}

void fleet_finding_describe(const struct fleet *f, const struct unit_entry *entries, size_t n,
			    const bool *left, struct fleet_finding *finding)
{
	struct finding_times times = { 0 };
	uint32_t host = FLEET_NONE;

	for (size_t i = 0; i < n; i++)
		if (!left || left[entries[i].conn])
			finding_add(f, &f->all.items[entries[i].conn], finding, &times, &host);
	finding_set_times(finding, &times);
}

bool fleet_finding_is_everywhere(const struct fleet_finding *finding)
{
	return !isfinite(finding->share_others);
}

const char *fleet_finding_kind(const struct fleet *f, const struct fleet_finding *finding)
{
	return fleet_finding_is_everywhere(finding) ? "fleet" :
	       fleet_kind_name(f->resources.items[finding->resource].kind);
}

const char *fleet_finding_name(const struct fleet *f, const struct fleet_finding *finding)
{
	return fleet_finding_is_everywhere(finding) ? "all connections" :
	       f->resources.items[finding->resource].name;
}
