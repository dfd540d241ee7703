/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rare events that many connections of a resource had at once: a failing switch loses packets of
 * all its hosts within seconds. Too few for a correlation, and no constant rate.
 */
#include "fleet/scan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/sort.h"
#include "fleet/analyses.h"
#include "fleet/finding.h"
#include "stats/multiple.h"

#define SCAN_FINDINGS_MAX 16 /* in each class */

static const enum fleet_class scan_classes[] = { FLEET_FAST_RETRANSMIT, FLEET_TIMEOUT };

/* Connections that are known for less of the window are left out. */
#define KNOWN_PART 0.9
/* An event is rare for a connection with up to so many, or in one of so many intervals. */
#define RARE_MAX 5u
#define RARE_ONE_IN 30u
/* A resource is the same burst's if it has this part of its connections in common with it. */
#define PLACE_PART 0.8
#define PLACE_P_MAX 0.05

struct scan_suspect {
	uint32_t resource;
	enum fleet_kind kind;
	size_t entry, entries;
	struct scan_stretch stretch;
	double p_alone, p;       /* for this resource alone, and adjusted for all */
};

struct scan_suspects VEC_OF(struct scan_suspect);

/* The events of each connection, in the order of connections. */
struct scan_all {
	struct scan_events events;
	size_t *first;           /* each connection's, and behind the last */
	bool *explained;         /* for each event */
};

struct scan_class {
	const struct fleet *f;
	const struct fleet_options *options;
	enum fleet_class class;
	double families;         /* kinds and classes that are tested */
	struct units kinds[FLEET_KINDS];
	struct scan_all all;
	struct scan scan;
	struct scan_events own;  /* those of the resource that is tested */
	struct scan_suspects suspects;
	uint32_t *shifts;        /* for each child of a resource */
	bool *marked;            /* for each connection */
};

/* ---- events ---- */

/*
 * Returns whether the connection is known for most of the window. The events of a group that is
 * known only then would look like a burst: chance shifts them over the whole window.
 */
static bool scan_is_known(const struct scan_class *c, uint32_t conn)
{
	const struct fleet_grid *grid = &c->f->grid;

	return (double)c->f->all.items[conn].known_ns[c->class] >=
	       KNOWN_PART * (double)grid->step_ns * grid->intervals;
}

/*
 * Appends the first intervals of a connection's problems; none if they are not rare. A problem that
 * was there first, or after unknown intervals, began at no known time.
 */
static int scan_push_conn(struct scan_class *c, uint32_t conn)
{
	struct fleet_runs_cursor at = fleet_series_runs(c->f, &c->f->all.items[conn], c->class);
	const uint32_t intervals = c->f->grid.intervals;
	const uint32_t most = intervals / RARE_ONE_IN > RARE_MAX ? intervals / RARE_ONE_IN :
		RARE_MAX;
	const size_t first = c->all.events.len;
	uint32_t none_until = FLEET_NONE; /* end of the last run without the problem */
	int err = 0;

	for (struct fleet_run run; !err && fleet_runs_next(&at, &run);) {
		if (run.cell && run.from == none_until)
			err = vec_push(&c->all.events, (struct scan_event){ .conn = conn,
									    .at = run.from });
		none_until = run.cell ? FLEET_NONE : run.to;
	}
	if (c->all.events.len - first > most)
		c->all.events.len = first;
	return err;
}

static int scan_list_events(struct scan_class *c)
{
	int err = 0;

	for (uint32_t conn = 0; conn < c->f->all.len && !err; conn++) {
		c->all.first[conn] = c->all.events.len;
		if (c->f->all.items[conn].limited_ns[c->class] > 0 && scan_is_known(c, conn))
			err = scan_push_conn(c, conn);
	}
	c->all.first[c->f->all.len] = c->all.events.len;
	c->all.explained = calloc(c->all.events.len + 1, sizeof(*c->all.explained));
	return err ?: c->all.explained ? 0 : -ENOMEM;
}

