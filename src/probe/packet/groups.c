/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Groups (--by): puts the programs' two tables, the groups and their rows of histograms, as
 * EV_GROUP and EV_HIST.
 *
 * Once a table is half full, hostlat frees idle entries: it marks an entry, so that no program
 * finds it, waits for programs that found it earlier, reads it for the last time and frees it.
 * Waiting is an update of a map of maps, which returns once all running programs have ended
 * (kernel/bpf/syscall.c, maybe_wait_bpf_programs()). Counters are not reset: the next owner
 * continues from them.
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
/* bytes the kernel adds to the five maps of groups; bench/groups checks them */
#define KERNEL_ADDS (64ULL << 10)
#define SETS_MIN 64            /* least number of struct row_set; enough for some ten groups */
#define GROUPS_MAX 4096        /* groups of a run; later ones count as overflow */
#define IDLE_NS (10 * NS_PER_S) /* age at which an unused entry is idle */

/* The reported part of a distribution: only the touched range of its buckets is stored. */
struct reported_hist {
	uint64_t sum, zero, over;
	uint32_t first, n;
	uint64_t *bucket;
};

struct reported_row {
	struct reported_hist latency, step;
	uint64_t used_ns; /* when the row's counts last grew */
};

/* A row of histograms that belongs to a group. */
struct used_row {
	uint64_t key; /* CPU, index in struct cpu_state, and group of the row: ROW_KEY() */
	uint32_t place;
	bool leaving;
};

struct known_group {
	struct group_traits traits;
	uint32_t id; /* group number in the event stream */
	uint32_t n;
	struct event_label labels[GROUP_KEY_MAX];
	uint64_t checked; /* time of the snapshot that last checked the labels */
};

struct pkt_groups {
	uint32_t row_sets;
	struct group_set *sets; /* mapped BPF map: groups */
	struct row_set *keys;   /* mapped BPF map: ROW_KEY(cpu, id, group) of each row in `rows` */
	struct stage_row *rows; /* mapped BPF map: rows of histograms */
	struct reported_row *reported;  /* counts of each row of histograms at the last report */
	uint64_t used_ns[GROUP_PLACES]; /* time of each group's last use; 0: the entry is free */
	uint32_t places_used;
	/* groups put as EV_GROUP, sorted by traits */
	struct known_group_vec VEC_OF(struct known_group) known;
	uint32_t last_id;
	struct used_vec VEC_OF(struct used_row) used;
	/* map and map of maps (descriptors), whose update waits for running programs; -1: none */
	int inner, outer;
};

/* ---- sizes ---- */

/* Divides the bits of the packet traits among the fields of --by; the first field gets the most. */
static void groups_divide_traits(uint32_t by, uint32_t mask[TRAIT_FIELDS],
				 uint32_t shift[TRAIT_FIELDS])
{
	static const uint32_t key[TRAIT_FIELDS] = {
		[TRAIT_IFINDEX] = GROUP_IFINDEX, [TRAIT_CPU] = GROUP_CPU, [TRAIT_RXQ] = GROUP_RXQ,
	};
	static const uint32_t bits[TRAIT_FIELDS][TRAIT_FIELDS] = {
		{ 31 }, { 20, 12 }, { 14, 10, 8 }, /* bits per field, for one, two, three fields */
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

uint64_t pkt_groups_set_size(struct pkt_probe *probe, uint64_t left)
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
	groups_divide_traits(probe->config.by, (uint32_t *)skel->rodata->trait_mask,
			     (uint32_t *)skel->rodata->trait_shift);
	if (bpf_map__set_max_entries(skel->maps.groups, GROUP_SETS) ||
	    bpf_map__set_max_entries(skel->maps.row_keys, sets) ||
	    bpf_map__set_max_entries(skel->maps.group_rows, sets * ROW_WAYS))
		return 0;
	return fixed + sets * set;
}

static uint32_t groups_row_count(const struct pkt_groups *g)
{
	return g->row_sets * ROW_WAYS;
}

static void *groups_map(const struct bpf_map *map, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	return p == MAP_FAILED ? NULL : p;
}

/*
 * Creates the map of maps by which hostlat waits for running programs before it frees entries. If
 * this fails, no entry is freed, and more groups count as overflow.
 */
static void groups_open_barrier(struct pkt_groups *g)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts);

	g->outer = -1;
	g->inner = bpf_map_create(BPF_MAP_TYPE_ARRAY, "hostlat_wait", 4, 4, 1, NULL);
	if (g->inner < 0)
		return;
	opts.inner_map_fd = g->inner;
	g->outer = bpf_map_create(BPF_MAP_TYPE_ARRAY_OF_MAPS, "hostlat_wait", 4, 4, 1, &opts);
}

