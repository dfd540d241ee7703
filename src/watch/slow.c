/* SPDX-License-Identifier: Apache-2.0 */
/* Slow messages, one by one: where the time of each went. */
#include <string.h>
#include <sys/socket.h>

#include "event/names.h"
#include "report/human.h"
#include "watch/tables.h"

/* Largest number of messages in text; --json has up to WATCH_SLOW_MAX. */
#define SHOWN 10

static uint64_t slow_total_ns(const struct event_slow *m)
{
	return m->at_ns[SLOW_AT(STAGE_READ)];
}

/*
 * Sets *ns to the time since the last measured stage before `stage`, as in the stage table. Returns
 * false if `stage` was not measured. Stages on different CPUs may seem out of order: a step is
 * never below 0, and all steps add up to the latency.
 */
static bool slow_step(const struct event_slow *m, unsigned int stage, uint64_t *before,
		      uint64_t *ns)
{
	/*
	 * The event has the times of `socket` and of stages numbered from `link` to `read`, no
	 * others.
	 */
	uint64_t at = stage == STAGE_SOCKET ? m->at_socket_ns :
		      SLOW_AT(stage) < SLOW_STAGES ? m->at_ns[SLOW_AT(stage)] : 0;

	*ns = 0;
	if (!at)
		return false;
	at = at > slow_total_ns(m) ? slow_total_ns(m) : at;
	if (at > *before) {
		*ns = at - *before;
		*before = at;
	}
	return true;
}

#define FIRST_PLACE stage_place(STAGE_LINK)
#define LAST_PLACE stage_place(STAGE_READ)

static struct value slow_steps(struct report *r, const struct event_slow *m)
{
	struct object *o = object_new(r);
	uint64_t before = 0, ns;

	for (unsigned int place = FIRST_PLACE; place <= LAST_PLACE; place++) {
		unsigned int stage = stage_at_place(place);

		if (slow_step(m, stage, &before, &ns))
			object_add(o, stage_name(stage), value_ns(ns));
	}
	return value_object(o);
}

/* Returns the longest step as text: "running 96 %". */
static struct value slow_longest_part(struct report *r, const struct event_slow *m)
{
	unsigned int longest = STAGE_READ;
	uint64_t before = 0, ns, most = 0;
	char buf[HUMAN_MAX];

	for (unsigned int place = FIRST_PLACE; place <= LAST_PLACE; place++) {
		unsigned int stage = stage_at_place(place);

		if (slow_step(m, stage, &before, &ns) && ns > most) {
			longest = stage;
			most = ns;
		}
	}
	return value_string(
		report_format(r, "%s %s", stage_name(longest),
			      human_fraction(buf, (double)most / (double)slow_total_ns(m))));
}

static struct value slow_task(struct report *r, uint32_t pid, const char *comm)
{
	return pid ? value_string(report_format(r, "%s (pid %u)", comm, pid)) : value_null();
}

static bool slow_waits_known(const struct event_slow *m)
{
	return m->pid && !(m->flags & SLOW_WAITS_UNKNOWN);
}

/* Returns the task that held the CPU; "a stop of ..." if the reader was stopped for longer. */
static struct value slow_task_before(struct report *r, const struct event_slow *m)
{
	char buf[HUMAN_MAX];

	if (!slow_waits_known(m))
		return value_absent();
	if (m->stopped_ns > m->wait_ns)
		return value_string(report_format(r, "a stop of %s",
						  human_ns(buf, m->stopped_ns)));
	return m->culprit_tid ? slow_task(r, m->culprit_pid, m->culprit) : value_absent();
}

static struct value slow_address(struct report *r, const struct event_slow *m, const void *bytes,
				 uint16_t port)
{
	char buf[HUMAN_ADDRESS_MAX];
	const char *text = port ? human_address(buf, m->family, bytes, port) : NULL;

	return text ? value_string(report_format(r, "%s", text)) : value_null();
}

static struct value slow_known_wait(const struct event_slow *m, uint64_t ns)
{
	return slow_waits_known(m) ? value_ns(ns) : value_null();
}

/* Returns the wait for a CPU; as text "≥ 135 ms" if there were more waits than are recorded. */
static struct value slow_wait_text(struct report *r, const struct event_slow *m)
{
	char buf[HUMAN_MAX];

	if (!slow_waits_known(m) || !(m->flags & SLOW_WAITS_PARTIAL))
		return slow_known_wait(m, m->wait_ns);
	return value_string(report_format(r, "≥ %s", human_ns(buf, m->wait_ns)));
}

static struct value slow_culprit(struct report *r, const struct event_slow *m)
{
	struct object *o = object_new(r);

	if (!m->culprit_tid || !slow_waits_known(m))
		return value_null();
	object_add(o, "pid", value_u64(m->culprit_pid));
	object_add(o, "tid", value_u64(m->culprit_tid));
	object_add(o, "comm", value_string(report_format(r, "%s", m->culprit)));
	object_add(o, "wait_ns", value_ns(m->culprit_ns));
	return value_object(o);
}

static struct value slow_number(uint32_t n)
{
	return n ? value_u64(n) : value_null();
}