/* Collects the events of a resource: all, or those that no finding explains. */
static int scan_own_events(struct scan_class *c, enum fleet_kind kind, size_t first, size_t n,
			   bool all)
{
	const struct units *units = &c->kinds[kind];
	int err = 0;

	vec_clear(&c->own);
	for (size_t i = 0; i < n && !err; i++) {
		const uint32_t conn = units->items[first + i].conn;

		for (size_t e = c->all.first[conn]; e < c->all.first[conn + 1] && !err; e++)
			if (all || !c->all.explained[e])
				err = vec_push(&c->own, (struct scan_event){
					units_child(units, conn), conn,
					c->all.events.items[e].at });
	}
	return err;
}

/* ---- tests ---- */

static int scan_test_resource(struct scan_class *c, struct scan_suspect *suspect)
{
	struct rng rng;
	int err = scan_own_events(c, suspect->kind, suspect->entry, suspect->entries, true);

	suspect->p_alone = 1;
	if (err || scan_children(&c->own) < 2)
		return err;
	scan_leave_out(&c->scan, &c->own);
	err = scan_own_events(c, suspect->kind, suspect->entry, suspect->entries, false);
	if (err)
		return err;
	suspect->stretch = scan_strongest(&c->scan, &c->own, NULL);
	/*
	 * The chance of a ratio is about its exponential, for each of the stretches: shifts, which
	 * take time, are only for ratios that may be significant.
	 */
	if (suspect->stretch.llr > log(c->f->grid.intervals)) {
		rng_init(&rng, rng_derive(c->options->seed, suspect->resource));
		suspect->p_alone = scan_chance(&c->scan, &c->own, suspect->stretch.llr, c->shifts,
					       &rng);
	}
	return vec_push(&c->suspects, *suspect);
}

/* A family for each kind and class; all families together keep alpha, without any burst. */
static int scan_adjust(struct scan_suspect *suspects, size_t n, double families)
{
	double *p = calloc(n, sizeof(*p)), *adjusted = calloc(n, sizeof(*adjusted));
	int err = -ENOMEM;

	if (p && adjusted) {
		for (size_t i = 0; i < n; i++)
			p[i] = suspects[i].p_alone;
		err = fdr_adjust(p, n, adjusted);
		for (size_t i = 0; i < n; i++)
			suspects[i].p = fmin(adjusted[i] * families, 1);
	}
	free(p);
	free(adjusted);
	return err;
}

static int scan_test_kind(struct scan_class *c, enum fleet_kind kind)
{
	const struct units *units = &c->kinds[kind];
	const size_t first = c->suspects.len;
	int err = 0;

	vec_for_each(&units->resources, of) {
		struct scan_suspect suspect = { .resource = of->resource, .kind = kind,
						.entry = of->first, .entries = of->n };

		if (!err)
			err = scan_test_resource(c, &suspect);
	}
	if (err || c->suspects.len == first)
		return err;
	return scan_adjust(c->suspects.items + first, c->suspects.len - first, c->families);
}

static bool scan_has_event(const struct scan_class *c, uint32_t conn,
			   const struct scan_stretch *at)
{
	for (size_t e = c->all.first[conn]; e < c->all.first[conn + 1]; e++) {
		const uint32_t k = c->all.events.items[e].at;

		if (!c->all.explained[e] && k >= at->from && k < at->from + at->width)
			return true;
	}
	return false;
}

/* Marks the connections with an event in the suspect's stretch, or counts those that are marked. */
static uint32_t scan_mark_members(struct scan_class *c, const struct scan_suspect *s, bool mark)
{
	const struct unit_entry *entries = c->kinds[s->kind].items + s->entry;
	uint32_t n = 0;

	for (size_t i = 0; i < s->entries; i++) {
		if (!scan_has_event(c, entries[i].conn, &s->stretch))
			continue;
		n += c->marked[entries[i].conn];
		c->marked[entries[i].conn] |= mark;
	}
	return n;
}

