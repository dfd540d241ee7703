/* SPDX-License-Identifier: Apache-2.0 */
#include "fleet/coverage.h"

#include "fleet/advice.h"
#include "fleet/state.h"
#include "report/human.h"

#define KNOWN_MIN 0.5

struct fleet_coverage {
	double known_ns[FLEET_CLASSES], all_ns;
	uint64_t connections[FLEET_CLASSES]; /* with known time */
};

static void coverage_add(struct fleet_coverage *c, const struct fleet_series *s)
{
	uint64_t longest = 0;

	for (unsigned int class = 0; class < FLEET_CLASSES; class++) {
		c->known_ns[class] += (double)s->known_ns[class];
		c->connections[class] += s->known_ns[class] > 0;
		if (s->known_ns[class] > longest)
			longest = s->known_ns[class];
	}
	c->all_ns += (double)longest;
}

/* "receiver windows and delayed ACKs" of the problems that are known for too little time. */
static const char *coverage_little(const struct fleet_coverage *c, struct report *r)
{
	const char *text = NULL;
	char buf[HUMAN_MAX];

	for (unsigned int class = 0; class < FLEET_CLASSES; class++) {
		const double share = c->known_ns[class] / c->all_ns;

		if (share < KNOWN_MIN)
			text = report_format(r, "%s%s%s (%s)", text ? text : "", text ? ", " : "",
					     fleet_class_label(class), human_fraction(buf, share));
	}
	return text;
}

void fleet_coverage_report(const struct fleet *f, struct report *r)
{
	static const struct column columns[] = {
		{ .name = "problem" }, { .name = "connections" }, { .name = "share" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));
	struct fleet_coverage c = { 0 };
	const char *little;

	vec_for_each(&f->all, s)
		coverage_add(&c, s);
	for (unsigned int class = 0; class < FLEET_CLASSES; class++)
		TABLE_ADD(t, value_string(fleet_class_name(class)), value_u64(c.connections[class]),
			  c.all_ns > 0 ? value_fraction(c.known_ns[class] / c.all_ns) :
					 value_null());
	object_add(&r->body, "known", value_table(t));
	little = c.all_ns > 0 ? coverage_little(&c, r) : NULL;
	if (little)
		report_finding(r, "Known for less than half of the connections' time, so that they "
				  "can be missed: %s. To do: run `hostlat conns` on one of the "
				  "hosts, which names what is missing there; if it follows some of "
				  "the connections only, give it a larger --cpu-budget.", little);
}