static int groups_open_maps(struct pkt_groups *g, const struct watch_bpf *skel)
{
	g->sets = groups_map(skel->maps.groups, GROUP_SETS * sizeof(*g->sets));
	g->keys = groups_map(skel->maps.row_keys, g->row_sets * sizeof(*g->keys));
	g->rows = groups_map(skel->maps.group_rows, groups_row_count(g) * sizeof(*g->rows));
	if (!g->sets || !g->keys || !g->rows)
		return -errno;
	for (uint32_t i = 0; i < groups_row_count(g); i++)
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
	groups_open_barrier(g);
	vec_init(&g->known, GROUPS_MAX);
	g->row_sets = probe->skel->rodata->row_sets;
	vec_init(&g->used, groups_row_count(g));
	g->reported = calloc(groups_row_count(g), sizeof(*g->reported));
	return g->reported ? groups_open_maps(g, probe->skel) : -ENOMEM;
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
		munmap(g->rows, groups_row_count(g) * sizeof(*g->rows));
	for (uint32_t i = 0; g->reported && i < groups_row_count(g); i++) {
		free(g->reported[i].latency.bucket);
		free(g->reported[i].step.bucket);
	}
	if (g->outer >= 0)
		close(g->outer);
	if (g->inner >= 0)
		close(g->inner);
	free(g->reported);
	vec_release(&g->known);
	vec_release(&g->used);
	free(g);
	probe->groups = NULL;
}

/* ---- growth of a row ---- */

/* Extends the stored range to the buckets `first` to `last`. Returns 0 or -ENOMEM. */
static int groups_widen_hist(struct reported_hist *t, uint32_t first, uint32_t last)
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

/* Adds the growth of `h` since the last report to `sum`. Returns 0 or -ENOMEM. */
static int groups_add_hist(struct row_hist *h, struct reported_hist *t, struct row_hist *sum)
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
	if (first < ROW_BUCKETS && groups_widen_hist(t, first, last))
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

static int groups_add_row(struct pkt_groups *g, uint32_t place, struct stage_row *sum)
{
	int err = groups_add_hist(&g->rows[place].latency, &g->reported[place].latency,
				  &sum->latency);

	return err ? err
		   : groups_add_hist(&g->rows[place].step, &g->reported[place].step, &sum->step);
}

/* ---- names ---- */

static int groups_compare_traits(const struct group_traits *a, const struct group_traits *b)
{
	return memcmp(a, b, sizeof(*a));
}

static void groups_put_group(struct delta_out *o, const struct known_group *known)
{
	struct event_group group = { .id = known->id, .n = known->n };
	int err = event_put_array(o->sink, EV_GROUP, o->now, &group, sizeof(group), known->labels,
				  known->n * sizeof(known->labels[0]));

	if (!o->err)
		o->err = err;
}

/*
 * Returns the id of a known group. If its names, checked once per snapshot, have changed, the group
 * is put again with a new id.
 */
static uint32_t groups_reannounce(struct delta_out *o, struct known_group *known)
{
	struct pkt_groups *g = o->probe->groups;

	if (known->checked == o->now)
		return known->id;
	known->checked = o->now;
	if (g->last_id < GROUPS_MAX &&
	    label_group_again(o, &known->traits, known->labels, known->n)) {
		known->id = ++g->last_id;
		groups_put_group(o, known);
	}
	return known->id;
}

