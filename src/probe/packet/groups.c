/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups (--by): the programs' two tables, as EV_GROUP and EV_HIST.
 *
 * Once a table is half full, what nobody uses any more makes room. A place is marked, so that no
 * program finds it; those that had found it before are waited for; then it is read for the last
 * time and free. Who changes a map of maps is kept waiting until all programs that could use the
 * old one are over (kernel/bpf/syscall.c, maybe_wait_bpf_programs()): the one here is for that
 * only. Counters are not reset: the next owner begins where they are.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/parse.h"
#include "base/sort.h"
#include "base/vec.h"
#include "probe/packet/deltas.h"
#include "bpf/watch.skel.h"

#define GROUP_PLACES (GROUP_SETS * GROUP_WAYS)
#define KERNEL_ADDS (64ULL << 10) /* to five maps; bench/groups compares */
#define SETS_MIN 64            /* of rows: for some ten groups */
#define TOLD_MAX 4096          /* groups of a run; later ones are the overflow's */
#define IDLE_NS (10 * NS_PER_S) /* unused for so long: not in use */

/* What was taken of a distribution: few of its buckets are ever touched. */
struct taken_hist {
	uint64_t sum, zero, over;
	uint32_t first, n;
	uint64_t *bucket;
};

struct taken {
	struct taken_hist latency, step;
	uint64_t used_ns; /* when there was something new */
};

/* A row that somebody has. */
struct used_row {
	uint64_t key; /* ROW_KEY() */
	uint32_t place;
	bool leaving;
};

struct told {
	struct group_traits traits;
	uint32_t id; /* of the stream */
	uint32_t n;
	struct event_label labels[GROUP_KEY_MAX];
	uint64_t checked; /* the snapshot in which they were found to be so */
};

struct pkt_groups {
	uint32_t row_sets;
	struct group_set *sets;    /* mapped, as are the next two */
	struct row_set *keys;
	struct stage_row *rows;
	struct taken *taken;       /* by place of the row */
	uint64_t used_ns[GROUP_PLACES]; /* 0: free */
	uint32_t places_used;
	struct told_vec VEC_OF(struct told) told; /* by traits */
	uint32_t last_id;
	struct used_vec VEC_OF(struct used_row) used;
	int inner, outer; /* a map, and a map of maps to wait by; -1: there is none */
};

/* ---- sizes ---- */

/* Of the part of `way` that is for each field, if it is asked for: the first has the most bits. */
static void divide_way(uint32_t by, uint32_t mask[TRAIT_FIELDS], uint32_t shift[TRAIT_FIELDS])
{
	static const uint32_t key[TRAIT_FIELDS] = {
		[TRAIT_IFINDEX] = GROUP_IFINDEX, [TRAIT_CPU] = GROUP_CPU, [TRAIT_RXQ] = GROUP_RXQ,
	};
	static const uint32_t bits[TRAIT_FIELDS][TRAIT_FIELDS] = {
		{ 31 }, { 20, 12 }, { 14, 10, 8 }, /* one, two, three asked for */
	};
	uint32_t n = 0, at = 0, place = 0;

	for (int i = 0; i < TRAIT_FIELDS; i++)
		n += by >> key[i] & 1;
	for (int i = 0; i < TRAIT_FIELDS; i++) {
		mask[i] = shift[i] = 0;
		if (!(by >> key[i] & 1))
			continue;
		mask[i] = (1U << bits[n - 1][place]) - 1;
		shift[i] = at;
		at += bits[n - 1][place++];
	}
}

uint64_t pkt_groups_size(struct pkt_probe *probe, uint64_t left)
{
	const uint64_t set = sizeof(struct row_set) + ROW_WAYS * sizeof(struct stage_row);
	const uint64_t fixed = GROUP_SETS * sizeof(struct group_set) + KERNEL_ADDS;
	struct watch_bpf *skel = probe->skel;
	uint64_t sets = left > fixed ? (left - fixed) / set : 0;

	if (sets < SETS_MIN)
		return 0;
	if (sets > UINT32_MAX / ROW_WAYS)
		sets = UINT32_MAX / ROW_WAYS;
	skel->rodata->by = probe->config.by;
	skel->rodata->row_sets = sets;
	divide_way(probe->config.by, (uint32_t *)skel->rodata->trait_mask,
		   (uint32_t *)skel->rodata->trait_shift);
	if (bpf_map__set_max_entries(skel->maps.groups, GROUP_SETS) ||
	    bpf_map__set_max_entries(skel->maps.row_keys, sets) ||
	    bpf_map__set_max_entries(skel->maps.group_rows, sets * ROW_WAYS))
		return 0;
	return fixed + sets * set;
}

