/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/conns_walk.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "bpf/abi_calls.h"
#include "bpf/conns.skel.h"

/* maximum of successive runs of a BPF program that only wait for another CPU to write a key */
#define TRIES_MAX 100
#define PAUSE_NS 100000 /* ns between two runs of the program conn_walk that visit no connection */
#define SWEEP_MIN 4096 /* minimum of keys added to a table before the next sweep of stale keys */
#define READ_AGAIN 4 /* maximum of passes over all connections, as one may skip connections */

/* ---- iterators ---- */

/*
 * Reads a BPF iterator until its end or the quota. The iterator returns a byte when it pauses; this
 * function then empties the ring buffer and reads on.
 */
int conns_walk_iterator(struct conns_walk *w, int fd, bool *ended)
{
	volatile struct conn_pass *b = &w->skel->bss->pass;
	char byte;
	ssize_t n;

	do {
		n = read(fd, &byte, 1);
		if (n > 0) {
			w->paused = true;
			w->empty(w->ctx);
		}
	} while ((n > 0 && b->members < b->quota) ||
		 (n < 0 && (errno == EAGAIN || errno == EINTR)));
	*ended = n <= 0;
	return n < 0 ? -errno : 0;
}

int conns_walk_link(struct conns_walk *w, const struct bpf_link *link)
{
	int fd = bpf_iter_create(bpf_link__fd(link)), err;
	bool ended;

	if (fd < 0)
		return -errno;
	w->skel->bss->pass.quota = UINT64_MAX;
	err = conns_walk_iterator(w, fd, &ended);
	close(fd);
	return err;
}

/* Returns an iterator over `map`, or NULL with errno. */
static struct bpf_link *walk_attach_iterator(const struct bpf_program *program,
					     const struct bpf_map *map)
{
	union bpf_iter_link_info info = { .map.map_fd = (__u32)bpf_map__fd(map) };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
		    .link_info_len = sizeof(info));

	return bpf_program__attach_iter(program, &options);
}