/*
 * Returns the place of the burst: that there is one is known; of resources with mostly the same
 * connections in it, the one with the greatest ratio is reported, without a correction for many.
 */
static const struct scan_suspect *scan_place(struct scan_class *c, const struct scan_suspect *best)
{
	const struct scan_suspect *place = best;

	memset(c->marked, 0, c->f->all.len * sizeof(*c->marked));
	scan_mark_members(c, best, true);
	vec_for_each(&c->suspects, s)
		if (s->p_alone <= PLACE_P_MAX && s->stretch.llr > place->stretch.llr &&
		    scan_mark_members(c, s, false) >= PLACE_PART * s->stretch.connections)
			place = s;
	return place;
}

/* Sets the suspect whose stretch is strongest; returns whether one is significant. */
static bool scan_choose(struct scan_class *c, struct scan_suspect *out)
{
	const struct scan_suspect *best = NULL;

	vec_for_each(&c->suspects, s)
		if (s->p <= c->options->alpha &&
		    (!best || s->stretch.llr > best->stretch.llr))
			best = s;
	if (!best)
		return false;
	*out = *scan_place(c, best);
	out->p = best->p;
	return true;
}

static int scan_test(struct scan_class *c)
{
	int err = 0;

	vec_clear(&c->suspects);
	for (unsigned int kind = 0; kind < FLEET_KINDS && !err; kind++)
		err = scan_test_kind(c, kind);
	return err;
}

/* ---- findings ---- */

/* Returns the part of a connection's problem that lies in the stretch, 0 to 1. */
static double scan_part(const struct scan_class *c, uint32_t conn, const struct scan_stretch *at)
{
	struct fleet_runs_cursor cursor =
		fleet_series_runs(c->f, &c->f->all.items[conn], c->class);
	const uint32_t end = at->from + at->width;
	double in = 0, all = 0;

	for (struct fleet_run run; fleet_runs_next(&cursor, &run);) {
		const uint32_t from = run.from > at->from ? run.from : at->from;
		const uint32_t to = run.to < end ? run.to : end;

		all += (double)(run.to - run.from) * run.cell;
		in += from < to ? (double)(to - from) * run.cell : 0;
	}
	return all > 0 ? in / all : 0;
}

/* Marks the connection's events in the stretch; returns whether there are any. */
static bool scan_explain(struct scan_class *c, uint32_t conn, const struct scan_stretch *at)
{
	bool any = false;

	for (size_t e = c->all.first[conn]; e < c->all.first[conn + 1]; e++) {
		const uint32_t k = c->all.events.items[e].at;

		if (c->all.explained[e] || k < at->from || k >= at->from + at->width)
			continue;
		any = c->all.explained[e] = true;
	}
	return any;
}

/* Appends a member: its score is that of an event by its own rate of events. */
static int scan_tell_member(struct scan_class *c, uint32_t conn, const struct scan_stretch *at,
			    struct fleet_finding *finding, struct fleet_members *out)
{
	const double n = (double)(c->all.first[conn + 1] - c->all.first[conn]);
	const double chance = fmin(n * at->width / c->f->grid.intervals, 0.5);

	if (!scan_explain(c, conn, at))
		return 0;
	finding->excess_ns += (uint64_t)(scan_part(c, conn, at) *
					 (double)c->f->all.items[conn].lost_ns[c->class]);
	return vec_push(out, (struct fleet_member){
		conn, (1 - chance) / sqrt(chance * (1 - chance)) });
}

static int scan_member_order(const void *a, const void *b)
{
	const struct fleet_member *x = a, *y = b;

	return sort_order(y->score, x->score) ?: sort_order(x->conn, y->conn);
}

