/* SPDX-License-Identifier: Apache-2.0 */
#include "watch/state.h"

#include <errno.h>
#include <string.h>

#include "base/sort.h"
#include "event/names.h"

/* Returns the key that sorts rows: direction, protocol, group (overflow last), stage, origin. */
static uint64_t watch_row_key(const struct event_hist *id)
{
	uint64_t overflow = id->flags & HIST_OVERFLOW_GROUP ? 1 : 0;

	return (uint64_t)id->direction << 60 | (uint64_t)id->protocol << 56 | overflow << 52 |
	       (uint64_t)id->group << 16 | (uint64_t)stage_place(id->stage) << 8 | id->origin;
}

static uint64_t watch_count_key(const struct event_count *id)
{
	return (uint64_t)id->what << 56 | (uint64_t)stage_place(id->stage) << 48 |
	       (uint64_t)id->protocol << 40 | (uint64_t)id->direction << 32 | id->reason;
}

static uint64_t watch_binding_key(const struct event_binding *b)
{
	return (uint64_t)b->direction << 16 | (uint64_t)b->protocol << 8 | stage_place(b->stage);
}

static int watch_compare_tasks(const struct event_culprit *a, const struct event_culprit *b)
{
	if (a->pid != b->pid)
		return sort_order(a->pid, b->pid);
	return memcmp(a->comm, b->comm, sizeof(a->comm));
}

/*
 * Evaluates to the index of the first item whose `order` is not negative. `order` is an expression
 * about `item`: negative before the wanted item, 0 for it. Sets *found if the wanted item exists.
 */
#define lower_bound(v, item, order, found)							   \
	({											   \
		*(found) = false;								   \
		sort_first(i_, 0, (v)->len, ({							   \
			__typeof__((v)->items) item = &(v)->items[i_];				   \
			int order_ = (order);							   \
			*(found) |= order_ == 0;						   \
			order_ >= 0;								   \
		}));										   \
	})

/* Inserts a copy of `...` at index `at`, and moves the items after it. Evaluates to 0 or -errno. */
#define insert_at(v, at, ...)                                                                      \
	({                                                                                         \
		int err_ = vec_push(v, __VA_ARGS__);                                               \
		if (!err_) {                                                                       \
			__typeof__((v)->items[0]) new_ = (v)->items[(v)->len - 1];                 \
			memmove(&(v)->items[(at) + 1], &(v)->items[at],                            \
				((v)->len - 1 - (at)) * sizeof(new_));                             \
			(v)->items[at] = new_;                                                     \
		}                                                                                  \
		err_;                                                                              \
	})

static struct watch_row *watch_new_row(uint64_t key, const struct event_hist *id)
{
	struct watch_row *row = calloc(1, sizeof(*row));

	if (!row)
		return NULL;
	row->key = key;
	row->id = (struct event_hist){
		.stage = id->stage, .direction = id->direction, .protocol = id->protocol,
		.origin = id->origin, .schema = id->schema, .flags = id->flags, .group = id->group,
	};
	for (int span = 0; span < WATCH_SPANS; span++) {
		for (int dist = 0; dist < DIST_MAX; dist++)
			hist_init(&row->hists[span][dist], id->schema);
	}
	return row;
}

struct watch_row *watch_row_get(struct watch *w, const struct event_hist *id, int *err)
{
	uint64_t key = watch_row_key(id);
	struct watch_row *row;
	bool found;
	size_t at = lower_bound(&w->rows, item, sort_order((*item)->key, key), &found);

	*err = 0;
	if (found)
		return w->rows.items[at];
	row = watch_new_row(key, id);
	*err = row ? insert_at(&w->rows, at, row) : -ENOMEM;
	if (*err) {
		free(row);
		return NULL;
	}
	return row;
}

struct watch_count *watch_count_get(struct watch *w, const struct event_count *id, int *err)
{
	uint64_t key = watch_count_key(id);
	bool found;
	size_t at = lower_bound(&w->counts, item, sort_order(item->key, key), &found);

