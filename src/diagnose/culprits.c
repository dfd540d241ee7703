/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/culprits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/sort.h"
#include "base/strbuf.h"
#include "diagnose/words.h"
#include "report/human.h"

/* Breakdowns in memory limit the number of a cause's shares; so no time is dropped here. */
#define CULPRIT_TIMES_MAX (SUBJECTS_MAX * 4096UL)
/* A culprit with all but 1 / SOLE_REST of the time, at least, is the only one. */
#define SOLE_REST 200u
/* A culprit with this share of its time in one place is there; with less, it is "mostly" there. */
#define PLACE_SHARE 0.9

void culprits_init(struct cause_culprits *culprits, const struct recorded *rec, unsigned int cause)
{
	*culprits = (struct cause_culprits){ .rec = rec, .cause = cause,
					      .noun = "message" };
	vec_init(&culprits->all, CULPRIT_TIMES_MAX);
	vec_init(&culprits->tasks, CULPRIT_TIMES_MAX);
	vec_init(&culprits->times, CULPRIT_TIMES_MAX);
}

void culprits_release(struct cause_culprits *culprits)
{
	vec_release(&culprits->all);
	vec_release(&culprits->tasks);
	vec_release(&culprits->times);
}

/* ---- adding times ---- */

/* Tasks of a command are one culprit, whatever their details. */
static uint32_t culprit_key(uint32_t command, uint32_t detail)
{
	return command ? command : detail;
}

static int culprits_order_times(const void *a, const void *b)
{
	const struct culprit_time *x = a, *y = b;

	return sort_order(x->command, y->command) ?: sort_order(x->key, y->key) ?:
	       sort_order(x->ns, y->ns);
}

static bool culprits_same_time(const struct culprit_time *a, const struct culprit_time *b)
{
	return a->command == b->command && a->key == b->key;
}

/* Merges the times from `from` on, which are of one message, by culprit. */
static void culprits_merge_times(struct cause_culprits *culprits, size_t from)
{
	struct culprit_time *times = culprits->times.items;
	size_t n = from;

	if (from == culprits->times.len)
		return;
	qsort(times + from, culprits->times.len - from, sizeof(*times), culprits_order_times);
	for (size_t i = from; i < culprits->times.len; i++) {
		if (n > from && culprits_same_time(&times[n - 1], &times[i]))
			times[n - 1].ns += times[i].ns;
		else
			times[n++] = times[i];
	}
	culprits->times.len = n;
}

static int culprits_push_task(struct cause_culprits *culprits, uint32_t task, uint32_t detail,
			      uint64_t ns)
{
	const struct task_name *name = tasks_get(&culprits->rec->tasks, task);
	const struct culprit_task one = {
		.command = commands_find(&culprits->rec->commands, task), .detail = detail,
		.task = task, .pid = name->pid, .tid = name->tid, .ns = ns,
	};

	culprits->ns += ns;
	return vec_push(&culprits->tasks, one);
}

int culprits_add_task(struct cause_culprits *culprits, uint32_t task, uint64_t ns)
{
	return ns ? culprits_push_task(culprits, task, 0, ns) : 0;
}

static int culprits_push_share(struct cause_culprits *culprits, const struct share *share)
{
	const uint32_t command = commands_find(&culprits->rec->commands, share->culprit);
	const struct culprit_time time = {
		.command = command, .key = culprit_key(command, share->detail), .ns = share->ns,
	};
	int err = culprits_push_task(culprits, share->culprit, share->detail, share->ns);

	return err ? err : vec_push(&culprits->times, time);
}

int culprits_add_message(struct cause_culprits *culprits, const struct breakdown *breakdown,
			 unsigned int place, unsigned int n, uint64_t total_ns)
{
	const size_t before = culprits->times.len;
	struct shares shares;
	int err = 0;

	vec_init(&shares, breakdown->shares.len + 1);
	vec_for_each(&breakdown->shares, s) {
		struct share share = *s;

		if (err || s->place < place || s->place >= place + n)
			continue;
		share.message = 0;
		err = vec_push(&shares, share);
	}
	excess_merge_shares(&shares, total_ns);
	vec_for_each(&shares, s)
		if (!err && s->ns)
			err = culprits_push_share(culprits, s);
	vec_release(&shares);
	culprits_merge_times(culprits, before);
	return err;
}