static int walk_attach_iterators(struct conns_walk *w)
{
	const struct bpf_map *maps[LEVELS] = {
		w->skel->maps.conns, w->skel->maps.warm, w->skel->maps.hot,
	};

	int fd;

	for (int i = 0; i < LEVELS; i++) {
		w->visit[i] = walk_attach_iterator(w->skel->progs.conn_visit, maps[i]);
		if (!w->visit[i])
			return -errno;
	}
	w->visit_idle =
		walk_attach_iterator(w->skel->progs.conn_visit_rest, w->skel->maps.idle_conns);
	if (!w->visit_idle)
		return -errno;
	/* the kernel may accept the link but refuse the iterator */
	fd = bpf_iter_create(bpf_link__fd(w->visit_idle));
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/*
 * Continues an activity level's iterator. LEVEL_REST has two: idle connections come first, so that
 * a connection that becomes active meanwhile is then visited among the active connections.
 */
static int walk_iterate_part(struct conns_walk *w, enum conn_level level, bool *ended)
{
	const bool idle = level == LEVEL_REST && !w->idle_visited[level];
	int *fd = &w->reading[level], err;

	if (*fd < 0)
		*fd = bpf_iter_create(bpf_link__fd(idle ? w->visit_idle : w->visit[level]));
	if (*fd < 0)
		return -errno;
	err = conns_walk_iterator(w, *fd, ended);
	if (!*ended)
		return err;
	close(*fd);
	*fd = -1;
	w->idle_visited[level] = idle;
	return err;
}

/* ---- tables ---- */

static bool walk_is_over_tables(const struct conns_walk *w)
{
	return w->skel->rodata->in_tables;
}

/*
 * Returns the number of the next run of the program conn_walk over a table. Its low 16 bits, which
 * a record stores when visited, are never 0: 0 marks records that no run has visited. Each record
 * is visited again long before these bits repeat.
 */
static uint32_t walk_next_number(uint32_t *last)
{
	do
		++*last;
	while (!(uint16_t)*last);
	return *last;
}

/*
 * Runs the BPF program conn_walk over a table until it ends or reaches its quota. The program stops
 * early, and is run again, when the ring buffer is nearly full or another CPU has yet to write a
 * key. The next pass visits a key that stays unwritten.
 */
static int walk_run_table(struct conns_walk *w, enum pass_table table, uint32_t *keys, bool *ended)
{
	volatile struct conn_pass *b = &w->skel->bss->pass;
	LIBBPF_OPTS(bpf_test_run_opts, options);
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	uint64_t before;
	int err, tries = 0;

	b->table = table;
	b->keys = *keys;
	do {
		before = b->members;
		b->paused = 0;
		b->number = walk_next_number(&w->numbers[table]);
		err = bpf_prog_test_run_opts(bpf_program__fd(w->skel->progs.conn_walk), &options);
		if (!err && b->paused) {
			w->paused = true;
			w->empty(w->ctx);
		}
		tries = b->members == before ? tries + 1 : 0;
		/* sleep: the CPU that is writing the key may wait for this CPU */
		if (tries && b->paused)
			clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	} while (!err && b->paused && b->members < b->quota && tries < TRIES_MAX);
	*ended = !err && (!b->paused || tries == TRIES_MAX);
	*keys = err || *ended ? PASS_ALL : b->keys;
	return err;
}

/*
 * Removes keys of records that no longer exist from the tables. Otherwise only passes remove keys,
 * and passes over small levels are rare. A sweep costs about two visits per key.
 */
static int walk_sweep(struct conns_walk *w)
{
	const volatile struct key_ring *rings[PASS_TABLES] = {
		[PASS_CONNS] = &w->skel->bss->conns_ring,
		[PASS_IDLE] = &w->skel->bss->idle_conns_ring,
		[PASS_WARM] = &w->skel->bss->warm_ring,
		[PASS_HOT] = &w->skel->bss->hot_ring,
	};
	int err = 0;

	for (int t = 0; t < PASS_TABLES && !err; t++) {
		const uint32_t n = rings[t]->tail - rings[t]->head;
		uint32_t keys = PASS_ALL;
		bool ended;

		if (n < w->swept[t] + w->swept[t] / 2 + SWEEP_MIN)
			continue;
		w->skel->bss->pass = (struct conn_pass){ .quota = UINT64_MAX, .sweep = 1,
							 .level = LEVELS };
		err = walk_run_table(w, (enum pass_table)t, &keys, &ended);
		w->swept[t] = rings[t]->tail - rings[t]->head;
	}
	return err;
}

static enum pass_table walk_table_of_level(enum conn_level level, bool idle)
{
	static const enum pass_table tables[LEVELS] = { PASS_CONNS, PASS_WARM, PASS_HOT };

	return idle ? PASS_IDLE : tables[level];
}

/* Continues visiting an activity level's table; LEVEL_REST begins with idle connections. */
static int walk_table_part(struct conns_walk *w, enum conn_level level, bool *ended)
{
	const bool idle = level == LEVEL_REST && !w->idle_visited[level];
	int err = walk_run_table(w, walk_table_of_level(level, idle), &w->keys[level], ended);

	if (*ended)
		w->idle_visited[level] = idle;
	return err;
}

/* ---- passes ---- */

/* Prepares a visit of connections; sample_us 0: reports changes instead of sampling. */
static void walk_prepare(struct conns_walk *w, enum conn_level level, uint32_t sample_us,
			 uint64_t quota)
{
	w->skel->bss->pass = (struct conn_pass){
		.quota = quota, .sample_us = sample_us, .report = !sample_us,
		.level = level == LEVEL_REST ? LEVELS : level,
	};
}

/*
 * Continues to visit an activity level's connections. If the previous call had stopped just after
 * the last connection, starts again from the first.
 */
static int walk_read_part(struct conns_walk *w, enum conn_level level, bool *ended)
{
	bool resumed = w->reading[level] >= 0 || w->keys[level] != PASS_ALL;
	int err;

	do
		err = walk_is_over_tables(w) ? walk_table_part(w, level, ended) :
					walk_iterate_part(w, level, ended);
	while (!err && *ended && w->idle_visited[level]);
	return !err && resumed && *ended && !w->skel->bss->pass.members ?
	       walk_read_part(w, level, ended) : err;
}

/*
 * Reads all connections of an activity level from the first on. A resumed iterator skips as many
 * connections as were removed while it waited; then all are visited again, which is quick if they
 * are unchanged.
 */
static int walk_read_all(struct conns_walk *w, enum conn_level level, bool *ended)
{
	const volatile __u64 *removed = &w->skel->bss->removed;
	__u64 before;
	int err;

	if (w->reading[level] >= 0)
		close(w->reading[level]);
	w->reading[level] = -1;
	w->keys[level] = PASS_ALL;
	w->idle_visited[level] = false;
	for (int i = 0; i < READ_AGAIN; i++) {
		before = *removed;
		w->paused = false;
		err = walk_read_part(w, level, ended);
		if (err || !w->paused || *removed == before)
			break;
	}
	return err;
}

int conns_walk_sample(struct conns_walk *w, enum conn_level level, uint32_t sample_us)
{
	uint32_t keys = PASS_ALL;
	bool ended;

	walk_prepare(w, level, sample_us, UINT64_MAX);
	return walk_is_over_tables(w)
		       ? walk_run_table(w, walk_table_of_level(level, false), &keys, &ended)
		       : conns_walk_link(w, w->visit[level]);
}

int conns_walk_read(struct conns_walk *w, enum conn_level level, uint64_t quota, bool *ended)
{
	const bool all = quota == UINT64_MAX;
	const int err = walk_is_over_tables(w) ? walk_sweep(w) : 0;

	*ended = false;
	walk_prepare(w, level, 0, quota);
	if (err || !quota)
		return err;
	return all ? walk_read_all(w, level, ended) : walk_read_part(w, level, ended);
}

/* ---- life ---- */

/* Runs the program conn_walk over a small table: a kernel may load it, but refuse to run it. */
static int walk_try(struct conns_walk *w)
{
	LIBBPF_OPTS(bpf_test_run_opts, options);

	w->skel->bss->pass = (struct conn_pass){ .quota = UINT64_MAX, .keys = PASS_ALL,
						 .table = PASS_HOT };
	return bpf_prog_test_run_opts(bpf_program__fd(w->skel->progs.conn_walk), &options);
}

int conns_walk_open(struct conns_walk *w, struct conns_bpf *skel, void (*empty)(void *ctx),
		    void *ctx)
{
	*w = (struct conns_walk){ .skel = skel, .empty = empty, .ctx = ctx };
	for (int i = 0; i < LEVELS; i++) {
		w->reading[i] = -1;
		w->keys[i] = PASS_ALL;
	}
	return walk_is_over_tables(w) ? walk_try(w) : walk_attach_iterators(w);
}

void conns_walk_release(struct conns_walk *w)
{
	for (int i = 0; w->skel && i < LEVELS; i++) {
		if (w->reading[i] >= 0)
			close(w->reading[i]);
		bpf_link__destroy(w->visit[i]);
	}
	bpf_link__destroy(w->visit_idle);
}