/* Returns a group's id in the stream, and puts EV_GROUP for a new group. 0: over GROUPS_MAX. */
static uint32_t groups_announce(struct delta_out *o, const struct group_traits *traits)
{
	struct pkt_groups *g = o->probe->groups;
	struct known_group fresh = { .traits = *traits, .id = g->last_id + 1, .checked = o->now };
	const size_t at = sort_first(i, 0, g->known.len,
				     groups_compare_traits(&g->known.items[i].traits, traits) >= 0);

	if (at < g->known.len && !groups_compare_traits(&g->known.items[at].traits, traits))
		return groups_reannounce(o, &g->known.items[at]);
	if (fresh.id > GROUPS_MAX)
		return 0;
	fresh.n = label_group(o, traits, fresh.labels);
	if (vec_push(&g->known, fresh))
		return 0;
	g->last_id = fresh.id;
	memmove(&g->known.items[at + 1], &g->known.items[at],
		(g->known.len - 1 - at) * sizeof(fresh));
	g->known.items[at] = fresh;
	groups_put_group(o, &fresh);
	return fresh.id;
}

static struct group_place *groups_place(const struct pkt_groups *g, uint32_t place)
{
	return &g->sets[place / GROUP_WAYS].at[place % GROUP_WAYS];
}

/*
 * Returns a group's traits; NULL if its entry is already freed. Counts that programs added late for
 * a freed group belong to the overflow group.
 */
static const struct group_traits *groups_traits(const struct pkt_groups *g, uint32_t number)
{
	uint32_t i = GROUP_PLACE(number);
	const struct group_place *p;

	if (i >= GROUP_PLACES)
		return NULL;
	p = groups_place(g, i);
	if ((p->state != GROUP_READY && p->state != GROUP_LEAVING) ||
	    GROUP_NUMBER(i, p->generation) != number)
		return NULL;
	return &p->traits;
}

/* ---- entries in use ---- */

static __u64 *groups_row_key(const struct pkt_groups *g, uint32_t place)
{
	return &g->keys[place / ROW_WAYS].key[place % ROW_WAYS];
}

static bool groups_row_is_fresh(const struct stage_row *r)
{
	return (r->latency.min & r->step.min) != UINT64_MAX;
}

static int groups_collect_used(struct pkt_groups *g, uint64_t now)
{
	int err = 0;

	vec_clear(&g->used);
	for (uint32_t i = 0; !err && i < groups_row_count(g); i++) {
		uint64_t key = __atomic_load_n(groups_row_key(g, i), __ATOMIC_ACQUIRE);

		if (!key)
			continue;
		if (!g->reported[i].used_ns || groups_row_is_fresh(&g->rows[i]))
			g->reported[i].used_ns = now;
		if (groups_row_is_fresh(&g->rows[i]) && groups_traits(g, ROW_KEY_GROUP(key)))
			g->used_ns[GROUP_PLACE(ROW_KEY_GROUP(key))] = now;
		err = vec_push(&g->used, (struct used_row){ .key = key, .place = i });
	}
	g->places_used = 0;
	for (uint32_t i = 0; i < GROUP_PLACES; i++) {
		if (groups_place(g, i)->state != GROUP_READY)
			continue;
		g->places_used++;
		if (!g->used_ns[i] || groups_place(g, i)->used)
			g->used_ns[i] = now;
		groups_place(g, i)->used = 0;
	}
	return err;
}

/* ---- freeing ---- */

static bool groups_are_crowded(const struct pkt_groups *g)
{
	return g->used.len > groups_row_count(g) / 2 || g->places_used > GROUP_PLACES / 2;
}

/*
 * Marks rows of histograms and groups not used for IDLE_NS, so that programs no longer find them.
 * Returns true if it marked any.
 */
static bool groups_mark_idle(struct pkt_groups *g, uint64_t now)
{
	bool any = false;

	vec_for_each(&g->used, u) {
		u->leaving = now - g->reported[u->place].used_ns >= IDLE_NS;
		any |= u->leaving;
		if (u->leaving)
			__atomic_store_n(groups_row_key(g, u->place), ROW_LEAVING,
					 __ATOMIC_SEQ_CST);
	}
	for (uint32_t i = 0; i < GROUP_PLACES; i++) {
		struct group_place *p = groups_place(g, i);

		if (p->state != GROUP_READY || now - g->used_ns[i] < IDLE_NS)
			continue;
		__atomic_store_n(&p->state, GROUP_LEAVING, __ATOMIC_SEQ_CST);
		any = true;
	}
	return any;
}