/* ---- culprits of all messages ---- */

static int culprits_order_tasks(const void *a, const void *b)
{
	const struct culprit_task *x = a, *y = b;

	return sort_order(x->command, y->command) ?:
	       (x->command ? 0 : sort_order(x->detail, y->detail)) ?:
	       sort_order(x->pid, y->pid) ?: sort_order(x->tid, y->tid) ?:
	       sort_order(x->task, y->task) ?: sort_order(x->detail, y->detail);
}

static bool culprits_same_task(const struct culprit_task *a, const struct culprit_task *b)
{
	return a->command == b->command && a->detail == b->detail && a->task == b->task;
}

static void culprits_merge_tasks(struct culprit_tasks *tasks)
{
	size_t n = 0;

	if (!tasks->len)
		return;
	qsort(tasks->items, tasks->len, sizeof(*tasks->items), culprits_order_tasks);
	for (size_t i = 0; i < tasks->len; i++) {
		if (n && culprits_same_task(&tasks->items[n - 1], &tasks->items[i]))
			tasks->items[n - 1].ns += tasks->items[i].ns;
		else
			tasks->items[n++] = tasks->items[i];
	}
	tasks->len = n;
}

/* Sums the tasks from `first` on that belong to one culprit. */
static struct cause_culprit culprits_sum_tasks(const struct culprit_tasks *tasks, size_t first)
{
	const struct culprit_task *of = &tasks->items[first], *last = NULL;
	struct cause_culprit out = { .command = of->command, .detail = of->detail, .first = first };
	uint64_t most = 0, thread_ns = 0;

	for (out.end = first; out.end < tasks->len; out.end++) {
		const struct culprit_task *t = &tasks->items[out.end];

		if (t->command != out.command || (!t->command && t->detail != out.detail))
			break;
		out.mixed |= t->detail != out.detail;
		out.processes += !last || t->pid != last->pid;
		out.threads += !last || t->tid != last->tid;
		thread_ns = !last || t->tid != last->tid ? t->ns : thread_ns + t->ns;
		if (thread_ns > most) {
			most = thread_ns;
			out.task = t->task;
		}
		out.ns += t->ns;
		last = t;
	}
	return out;
}

static int culprits_order_by_size(const void *a, const void *b)
{
	const struct cause_culprit *x = a, *y = b;

	return sort_order(y->ns, x->ns) ?: sort_order(x->command, y->command) ?:
	       sort_order(x->detail, y->detail);
}

/* Fills in messages and median from the culprit's times, which begin at *at, ascending. */
static void culprits_count_messages(const struct cause_culprits *culprits,
				    struct cause_culprit *culprit, size_t *at)
{
	const struct culprit_time *times = culprits->times.items;
	const struct culprit_time key = {
		.command = culprit->command,
		.key = culprit_key(culprit->command, culprit->detail),
	};
	size_t end = *at;

	while (end < culprits->times.len && culprits_same_time(&times[end], &key))
		end++;
	culprit->messages = end - *at;
	if (culprit->messages)
		culprit->median_ns = times[*at + (culprit->messages - 1) / 2].ns;
	*at = end;
}

int culprits_finish(struct cause_culprits *culprits)
{
	size_t at = 0;
	int err = 0;

	culprits_merge_tasks(&culprits->tasks);
	if (culprits->times.len)
		qsort(culprits->times.items, culprits->times.len, sizeof(*culprits->times.items),
		      culprits_order_times);
	/* Tasks and times are in the same order of their culprits. */
	for (size_t i = 0; !err && i < culprits->tasks.len;) {
		struct cause_culprit one = culprits_sum_tasks(&culprits->tasks, i);

		culprits_count_messages(culprits, &one, &at);
		err = vec_push(&culprits->all, one);
		i = one.end;
	}
	if (culprits->all.len)
		qsort(culprits->all.items, culprits->all.len, sizeof(*culprits->all.items),
		      culprits_order_by_size);
	vec_release(&culprits->times);
	return err;
}