	*err = 0;
	if (!found)
		*err = insert_at(&w->counts, at, (struct watch_count){ .key = key, .id = *id });
	if (*err)
		return NULL;
	w->counts.items[at].id.count = 0;
	return &w->counts.items[at];
}

struct watch_task *watch_task_get(struct watch *w, const struct event_culprit *id, int *err)
{
	struct watch_task task = { .id.pid = id->pid };
	bool found;
	size_t at;

	memcpy(task.id.comm, id->comm, strnlen(id->comm, sizeof(id->comm)));
	at = lower_bound(&w->tasks, item, watch_compare_tasks(&item->id, &task.id), &found);
	*err = 0;
	if (found)
		return &w->tasks.items[at];
	if (w->tasks.len == WATCH_TASKS_MAX)
		return &w->other_tasks;
	*err = insert_at(&w->tasks, at, task);
	return *err ? NULL : &w->tasks.items[at];
}

static int watch_compare_queues(const struct event_queue *a, const struct event_queue *b)
{
	int order = sort_order(a->of, b->of);

	if (!order)
		order = sort_order(a->iface, b->iface);
	if (!order)
		order = sort_order(a->rxq, b->rxq);
	return order ? order : sort_order(a->cpu, b->cpu);
}

struct watch_queue *watch_queue_get(struct watch *w, const struct event_queue *id, int *err)
{
	const struct event_queue key = {
		.cpu = id->cpu, .iface = id->iface, .rxq = id->rxq, .of = id->of,
	};
	bool found;
	size_t at = lower_bound(&w->queues, item, watch_compare_queues(&item->id, &key), &found);

	*err = found ? 0 : insert_at(&w->queues, at, (struct watch_queue){ .id = key });
	return *err ? NULL : &w->queues.items[at];
}

struct watch_softnet *watch_softnet_get(struct watch *w, uint32_t cpu, int *err)
{
	bool found;
	size_t at = lower_bound(&w->softnets, item, sort_order(item->cpu, cpu), &found);

	*err = found ? 0 : insert_at(&w->softnets, at, (struct watch_softnet){ .cpu = cpu });
	return *err ? NULL : &w->softnets.items[at];
}

const struct watch_group *watch_group_find(const struct watch *w, uint32_t id)
{
	bool found;
	size_t at = lower_bound(&w->groups, item, sort_order(item->id, id), &found);

	return found ? &w->groups.items[at] : NULL;
}

struct watch_group *watch_group_get(struct watch *w, uint32_t id, int *err)
{
	bool found;
	size_t at = lower_bound(&w->groups, item, sort_order(item->id, id), &found);

	*err = found ? 0 : insert_at(&w->groups, at, (struct watch_group){ .id = id });
	return *err ? NULL : &w->groups.items[at];
}

/* Orders messages: slowest first, messages of equal latency by the time of the read. */
static int watch_compare_slow(const struct event_slow *a, const struct event_slow *b)
{
	int order = sort_order(b->at_ns[SLOW_AT(STAGE_READ)], a->at_ns[SLOW_AT(STAGE_READ)]);

	return order ? order : sort_order(a->read_ns, b->read_ns);
}

int watch_slow_add(struct watch_slow *slow, const struct event_slow *message)
{
	bool found;
	size_t at = lower_bound(&slow->slowest, item, watch_compare_slow(item, message), &found);

	slow->count++;
	if (at == WATCH_SLOW_MAX)
		return 0;
	if (slow->slowest.len == WATCH_SLOW_MAX)
		slow->slowest.len--;
	return insert_at(&slow->slowest, at, *message);
}

struct event_binding *watch_binding_get(struct watch *w, const struct event_binding *id, int *err)
{
	uint64_t key = watch_binding_key(id);
	bool found;
	size_t at =
		lower_bound(&w->bindings, item, sort_order(watch_binding_key(item), key), &found);

	*err = found ? 0 : insert_at(&w->bindings, at, *id);
	return *err ? NULL : &w->bindings.items[at];
}

