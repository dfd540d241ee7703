/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/app_counters.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "base/utf8.h"
#include "conns/rules.h"
#include "conns/state.h"

#define SLOTS 1024u
#define NAME_BYTES 4096u
/* An application takes another one's counters if it lost so much more: 5/4 of it, and a second. */
#define HARM_MORE(ns) ((ns) + (ns) / 4 + NS_PER_S)

int app_counters_init(struct app_counters *a, uint32_t named_max)
{
	*a = (struct app_counters){ .named_max = named_max };
	vec_init(&a->apps, APP_COUNTERS_MAX);
	a->slots = calloc(SLOTS, sizeof(*a->slots));
	return a->slots ? 0 : -ENOMEM;
}

static void app_counters_free(struct app_counter *app)
{
	free(app->name);
	free(app->unit);
	free(app->container);
}

void app_counters_release(struct app_counters *a)
{
	vec_for_each(&a->apps, app)
		app_counters_free(app);
	vec_release(&a->apps);
	free(a->slots);
	a->slots = NULL;
}

/* ---- applications by name ---- */

static uint32_t *app_counters_slot(const struct app_counters *a, const char *name)
{
	return &a->slots[hash_bytes(name, strlen(name)) % SLOTS];
}

static void app_counters_link(struct app_counters *a, uint32_t i)
{
	uint32_t *slot = app_counters_slot(a, a->apps.items[i].name);

	a->apps.items[i].next = *slot;
	*slot = i + 1;
}

static bool app_counters_is_gone(const struct app_counters *a, const struct app_counter *app)
{
	return app->seen_ns + APP_COUNTERS_GONE_NS < a->now_ns;
}

/* Drops the applications that are gone and have no counters of their own. */
static void app_counters_sweep(struct app_counters *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->apps.len; i++) {
		struct app_counter *app = &a->apps.items[i];

		if (app->named || app->waiting_ns || !app_counters_is_gone(a, app))
			a->apps.items[n++] = *app;
		else
			app_counters_free(app);
	}
	a->apps.len = n;
	memset(a->slots, 0, SLOTS * sizeof(*a->slots));
	for (uint32_t i = 0; i < n; i++)
		app_counters_link(a, i);
}

/* Copies the name of the unit or, as its label has a blank, of the container. Returns success. */
static bool app_counters_set_owner(struct app_counter *app, const char *unit)
{
	char **owner = unit && strchr(unit, ' ') ? &app->container : &app->unit;

	if (!unit)
		return true;
	free(*owner);
	*owner = strdup(unit);
	return *owner;
}

static struct app_counter *app_counters_new(struct app_counters *a, const char *name, int *err)
{
	struct app_counter app = { .name = strdup(name) };

	if (a->apps.len == a->apps.max)
		app_counters_sweep(a);
	*err = app.name ? vec_push(&a->apps, app) : -ENOMEM;
	if (*err) {
		free(app.name);
		return NULL;
	}
	app_counters_link(a, (uint32_t)a->apps.len - 1);
	return vec_last(&a->apps);
}

/*
 * Returns the counters of the connection's application; NULL for those of "other", or with
 * *err = -ENOMEM.
 */
static struct app_counter *app_counters_find(struct app_counters *a, const struct conn_view *v,
					     const char *name, int *err)
{
	uint32_t at = *app_counters_slot(a, name);
	struct app_counter *app;

	*err = 0;
	if (!strcmp(name, APP_COUNTERS_OTHER))
		return NULL;
	while (at && strcmp(a->apps.items[at - 1].name, name) != 0)
		at = a->apps.items[at - 1].next;
	if (at)
		return &a->apps.items[at - 1];
	app = app_counters_new(a, name, err);
	if (app && words_app(v) && !app_counters_set_owner(app, v->unit))
		*err = -ENOMEM;
	if (*err == -E2BIG)
		*err = 0;
	return *err ? NULL : app;
}