bool culprit_is_sole(const struct cause_culprits *culprits, const struct cause_culprit *culprit)
{
	return (culprits->ns - culprit->ns) * SOLE_REST <= culprits->ns;
}

/* ---- places ---- */

/* The place in which a culprit spent more than half of its time. */
struct culprit_place {
	const char *unit;    /* unit or container; NULL: none, or unknown */
	const char *cgroup;  /* path of the control group; NULL: unknown, or several of the unit */
	double share;        /* share of the culprit's time */
};

static bool culprit_place_same(const struct task_name *a, const struct task_name *b)
{
	return a->unit ? a->unit == b->unit : !b->unit && a->cgroup == b->cgroup;
}

static const struct task_name *culprit_place_task(const struct cause_culprits *culprits, size_t i)
{
	return tasks_get(&culprits->rec->tasks, culprits->tasks.items[i].task);
}

/*
 * Returns a task in the only place that can have more than half of the culprit's time: the majority
 * vote of Boyer and Moore (1981), weighted by time.
 */
static const struct task_name *culprit_place_vote(const struct cause_culprits *culprits,
						  const struct cause_culprit *culprit)
{
	const struct task_name *candidate = NULL;
	uint64_t lead = 0;

	for (size_t i = culprit->first; i < culprit->end; i++) {
		const struct task_name *task = culprit_place_task(culprits, i);
		const uint64_t ns = culprits->tasks.items[i].ns;

		if (candidate && culprit_place_same(candidate, task)) {
			lead += ns;
		} else if (ns > lead) {
			candidate = task;
			lead = ns - lead;
		} else {
			lead -= ns;
		}
	}
	return candidate;
}

/* Finds a culprit's place. Returns false if there is none, or if it is unknown. */
static bool culprit_place_find(const struct cause_culprits *culprits,
			       const struct cause_culprit *culprit, struct culprit_place *place)
{
	const struct task_name *of =
		culprit->command ? culprit_place_vote(culprits, culprit) : NULL;
	const struct event_dict *names = culprits->rec->names;
	bool one_group = true;
	uint64_t ns = 0;

	*place = (struct culprit_place){ 0 };
	if (!of || !of->cgroup)
		return false;
	for (size_t i = culprit->first; i < culprit->end; i++) {
		const struct task_name *task = culprit_place_task(culprits, i);

		if (!culprit_place_same(of, task))
			continue;
		ns += culprits->tasks.items[i].ns;
		one_group &= task->cgroup == of->cgroup;
	}
	if (2 * ns <= culprit->ns)
		return false;
	place->unit = of->unit ? event_dict_get(names, DICT_UNIT, of->unit) : NULL;
	place->cgroup = one_group ? event_dict_get(names, DICT_CGROUP, of->cgroup) : NULL;
	place->share = (double)ns / (double)culprit->ns;
	return place->unit || place->cgroup;
}

/*
 * Returns the place in text, e.g. "cron.service", "docker 0123456789ab" or "/batch/job"; with
 * "mostly " if less than 90 % of the culprit's time is there. NULL: none is known, the root of all
 * control groups, or the culprit is hostlat itself.
 */
static const char *culprit_place_words(const struct cause_culprits *culprits, struct report *r,
				       const struct cause_culprit *culprit)
{
	const struct task_commands *commands = &culprits->rec->commands;
	struct culprit_place place;

	if (!culprit_place_find(culprits, culprit, &place) ||
	    commands->all[culprit->command - 1].part)
		return NULL;
	if (!place.unit && strcmp(place.cgroup, "/") == 0)
		return NULL;
	return report_format(r, "%s%s", place.share < PLACE_SHARE ? "mostly " : "",
			     place.unit ? place.unit : place.cgroup);
}

static struct value culprit_place_text(struct report *r, const char *text)
{
	return text ? value_string(report_format(r, "%s", text)) : value_null();
}