static uint32_t rows_of(const struct pkt_groups *g)
{
	return g->row_sets * ROW_WAYS;
}

static void *map_of(const struct bpf_map *map, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Without one nothing is ever freed: more is in the overflow then. */
static void open_barrier(struct pkt_groups *g)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);

	g->outer = -1;
	g->inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hostlat_wait", 4, 4, 1, NULL);
	if (g->inner < 0)
		return;
	opts.inner_map_fd = g->inner;
	g->outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "hostlat_wait", 4, 4, 1, &opts);
}

static int open_maps(struct pkt_groups *g, const struct watch_bpf *skel)
{
	g->sets = map_of(skel->maps.groups, GROUP_SETS * sizeof(*g->sets));
	g->keys = map_of(skel->maps.row_keys, g->row_sets * sizeof(*g->keys));
	g->rows = map_of(skel->maps.group_rows, rows_of(g) * sizeof(*g->rows));
	if (!g->sets || !g->keys || !g->rows)
		return -errno;
	for (uint32_t i = 0; i < rows_of(g); i++)
		g->rows[i].latency.min = g->rows[i].step.min = UINT64_MAX;
	return 0;
}

int pkt_groups_open(struct pkt_probe *probe)
{
	struct pkt_groups *g;

	if (!probe->config.by)
		return 0;
	g = probe->groups = calloc(1, sizeof(*g));
	if (!g)
		return -ENOMEM;
	open_barrier(g);
	vec_init(&g->told, TOLD_MAX);
	g->row_sets = probe->skel->rodata->row_sets;
	vec_init(&g->used, rows_of(g));
	g->taken = calloc(rows_of(g), sizeof(*g->taken));
	return g->taken ? open_maps(g, probe->skel) : -ENOMEM;
}

void pkt_groups_close(struct pkt_probe *probe)
{
	struct pkt_groups *g = probe->groups;

	if (!g)
		return;
	if (g->sets)
		munmap(g->sets, GROUP_SETS * sizeof(*g->sets));
	if (g->keys)
		munmap(g->keys, g->row_sets * sizeof(*g->keys));
	if (g->rows)
		munmap(g->rows, rows_of(g) * sizeof(*g->rows));
	for (uint32_t i = 0; g->taken && i < rows_of(g); i++) {
		free(g->taken[i].latency.bucket);
		free(g->taken[i].step.bucket);
	}
	if (g->outer >= 0)
		close(g->outer);
	if (g->inner >= 0)
		close(g->inner);
	free(g->taken);
	vec_release(&g->told);
	vec_release(&g->used);
	free(g);
	probe->groups = NULL;
}

/* ---- what is new in a row ---- */

/* Makes room for the buckets from `first` to `last`. */
static int widen(struct taken_hist *t, uint32_t first, uint32_t last)
{
	uint32_t from = t->n && t->first < first ? t->first : first;
	uint32_t to = t->n && t->first + t->n - 1 > last ? t->first + t->n - 1 : last;
	uint64_t *bucket;

	if (t->n && from == t->first && to == t->first + t->n - 1)
		return 0;
	bucket = calloc(to - from + 1, sizeof(*bucket));
	if (!bucket)
		return -ENOMEM;
	if (t->n)
		memcpy(bucket + (t->first - from), t->bucket, t->n * sizeof(*bucket));
	free(t->bucket);
	t->bucket = bucket;
	t->first = from;
	t->n = to - from + 1;
	return 0;
}

/* Adds to `sum` what `h` has more than what was taken of it. */
static int take_hist(struct row_hist *h, struct taken_hist *t, struct row_hist *sum)
{
	struct row_hist now = { .min = UINT64_MAX };
	uint32_t first = ROW_BUCKETS, last = 0;

	deltas_merge(h, &now);
	for (uint32_t i = 0; i < ROW_BUCKETS; i++) {
		if (!now.bucket[i])
			continue;
		first = i < first ? i : first;
		last = i;
	}
	if (first < ROW_BUCKETS && widen(t, first, last))
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++) {
		sum->bucket[t->first + i] += now.bucket[t->first + i] - t->bucket[i];
		t->bucket[i] = now.bucket[t->first + i];
	}
	sum->sum += now.sum - t->sum;
	sum->zero += now.zero - t->zero;
	sum->over += now.over - t->over;
	t->sum = now.sum;
	t->zero = now.zero;
	t->over = now.over;
	sum->min = now.min < sum->min ? now.min : sum->min;
	sum->max = now.max > sum->max ? now.max : sum->max;
	return 0;
}