/* Frees the marked entries if no running program uses them any more (`left`), else unmarks them. */
static void groups_release_marked(struct pkt_groups *g, struct watch_bpf *skel, bool left)
{
	bool freed = false;

	vec_for_each(&g->used, u) {
		if (!u->leaving)
			continue;
		if (left)
			g->reported[u->place].used_ns = 0;
		__atomic_store_n(groups_row_key(g, u->place), left ? 0 : u->key, __ATOMIC_SEQ_CST);
		u->leaving = false;
	}
	for (uint32_t i = 0; i < GROUP_PLACES; i++) {
		struct group_place *p = groups_place(g, i);

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

/* In a crowded table, marks idle entries and waits until no running program uses them. */
static void groups_make_room(struct pkt_groups *g, struct watch_bpf *skel, uint64_t now)
{
	const uint32_t first = 0;

	if (!groups_are_crowded(g) || g->outer < 0 || !groups_mark_idle(g, now))
		return;
	if (bpf_map_update_elem(g->outer, &first, &g->inner, BPF_ANY))
		groups_release_marked(g, skel, false);
}

/* ---- all groups ---- */

/* Orders rows by group, then by ROW_KEY_ID(): rows to sum over CPUs are neighbors. */
static int groups_compare_used(const void *a, const void *b)
{
	const struct used_row *x = a, *y = b;
	uint64_t of_x = (uint64_t)ROW_KEY_GROUP(x->key) << 8 | ROW_KEY_ID(x->key);
	uint64_t of_y = (uint64_t)ROW_KEY_GROUP(y->key) << 8 | ROW_KEY_ID(y->key);

	return of_x < of_y ? -1 : of_x > of_y;
}

static void groups_put_sum(struct delta_out *o, uint64_t key, struct stage_row *sum)
{
	const struct group_traits *traits = groups_traits(o->probe->groups, ROW_KEY_GROUP(key));
	uint32_t id = traits && o->sink ? groups_announce(o, traits) : 0;
	static const struct stage_row nothing;

	deltas_row(o, ROW_KEY_ID(key), id, id ? 0 : HIST_OVERFLOW_GROUP, sum, &nothing);
}

/*
 * Sums one group's row of histograms over CPUs and puts the sum as EV_HIST. The CPUs' rows are
 * neighbors in the list of used rows, from index `i` on. Returns the number of these rows.
 */
static size_t groups_put_rows(struct delta_out *o, size_t i)
{
	struct pkt_groups *g = o->probe->groups;
	struct stage_row sum = { .latency.min = UINT64_MAX, .step.min = UINT64_MAX };
	uint64_t key = g->used.items[i].key;
	bool fresh = false;
	size_t n = 0;

	while (i + n < g->used.len &&
	       !groups_compare_used(&g->used.items[i], &g->used.items[i + n])) {
		uint32_t at = g->used.items[i + n++].place;

		if (!groups_row_is_fresh(&g->rows[at]))
			continue;
		fresh = true;
		if (groups_add_row(g, at, &sum) && !o->err)
			o->err = -ENOMEM;
	}
	if (!fresh)
		return n;
	groups_put_sum(o, key, &sum);
	return n;
}

void pkt_groups_put(struct delta_out *o)
{
	struct pkt_groups *g = o->probe->groups;
	int err;

	if (!g)
		return;
	err = groups_collect_used(g, o->now);
	if (err) {
		o->err = o->err ? o->err : err;
		return;
	}
	groups_make_room(g, o->probe->skel, o->now);
	qsort(g->used.items, g->used.len, sizeof(g->used.items[0]), groups_compare_used);
	for (size_t i = 0; i < g->used.len;)
		i += groups_put_rows(o, i);
	groups_release_marked(g, o->probe->skel, true);
}