static struct value slow_messages_value(const struct watch *w, const struct watch_slow *slow,
					struct report *r)
{
	static const struct column columns[] = {
		{ .name = "read_ns" }, { .name = "realtime_ns" }, { .name = "realtime_error_ns" },
		{ .name = "protocol" }, { .name = "origin" }, { .name = "total_ns" },
		{ .name = "steps" },
		{ .name = "wait_ns" }, { .name = "stopped_ns" }, { .name = "waits_partial" },
		{ .name = "culprit" }, { .name = "pid" }, { .name = "tid" }, { .name = "comm" },
		{ .name = "packets" }, { .name = "local" }, { .name = "remote" },
		{ .name = "netns" },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	vec_for_each(&slow->slowest, m) {
		TABLE_ADD(t, value_ns(m->read_ns), times_realtime(&w->times, m->read_ns),
			  times_error(&w->times, m->read_ns),
			  value_string(protocol_name(m->protocol)),
			  value_string(origin_name(m->origin)), value_ns(slow_total_ns(m)),
			  slow_steps(r, m), slow_known_wait(m, m->wait_ns),
			  slow_known_wait(m, m->stopped_ns),
			  slow_waits_known(m) ? value_bool(m->flags & SLOW_WAITS_PARTIAL)
					      : value_null(),
			  slow_culprit(r, m), slow_number(m->pid), slow_number(m->tid),
			  value_string(m->pid ? report_format(r, "%s", m->comm) : NULL),
			  value_u64(m->packets), slow_address(r, m, m->local, m->local_port),
			  slow_address(r, m, m->remote, m->remote_port), slow_number(m->netns));
	}
	return value_table(t);
}

/* Returns the heading: "412 messages took 10 ms or longer; the 10 slowest:". */
static const char *slow_heading(const struct watch *w, const struct watch_slow *slow,
				uint64_t count, struct report *r)
{
	char n[HUMAN_MAX], total[HUMAN_MAX], ns[HUMAN_MAX];

	human_counted(n, count, "message");
	human_count(total, slow->count);
	human_ns(ns, w->slower_than_ns);
	if (count == slow->count && count <= SHOWN)
		return report_format(r, "%s took %s or longer:", n, ns);
	if (count == slow->count)
		return report_format(r, "%s took %s or longer; the %d slowest:", n, ns,
				     SHOWN);
	return report_format(r, "%s took %s or longer; the slowest of the %s recorded:", n, ns,
			     total);
}

/* Returns the read's time without "Z", to leave space for addresses: the heading names UTC. */
static const char *slow_read_text(const struct watch *w, struct report *r, uint64_t read_ns,
				  uint64_t from_ns)
{
	const char *text = times_text(&w->times, r, read_ns, from_ns, 3);

	if (!text || !times_is_wall(&w->times))
		return text;
	return report_format(r, "%.*s", (int)strlen(text) - 1, text);
}

static void slow_add_text(const struct watch *w, enum watch_span span, uint64_t count,
			  struct report *r)
{
	const struct watch_slow *slow = &w->slow[span];
	const uint64_t from_ns = w->periods[span].from_ns;
	const struct column columns[] = {
		{ .head = times_is_wall(&w->times) ? "read (UTC)" : "read at" },
		{ .head = "latency" }, { .head = "longest step" },
		{ .head = "CPU wait" }, { .head = "delayed by" }, { .head = "reader" },
		{ .head = "local", .flags = COLUMN_FLEX | COLUMN_SPARE },
		{ .head = "remote", .flags = COLUMN_FLEX },
	};
	struct table *t = table_new(r, columns, ARRAY_LEN(columns));

	if (t)
		t->head = slow_heading(w, slow, count, r);
	for (size_t i = 0; i < slow->slowest.len && i < SHOWN; i++) {
		const struct event_slow *m = &slow->slowest.items[i];

		TABLE_ADD(t, value_string(slow_read_text(w, r, m->read_ns, from_ns)),
			  value_ns(slow_total_ns(m)), slow_longest_part(r, m), slow_wait_text(r, m),
			  slow_task_before(r, m), slow_task(r, m->pid, m->comm),
			  slow_address(r, m, m->local, m->local_port),
			  m->remote_port ? slow_address(r, m, m->remote, m->remote_port)
					 : value_absent());
	}
	object_add(&r->body, NULL, value_table(t));
}

void watch_add_slow(const struct watch *w, enum watch_span span, struct report *r)
{
	const struct watch_slow *slow = &w->slow[span];
	uint64_t suppressed = watch_total(w, span, COUNT_SUPPRESSED);
	uint64_t count = slow->count + suppressed;
	char ns[HUMAN_MAX];
	struct object *o;

	if (!w->slower_than_ns || !watch_shows(w, STAGE_READ)) {
		object_add(&r->body, "slow", value_null());
		return;
	}
	o = object_new(r);
	object_add(o, "threshold_ns", value_ns(w->slower_than_ns));
	object_add(o, "count", value_u64(count));
	object_add(o, "suppressed", value_u64(suppressed));
	object_add(o, "messages", slow_messages_value(w, slow, r));
	object_add(&r->body, "slow", value_object(o));
	if (count)
		slow_add_text(w, span, count, r);
	else
		report_finding(r, "No message took %s or longer.",
			       human_ns(ns, w->slower_than_ns));
}
