/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/downsample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "conns/rules.h"
#include "conns/conn_accumulate.h"

#define SLOTS 65536u
#define TASKS 4096u
#define OUT_MAX (1u << 22)

int downsample_init(struct downsample *c)
{
	*c = (struct downsample){ 0 };
	vec_init(&c->conns, DOWNSAMPLE_MAX);
	vec_init(&c->out, OUT_MAX);
	c->slots = calloc(SLOTS, sizeof(*c->slots));
	c->tasks = calloc(TASKS, sizeof(*c->tasks));
	return c->slots && c->tasks ? 0 : -ENOMEM;
}

void downsample_release(struct downsample *c)
{
	vec_release(&c->conns);
	vec_release(&c->out);
	free(c->slots);
	free(c->tasks);
}

static int downsample_write(struct downsample *c, const struct event_conn *e)
{
	c->written++;
	return vec_push(&c->out, *e);
}

/* ---- held connections ---- */

static uint32_t *downsample_slot(struct downsample *c, uint32_t flow)
{
	return &c->slots[flow * 0x9e3779b1u >> 16];
}

static struct downsample_conn *downsample_find(struct downsample *c, uint32_t flow)
{
	uint32_t at = *downsample_slot(c, flow);

	while (at && c->conns.items[at - 1].now.flow != flow)
		at = c->conns.items[at - 1].next;
	return at ? &c->conns.items[at - 1] : NULL;
}

/* Adds a connection. Returns 0, -ENOMEM, or -E2BIG beyond DOWNSAMPLE_MAX connections. */
static int downsample_hold(struct downsample *c, const struct event_conn *e)
{
	uint32_t at = c->free, *slot = downsample_slot(c, e->flow);
	int err = 0;

	if (at) {
		c->free = c->conns.items[at - 1].next;
	} else {
		err = vec_push(&c->conns, (struct downsample_conn){ .next = 0 });
		at = (uint32_t)c->conns.len;
	}
	if (err)
		return err;
	c->conns.items[at - 1] =
		(struct downsample_conn){ .now = *e, .has_now = true, .next = *slot };
	*slot = at;
	c->n++;
	return 0;
}

static void downsample_drop(struct downsample *c, struct downsample_conn *conn)
{
	const uint32_t at = (uint32_t)(conn - c->conns.items) + 1;
	uint32_t *link = downsample_slot(c, conn->now.flow);

	while (*link != at)
		link = &c->conns.items[*link - 1].next;
	*link = conn->next;
	*conn = (struct downsample_conn){ .next = c->free };
	c->free = at;
	c->n--;
}

int downsample_add(struct downsample *c, const struct event_conn *e)
{
	struct downsample_conn *conn = e->flow ? downsample_find(c, e->flow) : NULL;
	int err;

	c->added++;
	if (conn && conn->has_now) {
		conn_accumulate_next(&conn->now, e);
		return 0;
	}
	if (conn) {
		conn->now = *e;
		conn->has_now = true;
		return 0;
	}
	err = e->flow ? downsample_hold(c, e) : -E2BIG;
	return err == -E2BIG ? downsample_write(c, e) : err;
}

size_t downsample_most(const struct downsample *c, size_t more)
{
	return 2 * c->n + c->out.len + more;
}

/* ---- the end of an interval ---- */

static struct downsample_task *downsample_task_of(struct downsample *c, uint32_t pid)
{
	return &c->tasks[pid % TASKS];
}

/*
 * Returns whether the record must be written unmerged. A loss or a lost reply may be incast, and a
 * merged record would hold only the first.
 */
static bool downsample_has_problem(const struct event_conn *e)
{
	struct conn_problem problems[RULES_MAX];
	struct conn_view view = { .c = e };

	rules_judge(&view, problems);
	return view.judged.harmful || e->loss_first || e->lost_reply;
}

static void downsample_note_problem(struct downsample *c, struct downsample_conn *conn)
{
	conn->has_problem = conn->has_now && downsample_has_problem(&conn->now);
	if (conn->has_problem && conn->now.pid)
		*downsample_task_of(c, conn->now.pid) =
			(struct downsample_task){ conn->now.pid, conn->now.to };
}

/*
 * Returns whether to write the record unmerged: it has a problem, or its process had one within
 * DOWNSAMPLE_NS.
 */
static bool downsample_is_in_full(struct downsample *c, const struct downsample_conn *conn)
{
	const struct event_conn *e = &conn->now;
	const struct downsample_task *task = downsample_task_of(c, e->pid);

	if (e->pid && task->pid == e->pid && e->to < task->problem + DOWNSAMPLE_NS)
		return true;
	return conn->has_problem;
}

static void downsample_merge(struct downsample_conn *conn)
{
	if (conn->has_merged)
		conn_accumulate_next(&conn->merged, &conn->now);
	else
		conn->merged = conn->now;
	conn->has_merged = true;
}

static int downsample_write_merged(struct downsample *c, struct downsample_conn *conn)
{
	const int err = conn->has_merged ? downsample_write(c, &conn->merged) : 0;

	conn->has_merged = false;
	return err;
}

static int downsample_close_conn(struct downsample *c, struct downsample_conn *conn, bool flush)
{
	const bool has_record = conn->has_now, whole = has_record && downsample_is_in_full(c, conn);
	int err = 0;

	if (has_record && !whole)
		downsample_merge(conn);
	if (flush || whole || (has_record && conn->now.flags & CONN_CLOSED))
		err = downsample_write_merged(c, conn);
	if (!err && whole)
		err = downsample_write(c, &conn->now);
	conn->has_now = false;
	if (!conn->has_merged)
		downsample_drop(c, conn);
	return err;
}

static int downsample_compare_ends(const void *a, const void *b)
{
	const struct event_conn *x = a, *y = b;

	return x->to < y->to ? -1 : x->to > y->to;
}

int downsample_close(struct downsample *c, uint64_t now, bool last)
{
	const bool flush = last || now >= c->flushed + DOWNSAMPLE_NS;
	int err = 0;

	vec_for_each(&c->conns, conn)
		downsample_note_problem(c, conn);
	vec_for_each(&c->conns, conn)
		if (!err && (conn->has_now || conn->has_merged))
			err = downsample_close_conn(c, conn, flush);
	if (flush)
		c->flushed = now;
	if (c->out.len)
		qsort(c->out.items, c->out.len, sizeof(*c->out.items), downsample_compare_ends);
	return err;
}