struct culprit_place_values culprit_place_values(const struct cause_culprits *culprits,
						 struct report *r,
						 const struct cause_culprit *culprit)
{
	struct culprit_place place;
	const bool found = culprit_place_find(culprits, culprit, &place);

	return (struct culprit_place_values){
		culprit_place_text(r, place.unit), culprit_place_text(r, place.cgroup),
		found ? value_fraction(place.share) : value_null(),
	};
}

/* ---- names ---- */

/* Returns "pid 12", or "thread 14" for another thread of a process than its first. */
static const char *culprit_task_id(struct report *r, const struct task_name *t)
{
	return report_format(r, "%s %u", t->tid == t->pid ? "pid" : "thread", t->tid);
}

const char *culprit_task_name(const struct recorded *rec, struct report *r, uint32_t task)
{
	const struct task_name *t = tasks_get(&rec->tasks, task);
	const uint32_t command = commands_find(&rec->commands, task);
	const enum hostlat_part part = command ? rec->commands.all[command - 1].part : HOSTLAT_NONE;

	if (part)
		return part == HOSTLAT_OTHER ?
		       report_format(r, "%s (%s)", commands_part_words(part),
				     culprit_task_id(r, t)) :
		       commands_part_words(part);
	return t->tid ? report_format(r, "%s (%s)", t->comm, culprit_task_id(r, t)) : "";
}

const char *culprit_plain_name(const struct cause_culprits *culprits, struct report *r,
			       const struct cause_culprit *culprit)
{
	const struct task_commands *commands = &culprits->rec->commands;
	const struct task_command *command =
		culprit->command ? &commands->all[culprit->command - 1] : NULL;
	char buf[WORDS_MAX];
	const char *detail;

	if (command)
		return command->part ? commands_part_words(command->part) :
				       report_format(r, "%s", command->name);
	detail = words_detail(buf, culprits->rec, (uint8_t)culprits->cause, culprit->detail);
	return detail ? report_format(r, "%s", detail) : "";
}

/* Returns how many tasks a command has, e.g. "6 processes"; NULL: one, or hostlat's own. */
static const char *culprit_count(const struct cause_culprits *culprits, struct report *r,
				 const struct cause_culprit *culprit)
{
	const struct task_command *command =
		culprit->command ? &culprits->rec->commands.all[culprit->command - 1] : NULL;

	if (!command || (command->part && command->part != HOSTLAT_OTHER))
		return NULL;
	if (culprit->processes > 1)
		return report_format(r, "%u processes", culprit->processes);
	if (culprit->threads > 1)
		return report_format(r, "%u threads of pid %u", culprit->threads,
				     tasks_get(&culprits->rec->tasks, culprit->task)->pid);
	return NULL;
}

/* Returns the culprit's task if it has only one; NULL: several, none, or hostlat's own. */
static const struct task_name *culprit_only_task(const struct cause_culprits *culprits,
						 const struct cause_culprit *culprit)
{
	const struct task_command *command =
		culprit->command ? &culprits->rec->commands.all[culprit->command - 1] : NULL;

	if (!command || culprit->threads > 1 ||
	    (command->part && command->part != HOSTLAT_OTHER))
		return NULL;
	return tasks_get(&culprits->rec->tasks, culprit->task);
}

const char *culprit_name(const struct cause_culprits *culprits, struct report *r,
			 const struct cause_culprit *culprit)
{
	const char *name = culprit_plain_name(culprits, r, culprit);
	const char *count = culprit_count(culprits, r, culprit);
	const struct task_name *task = culprit_only_task(culprits, culprit);
	const char *place = culprit_place_words(culprits, r, culprit);

	if (!count && task)
		count = culprit_task_id(r, task);
	return count ? report_format(r, "%s (%s%s%s)", name, count, place ? ", " : "",
				     place ? place : "") : name;
}