static int scan_tell(struct scan_class *c, const struct scan_suspect *s, struct fleet_result *out)
{
	const struct unit_entry *entries = c->kinds[s->kind].items + s->entry;
	const struct scan_stretch *at = &s->stretch;
	const struct fleet_grid *grid = &c->f->grid;
	struct fleet_finding finding = {
		.evidence = FLEET_AT_ONCE, .class = c->class, .resource = s->resource,
		.share_others = NAN, .rho = NAN, .p = s->p, .within = FLEET_NONE,
		.z = (at->connections - at->expected) / sqrt(at->expected),
		.from_ns = grid->start_ns + at->from * grid->step_ns,
		.to_ns = grid->start_ns + (at->from + at->width) * grid->step_ns,
		.first = (uint32_t)out->members.len,
	};
	int err = 0;

	fleet_finding_describe(c->f, entries, s->entries, NULL, &finding);
	for (size_t i = 0; i < s->entries && !err; i++)
		err = scan_tell_member(c, entries[i].conn, at, &finding, &out->members);
	finding.n = (uint32_t)out->members.len - finding.first;
	if (finding.n)
		qsort(out->members.items + finding.first, finding.n, sizeof(*out->members.items),
		      scan_member_order);
	return err ?: vec_push(&out->findings, finding);
}

/* ---- classes ---- */

static int scan_class_init(struct scan_class *c, const struct fleet *f,
			   const struct fleet_options *options, enum fleet_class class)
{
	const size_t events_max = (size_t)FLEET_CONNECTIONS_MAX * FLEET_INTERVALS_MAX;
	int err = 0;

	*c = (struct scan_class){ .f = f, .options = options, .class = class };
	vec_init(&c->all.events, events_max);
	vec_init(&c->own, events_max);
	vec_init(&c->suspects, FLEET_RESOURCES_MAX);
	for (unsigned int kind = 0; kind < FLEET_KINDS && !err; kind++) {
		err = units_list(f, kind, &c->kinds[kind]);
		c->families += c->kinds[kind].len ? FLEET_EVIDENCES * ARRAY_LEN(scan_classes) : 0;
	}
	c->all.first = calloc(f->all.len + 1, sizeof(*c->all.first));
	c->shifts = calloc(f->all.len + 1, sizeof(*c->shifts));
	c->marked = calloc(f->all.len + 1, sizeof(*c->marked));
	if (err || !c->all.first || !c->shifts || !c->marked)
		return -ENOMEM;
	err = scan_list_events(c);
	/* A resource's children are of its connections: no list is longer than that of all. */
	return err ?: scan_init(&c->scan, f->grid.intervals, c->all.events.len);
}

static void scan_class_release(struct scan_class *c)
{
	for (unsigned int kind = 0; kind < FLEET_KINDS; kind++)
		units_release(&c->kinds[kind]);
	vec_release(&c->all.events);
	vec_release(&c->own);
	vec_release(&c->suspects);
	free(c->all.first);
	free(c->all.explained);
	free(c->shifts);
	free(c->marked);
	scan_release(&c->scan);
}

static int scan_class_run(struct scan_class *c, struct fleet_result *out)
{
	int err = 0;

	/* each connection once: it is of its host and of the remote one */
	scan_add(&c->scan, &c->all.events, false, NULL, &c->scan.fleet);
	for (int i = 0; i < SCAN_FINDINGS_MAX && !err; i++) {
		struct scan_suspect best;

		err = scan_test(c);
		if (!err && !i)
			out->tested += (uint32_t)c->suspects.len;
		if (err || !scan_choose(c, &best))
			break;
		err = scan_tell(c, &best, out);
	}
	return err;
}

int fleet_at_once(const struct fleet *f, const struct fleet_options *options,
		  struct fleet_result *out)
{
	struct scan_class c;
	int err = 0;

	for (size_t i = 0; i < ARRAY_LEN(scan_classes) && !err; i++) {
		err = scan_class_init(&c, f, options, scan_classes[i]);
		if (!err && c.all.events.len)
			err = scan_class_run(&c, out);
		scan_class_release(&c);
	}
	return err;
}