/* Names with bytes that are not UTF-8 are written as their clean form: two such may be one. */
static struct app_counter *app_counters_get(struct app_counters *a, const struct conn_view *v,
					    int *err)
{
	struct strbuf clean = STRBUF_INIT(NAME_BYTES);
	struct app_counter *app;

	utf8_put_clean(&clean, words_app(v) ?: APP_COUNTERS_UNKNOWN);
	app = app_counters_find(a, v, strbuf_str(&clean), err);
	if (clean.error)
		*err = -ENOMEM;
	strbuf_release(&clean);
	return *err ? NULL : app;
}

/* ---- an interval's connections ---- */

static void app_counters_add_events(struct app_counts *counts, const struct event_conn *e)
{
	const struct counter *counter = NULL;

	for (size_t i = 0; (counter = counter_next(counter, COUNTER_OF_EVENTS)); i++) {
		if (counter_is_known(counter, e))
			counts->events[i] += counter_value(counter, e);
		else
			counts->uncounted_ns[i] += e->to - e->from;
	}
}

/* Adds all but the times. Returns the time lost in ns. */
static uint64_t app_counters_add_conn(struct app_counts *counts, struct conn *conn,
				      const struct conn_view *v)
{
	uint64_t lost_ns = 0;

	counts->connections += !conn->counted;
	conn->counted = true;
	app_counters_add_events(counts, v->c);
	for (uint32_t i = 0; i < v->judged.n; i++) {
		if (!rules_counts_lost(&v->found[i]))
			continue;
		counts->lost_ns[v->found[i].class] += v->found[i].lost_ns;
		lost_ns += v->found[i].lost_ns;
	}
	return lost_ns;
}

static void app_counters_add_times(struct app_counts *counts, const struct event_conn *e)
{
	for (unsigned int i = 0; i < WORDS_TIMES; i++)
		counts->limit_ns[i] += words_time(e, i);
	counts->unknown_ns += e->unknown_ns;
}

static int app_counters_add(struct app_counters *a, struct conns *c, uint32_t conn)
{
	struct conn_view_buf room;
	struct app_counter *app;
	struct app_counts *now;
	uint64_t lost_ns;
	int err;

	if (!conns_view(c, CONNS_INTERVAL, conn, &room))
		return 0;
	app = app_counters_get(a, &room.view, &err);
	if (err)
		return err;
	now = app ? &app->now : &a->other;
	lost_ns = app_counters_add_conn(now, &c->all.items[conn], &room.view);
	if (!conn_knows(room.view.c, CONN_KNOWS_TIMES))
		now->unknown_ns += room.view.c->to - room.view.c->from;
	else if (app)
		conn_aggregate_add(&app->times, &room.view);
	else
		app_counters_add_times(now, room.view.c);
	if (app) {
		app->lost_ns += lost_ns;
		app->time_ns += room.view.c->to - room.view.c->from;
		app->seen_ns = a->now_ns;
	}
	return 0;
}

/* ---- times ---- */

/*
 * Counts the application's times. A connection with too few samples has unknown time, which the
 * samples of all these connections divide (conn_aggregate_finish()): those of one interval or, if
 * they are too few as well, of all intervals for up to APP_COUNTERS_WAIT_NS. Time that waits is not
 * counted yet, as a counter cannot be taken back.
 */
static void app_counters_settle(const struct app_counters *a, struct app_counter *app, bool last)
{
	struct conn_aggregate *times = &app->times;
	struct conn_aggregate waiting = { .few = times->few, .few_ns = times->few_ns };
	uint64_t unknown_ns;

	times->sum.unknown_ns += app->waiting_ns;
	unknown_ns = times->sum.unknown_ns;
	app->since_ns = app->waiting_ns ? app->since_ns : a->now_ns;
	conn_aggregate_finish(times);
	last |= times->sum.unknown_ns != unknown_ns ||
		a->now_ns - app->since_ns >= APP_COUNTERS_WAIT_NS;
	app->waiting_ns = last ? 0 : waiting.few_ns;
	times->sum.unknown_ns -= app->waiting_ns;
	app_counters_add_times(&app->now, &times->sum);
	*times = last ? (struct conn_aggregate){ 0 } : waiting;
}