const char *culprit_phrase(const struct cause_culprits *culprits, struct report *r,
			   const struct cause_culprit *culprit)
{
	const char *name = culprit_plain_name(culprits, r, culprit);
	const char *count = culprit_count(culprits, r, culprit);
	const struct task_name *task = culprit_only_task(culprits, culprit);
	const char *place = culprit_place_words(culprits, r, culprit);
	char messages[HUMAN_MAX], share[HUMAN_MAX], median[HUMAN_MAX];

	if (!*name)
		return name;
	if (task)
		count = culprit_task_id(r, task);
	return report_format(r, "%s (%s%s%s%s%s, %s, %s at the median)", name, count ? count : "",
			     count ? ", " : "", place ? place : "", place ? ", " : "",
			     human_counted(messages, culprit->messages, culprits->noun),
			     human_fraction(share, (double)culprit->ns / (double)culprits->ns),
			     human_ns(median, culprit->median_ns));
}

/* ---- JSON ---- */

struct value culprit_command_value(const struct recorded *rec, struct report *r, uint32_t command)
{
	return command ? value_string(report_format(r, "%s", rec->commands.all[command - 1].name)) :
			 value_null();
}

struct value culprit_part_value(const struct recorded *rec, uint32_t command)
{
	return value_string(command ? commands_part_name(rec->commands.all[command - 1].part) :
				      NULL);
}

struct value culprit_pids_value(const struct cause_culprits *culprits, struct report *r,
				const struct cause_culprit *culprit)
{
	struct strbuf text = STRBUF_INIT(4096);
	uint32_t last = 0, n = 0;
	struct value value = value_null();

	for (size_t i = culprit->first; culprit->command && i < culprit->end; i++) {
		const uint32_t pid = culprits->tasks.items[i].pid;

		if ((n && pid == last) || n == CULPRIT_PIDS_SHOWN)
			continue;
		strbuf_printf(&text, "%s%u", n++ ? ", " : "", pid);
		last = pid;
	}
	if (n)
		value = value_json(report_format(r, "[%s]", strbuf_str(&text)));
	strbuf_release(&text);
	return value;
}

static const struct column culprit_columns[] = {
	{ "pid", NULL, 0, 0 },      { "tid", NULL, 0, 0 },       { "comm", NULL, 0, 0 },
	{ "message", NULL, 0, 0 },  { "what", NULL, 0, 0 },      { "ns", NULL, 0, 0 },
	{ "command", NULL, 0, 0 },  { "hostlat", NULL, 0, 0 },   { "processes", NULL, 0, 0 },
	{ "pids", NULL, 0, 0 },     { "messages", NULL, 0, 0 },  { "median_ns", NULL, 0, 0 },
	{ "share", NULL, 0, 0 },    CULPRIT_PLACE_COLUMNS,
};

static void culprits_add_row(const struct cause_culprits *culprits, struct report *r,
			     struct table *t, const struct cause_culprit *c, uint64_t total_ns)
{
	const struct recorded *rec = culprits->rec;
	const struct task_name *task = tasks_get(&rec->tasks, c->task);
	const struct culprit_place_values place = culprit_place_values(culprits, r, c);
	char buf[WORDS_MAX];
	const char *detail =
		c->mixed ? NULL : words_detail(buf, rec, (uint8_t)culprits->cause, c->detail);

	if (!c->command && !detail)
		return;
	TABLE_ADD(t, c->command ? value_u64(task->pid) : value_null(),
		  c->command ? value_u64(task->tid) : value_null(),
		  culprit_command_value(rec, r, c->command), value_null(),
		  value_string(detail ? report_format(r, "%s", detail) : NULL),
		  value_ns((uint64_t)((unsigned __int128)c->ns * total_ns / culprits->ns)),
		  culprit_command_value(rec, r, c->command), culprit_part_value(rec, c->command),
		  c->command ? value_u64(c->processes) : value_null(),
		  culprit_pids_value(culprits, r, c), value_u64(c->messages),
		  value_ns(c->median_ns),
		  value_fraction((double)c->ns / (double)culprits->ns), place.unit, place.cgroup,
		  place.share);
}

struct value culprits_table(const struct cause_culprits *culprits, struct report *r,
			    uint64_t total_ns)
{
	struct table *t = table_new(r, culprit_columns, ARRAY_LEN(culprit_columns));

	for (size_t i = 0; i < culprits->all.len && i < CULPRITS_SHOWN; i++)
		culprits_add_row(culprits, r, t, &culprits->all.items[i], total_ns);
	return value_table(t);
}