static int take_row(struct pkt_groups *g, uint32_t place, struct stage_row *sum)
{
	int err = take_hist(&g->rows[place].latency, &g->taken[place].latency, &sum->latency);

	return err ? err : take_hist(&g->rows[place].step, &g->taken[place].step, &sum->step);
}

/* ---- what it is called ---- */

static int compare_traits(const struct group_traits *a, const struct group_traits *b)
{
	return memcmp(a, b, sizeof(*a));
}

static void put_group(struct out *o, const struct told *told)
{
	struct event_group group = { .id = told->id, .n = told->n };
	int err = event_put_array(o->sink, EV_GROUP, o->now, &group, sizeof(group), told->labels,
				  told->n * sizeof(told->labels[0]));

	if (!o->err)
		o->err = err;
}

/* Once in a snapshot: is it still called what it was? Else from here on it is another group. */
static uint32_t tell_again(struct out *o, struct told *told)
{
	struct pkt_groups *g = o->probe->groups;

	if (told->checked == o->now)
		return told->id;
	told->checked = o->now;
	if (g->last_id < TOLD_MAX && group_relabel(o, &told->traits, told->labels, told->n)) {
		told->id = ++g->last_id;
		put_group(o, told);
	}
	return told->id;
}

/* The stream's number of a group, which is told of first; 0: one too many. */
static uint32_t tell(struct out *o, const struct group_traits *traits)
{
	struct pkt_groups *g = o->probe->groups;
	struct told fresh = { .traits = *traits, .id = g->last_id + 1, .checked = o->now };
	const size_t at = sort_first(i, 0, g->told.len,
				     compare_traits(&g->told.items[i].traits, traits) >= 0);

	if (at < g->told.len && !compare_traits(&g->told.items[at].traits, traits))
		return tell_again(o, &g->told.items[at]);
	if (fresh.id > TOLD_MAX)
		return 0;
	fresh.n = group_labels(o, traits, fresh.labels);
	if (vec_push(&g->told, fresh))
		return 0;
	g->last_id = fresh.id;
	memmove(&g->told.items[at + 1], &g->told.items[at],
		(g->told.len - 1 - at) * sizeof(fresh));
	g->told.items[at] = fresh;
	put_group(o, &fresh);
	return fresh.id;
}

static struct group_place *place_of(const struct pkt_groups *g, uint32_t place)
{
	return &g->sets[place / GROUP_WAYS].at[place % GROUP_WAYS];
}

/* NULL: that group's place was freed; who still names it recorded for nobody in particular. */
static const struct group_traits *traits_of(const struct pkt_groups *g, uint32_t number)
{
	uint32_t i = GROUP_PLACE(number);
	const struct group_place *p;

	if (i >= GROUP_PLACES)
		return NULL;
	p = place_of(g, i);
	if ((p->state != GROUP_READY && p->state != GROUP_LEAVING) ||
	    GROUP_NUMBER(i, p->generation) != number)
		return NULL;
	return &p->traits;
}

/* ---- what is there ---- */

static __u64 *key_at(const struct pkt_groups *g, uint32_t place)
{
	return &g->keys[place / ROW_WAYS].key[place % ROW_WAYS];
}

static bool is_fresh(const struct stage_row *r)
{
	return (r->latency.min & r->step.min) != UINT64_MAX;
}

static int collect(struct pkt_groups *g, uint64_t now)
{
	int err = 0;

	vec_clear(&g->used);
	for (uint32_t i = 0; !err && i < rows_of(g); i++) {
		uint64_t key = __atomic_load_n(key_at(g, i), __ATOMIC_ACQUIRE);

		if (!key)
			continue;
		if (!g->taken[i].used_ns || is_fresh(&g->rows[i]))
			g->taken[i].used_ns = now;
		if (is_fresh(&g->rows[i]) && traits_of(g, ROW_KEY_GROUP(key)))
			g->used_ns[GROUP_PLACE(ROW_KEY_GROUP(key))] = now;
		err = vec_push(&g->used, (struct used_row){ .key = key, .place = i });
	}
	g->places_used = 0;
	for (uint32_t i = 0; i < GROUP_PLACES; i++) {
		if (place_of(g, i)->state != GROUP_READY)
			continue;
		g->places_used++;
		if (!g->used_ns[i] || place_of(g, i)->used)
			g->used_ns[i] = now;
		place_of(g, i)->used = 0;
	}
	return err;
}

/* ---- making room ---- */

static bool crowded(const struct pkt_groups *g)
{
	return g->used.len > rows_of(g) / 2 || g->places_used > GROUP_PLACES / 2;
}