/* ---- which applications have counters of their own ---- */

/* Returns whether `x` has a better right to counters of its own than `y`. */
static bool app_counters_is_worse(const struct app_counter *x, const struct app_counter *y)
{
	if (x->lost_ns != y->lost_ns)
		return x->lost_ns > y->lost_ns;
	if (x->time_ns != y->time_ns)
		return x->time_ns > y->time_ns;
	return strcmp(x->name, y->name) < 0;
}

/* Returns the application that lost most of those seen in this interval without own counters. */
static struct app_counter *app_counters_worst_unnamed(struct app_counters *a)
{
	struct app_counter *worst = NULL;

	vec_for_each(&a->apps, app)
		if (!app->named && app->seen_ns == a->now_ns &&
		    (!worst || app_counters_is_worse(app, worst)))
			worst = app;
	return worst;
}

/* Returns the application that is gone or, if none is, that lost least, of those with counters. */
static struct app_counter *app_counters_least_named(struct app_counters *a)
{
	struct app_counter *least = NULL;

	vec_for_each(&a->apps, app) {
		if (!app->named)
			continue;
		if (app_counters_is_gone(a, app))
			return app;
		if (!least || app_counters_is_worse(least, app))
			least = app;
	}
	return least;
}

/* Gives one application counters of its own. Returns false if none has a right to them. */
static bool app_counters_name_one(struct app_counters *a)
{
	struct app_counter *app = app_counters_worst_unnamed(a), *least;

	if (!app)
		return false;
	if (a->named == a->named_max) {
		least = app_counters_least_named(a);
		if (!app_counters_is_gone(a, least) && app->lost_ns <= HARM_MORE(least->lost_ns))
			return false;
		least->named = false;
		a->named--;
	}
	app->named = true;
	a->named++;
	return true;
}

/* ---- the interval ---- */

static void app_counters_sum(struct app_counts *to, const struct app_counts *from)
{
	uint64_t *sum = (uint64_t *)(void *)to;
	const uint64_t *more = (const uint64_t *)(const void *)from;

	_Static_assert(sizeof(*to) % sizeof(*sum) == 0, "nothing but sums");
	for (size_t i = 0; i < sizeof(*to) / sizeof(*sum); i++)
		sum[i] += more[i];
}

static void app_counters_close(struct app_counters *a, bool last)
{
	vec_for_each(&a->apps, app) {
		if (app->times.connections || app->waiting_ns)
			app_counters_settle(a, app, last);
		app_counters_sum(app->named ? &app->counts : &a->other, &app->now);
		app->now = (struct app_counts){ 0 };
	}
}

int app_counters_interval(struct app_counters *a, struct conns *c)
{
	const struct conns_period *p = &c->periods[CONNS_INTERVAL];
	int err = 0;

	a->now_ns = p->to_ns;
	a->measured_ns += p->to_ns - p->from_ns;
	a->unsampled_ns += p->unseen ? p->to_ns - p->from_ns : 0;
	vec_for_each(&c->interval_records, record) {
		if (!err)
			err = app_counters_add(a, c, record->conn);
	}
	for (uint32_t i = 0; i < APP_COUNTERS_MAX && app_counters_name_one(a); i++)
		;
	app_counters_close(a, false);
	return err;
}

void app_counters_finish(struct app_counters *a)
{
	app_counters_close(a, true);
}

uint32_t app_counters_others(const struct app_counters *a)
{
	uint32_t n = 0;

	vec_for_each(&a->apps, app)
		n += !app->named && !app_counters_is_gone(a, app);
	return n;
}