const struct event_binding *watch_binding_of(const struct watch *w, unsigned int stage,
					     unsigned int direction, unsigned int protocol)
{
	const unsigned int protocols[] = { protocol, PROTO_ANY };

	for (int i = 0; i < 2; i++) {
		struct event_binding id = {
			.stage = (__u8)stage, .direction = (__u8)direction,
			.protocol = (__u8)protocols[i],
		};
		uint64_t key = watch_binding_key(&id);
		bool found;
		size_t at = lower_bound(&w->bindings, item,
					sort_order(watch_binding_key(item), key), &found);

		if (found)
			return &w->bindings.items[at];
	}
	return NULL;
}

bool watch_shows(const struct watch *w, unsigned int stage)
{
	return !w->stages || w->stages >> stage & 1;
}

bool watch_lacks_drops(const struct watch *w)
{
	const bool *unknown = w->drops_unknown;
	bool shown[2] = { false };

	vec_for_each(&w->bindings, b)
		if (b->bound && watch_shows(w, b->stage))
			shown[b->direction == DIR_EGRESS] = true;
	return (unknown[0] || unknown[1]) && (unknown[0] || !shown[0]) &&
	       (unknown[1] || !shown[1]);
}

bool watch_requested(const struct watch *w, const struct event_binding *b)
{
	const char *why = watch_name(w, DICT_STRING, b->why);

	if (!watch_shows(w, b->stage))
		return false;
	return b->bound || !why || strcmp(why, WATCH_NOT_SELECTED) != 0;
}

bool watch_is_missed(const struct watch *w, const struct event_binding *b)
{
	if (b->bound || b->direction != DIR_EGRESS || b->protocol != PROTO_UDP)
		return true;
	vec_for_each(&w->counts, c) {
		if (c->id.direction == DIR_EGRESS && c->id.protocol == PROTO_UDP &&
		    c->count[WATCH_TOTAL])
			return true;
	}
	return false;
}

bool watch_is_counted(const struct watch *w, const struct watch_count *c)
{
	return c->id.what == COUNT_DROP || !c->id.stage || watch_shows(w, c->id.stage);
}

uint64_t watch_total(const struct watch *w, enum watch_span span, enum count_what what)
{
	uint64_t sum = 0;

	vec_for_each(&w->counts, c) {
		if (c->id.what == what && watch_is_counted(w, c))
			sum += c->count[span];
	}
	return sum;
}

const char *watch_name(const struct watch *w, uint32_t dict, uint32_t id)
{
	const char *name = id ? event_dict_get(w->names, dict, id) : NULL;

	return id && !name ? "unknown" : name;
}

void watch_interval_reset(struct watch *w)
{
	vec_for_each(&w->rows, row) {
		for (int dist = 0; dist < DIST_MAX; dist++)
			hist_reset(&(*row)->hists[WATCH_INTERVAL][dist]);
		(*row)->sampled[WATCH_INTERVAL] = 0;
	}
	vec_for_each(&w->counts, count)
		count->count[WATCH_INTERVAL] = 0;
	vec_for_each(&w->tasks, task)
		task->ns[WATCH_INTERVAL] = task->count[WATCH_INTERVAL] = 0;
	w->other_tasks.ns[WATCH_INTERVAL] = w->other_tasks.count[WATCH_INTERVAL] = 0;
	vec_for_each(&w->queues, queue)
		queue->sum[WATCH_INTERVAL] = (struct event_queue){ 0 };
	vec_for_each(&w->softnets, softnet)
		softnet->sum[WATCH_INTERVAL] = (struct event_softnet){ 0 };
	w->slow[WATCH_INTERVAL].count = 0;
	vec_clear(&w->slow[WATCH_INTERVAL].slowest);
	memset(w->shares[WATCH_INTERVAL], 0, sizeof(w->shares[WATCH_INTERVAL]));
	w->periods[WATCH_INTERVAL] = (struct watch_period){ 0 };
	w->closed = false;
}