/* Returns whether anything is. */
static bool mark(struct pkt_groups *g, uint64_t now)
{
	bool any = false;

	vec_for_each(&g->used, u) {
		u->leaving = now - g->taken[u->place].used_ns >= IDLE_NS;
		any |= u->leaving;
		if (u->leaving)
			__atomic_store_n(key_at(g, u->place), ROW_LEAVING, __ATOMIC_SEQ_CST);
	}
	for (uint32_t i = 0; i < GROUP_PLACES; i++) {
		struct group_place *p = place_of(g, i);

		if (p->state != GROUP_READY || now - g->used_ns[i] < IDLE_NS)
			continue;
		__atomic_store_n(&p->state, GROUP_LEAVING, __ATOMIC_SEQ_CST);
		any = true;
	}
	return any;
}

/* Whatever was marked is free, or has its owner back. */
static void unmark(struct pkt_groups *g, struct watch_bpf *skel, bool left)
{
	bool freed = false;

	vec_for_each(&g->used, u) {
		if (!u->leaving)
			continue;
		if (left)
			g->taken[u->place].used_ns = 0;
		__atomic_store_n(key_at(g, u->place), left ? 0 : u->key, __ATOMIC_SEQ_CST);
		u->leaving = false;
	}
	for (uint32_t i = 0; i < GROUP_PLACES; i++) {
		struct group_place *p = place_of(g, i);

		if (p->state != GROUP_LEAVING)
			continue;
		if (left) {
			g->used_ns[i] = 0;
			p->generation++;
			freed = true;
		}
		__atomic_store_n(&p->state, left ? GROUP_FREE : GROUP_READY, __ATOMIC_SEQ_CST);
	}
	if (freed)
		__atomic_fetch_add(&skel->bss->groups_freed, 1, __ATOMIC_SEQ_CST);
}

/* What is marked then is used by no program any more. */
static void make_room(struct pkt_groups *g, struct watch_bpf *skel, uint64_t now)
{
	const uint32_t first = 0;

	if (!crowded(g) || g->outer < 0 || !mark(g, now))
		return;
	if (bpf_map_update_elem(g->outer, &first, &g->inner, BPF_ANY))
		unmark(g, skel, false);
}

/* ---- the whole ---- */

/* Rows of one group and kind on different CPUs are neighbours. */
static int compare_used(const void *a, const void *b)
{
	const struct used_row *x = a, *y = b;
	uint64_t of_x = (uint64_t)ROW_KEY_GROUP(x->key) << 8 | ROW_KEY_ID(x->key);
	uint64_t of_y = (uint64_t)ROW_KEY_GROUP(y->key) << 8 | ROW_KEY_ID(y->key);

	return of_x < of_y ? -1 : of_x > of_y;
}

static void put_sum(struct out *o, uint64_t key, struct stage_row *sum)
{
	const struct group_traits *traits = traits_of(o->probe->groups, ROW_KEY_GROUP(key));
	uint32_t id = traits && o->sink ? tell(o, traits) : 0;
	static const struct stage_row nothing;

	deltas_row(o, ROW_KEY_ID(key), id, id ? 0 : HIST_OVERFLOW_GROUP, sum, &nothing);
}

/* The rows from `i` on that are of one group and kind. Returns how many there are. */
static size_t put_rows(struct out *o, size_t i)
{
	struct pkt_groups *g = o->probe->groups;
	struct stage_row sum = { .latency.min = UINT64_MAX, .step.min = UINT64_MAX };
	uint64_t key = g->used.items[i].key;
	bool fresh = false;
	size_t n = 0;

	while (i + n < g->used.len && !compare_used(&g->used.items[i], &g->used.items[i + n])) {
		uint32_t at = g->used.items[i + n++].place;

		if (!is_fresh(&g->rows[at]))
			continue;
		fresh = true;
		if (take_row(g, at, &sum) && !o->err)
			o->err = -ENOMEM;
	}
	if (!fresh)
		return n;
	put_sum(o, key, &sum);
	return n;
}

void pkt_groups_put(struct out *o)
{
	struct pkt_groups *g = o->probe->groups;
	int err;

	if (!g)
		return;
	err = collect(g, o->now);
	if (err) {
		o->err = o->err ? o->err : err;
		return;
	}
	make_room(g, o->probe->skel, o->now);
	qsort(g->used.items, g->used.len, sizeof(g->used.items[0]), compare_used);
	for (size_t i = 0; i < g->used.len;)
		i += put_rows(o, i);
	unmark(g, o->probe->skel, true);
}
