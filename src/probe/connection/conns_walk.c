/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/conns_walk.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "bpf/abi_calls.h"
#include "bpf/conns.skel.h"

#define TRIES_MOST 100  /* runs in a row that wait for a key to be written, */
#define PAUSE_NS 100000 /* ... with this between them */
#define SWEEP_LEAST 4096 /* keys that came since the last sweep, at least */
#define READ_AGAIN 4 /* passes over all, at most, until no connection was passed over */

/* ---- iterators ---- */

/* The iterator says by a byte that it pauses, for the ring's sake or at its quota. */
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

/* NULL: errno says why not. */
static struct bpf_link *attach_visit(const struct bpf_program *program, const struct bpf_map *map)
{
	union bpf_iter_link_info info = { .map.map_fd = (__u32)bpf_map__fd(map) };
	LIBBPF_OPTS(bpf_iter_attach_opts, options, .link_info = &info,
		    .link_info_len = sizeof(info));

	return bpf_program__attach_iter(program, &options);
}

static int attach_visits(struct conns_walk *w)
{
	const struct bpf_map *maps[LEVELS] = {
		w->skel->maps.kept, w->skel->maps.warm, w->skel->maps.hot,
	};

	int fd;

	for (int i = 0; i < LEVELS; i++) {
		w->visit[i] = attach_visit(w->skel->progs.conn_visit, maps[i]);
		if (!w->visit[i])
			return -errno;
	}
	w->visit_quiet = attach_visit(w->skel->progs.conn_visit_rest, w->skel->maps.quiet);
	if (!w->visit_quiet)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(w->visit_quiet)); /* which may be refused by itself */
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/*
 * By one iterator of the level. That of the rest has another one, over idle connections: it comes
 * first, as a connection that becomes active meanwhile is then among the others.
 */
static int iterate_part(struct conns_walk *w, enum conn_level level, bool *ended)
{
	const bool quiet = level == LEVEL_REST && !w->behind_quiet[level];
	int *fd = &w->reading[level], err;

	if (*fd < 0)
		*fd = bpf_iter_create(bpf_link__fd(quiet ? w->visit_quiet : w->visit[level]));
	if (*fd < 0)
		return -errno;
	err = conns_walk_iterator(w, *fd, ended);
	if (!*ended)
		return err;
	close(*fd);
	*fd = -1;
	w->behind_quiet[level] = quiet;
	return err;
}

/* ---- tables ---- */

static bool walks_tables(const struct conns_walk *w)
{
	return w->skel->rodata->in_tables;
}

/* A record that no walk has met has 0; each is met far sooner than after 65,536 walks. */
static uint32_t next_number(uint32_t *last)
{
	do
		++*last;
	while (!(uint16_t)*last);
	return *last;
}

/*
 * The program pauses when the ring is nearly full, at its quota, or at a key that another CPU has
 * yet to write: if that one is not given the CPU, it is the next pass that meets it.
 */
static int walk_table(struct conns_walk *w, enum pass_table table, uint32_t *keys, bool *ended)
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
		b->number = next_number(&w->numbers[table]);
		err = bpf_prog_test_run_opts(bpf_program__fd(w->skel->progs.conn_walk), &options);
		if (!err && b->paused) {
			w->paused = true;
			w->empty(w->ctx);
		}
		tries = b->members == before ? tries + 1 : 0;
		if (tries && b->paused) /* who adds the key needs a CPU, maybe this one */
			clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
	} while (!err && b->paused && b->members < b->quota && tries < TRIES_MOST);
	*ended = !err && (!b->paused || tries == TRIES_MOST);
	*keys = err || *ended ? PASS_ALL : b->keys;
	return err;
}

/*
 * Keys of records that are gone leave a ring only when a walk meets them, and walks over a level
 * are as rare as its members are few. What a sweep costs each key pays about twice.
 */
static int sweep(struct conns_walk *w)
{
	const volatile struct key_ring *rings[PASS_TABLES] = {
		[PASS_KEPT] = &w->skel->bss->kept_ring, [PASS_QUIET] = &w->skel->bss->quiet_ring,
		[PASS_WARM] = &w->skel->bss->warm_ring, [PASS_HOT] = &w->skel->bss->hot_ring,
	};
	int err = 0;

	for (int t = 0; t < PASS_TABLES && !err; t++) {
		const uint32_t n = rings[t]->tail - rings[t]->head;
		uint32_t keys = PASS_ALL;
		bool ended;

		if (n < w->swept[t] + w->swept[t] / 2 + SWEEP_LEAST)
			continue;
		w->skel->bss->pass = (struct conn_pass){ .quota = UINT64_MAX, .sweep = 1,
							 .level = LEVELS };
		err = walk_table(w, (enum pass_table)t, &keys, &ended);
		w->swept[t] = rings[t]->tail - rings[t]->head;
	}
	return err;
}

static enum pass_table table_of(enum conn_level level, bool quiet)
{
	static const enum pass_table tables[LEVELS] = { PASS_KEPT, PASS_WARM, PASS_HOT };

	return quiet ? PASS_QUIET : tables[level];
}

/* By one table of the level. Idle connections come first, as with iterators. */
static int walk_part(struct conns_walk *w, enum conn_level level, bool *ended)
{
	const bool quiet = level == LEVEL_REST && !w->behind_quiet[level];
	int err = walk_table(w, table_of(level, quiet), &w->keys[level], ended);

	if (*ended)
		w->behind_quiet[level] = quiet;
	return err;
}

/* ---- passes ---- */

/* `sample_us`: 0 to tell them. */
static void prepare(struct conns_walk *w, enum conn_level level, uint32_t sample_us,
		    uint64_t quota)
{
	w->skel->bss->pass = (struct conn_pass){
		.quota = quota, .sample_us = sample_us, .tell = !sample_us,
		.level = level == LEVEL_REST ? LEVELS : level,
	};
}

/* A pass that had paused behind the last one ends without a visit: then there is another one. */
static int read_some(struct conns_walk *w, enum conn_level level, bool *ended)
{
	bool resumed = w->reading[level] >= 0 || w->keys[level] != PASS_ALL;
	int err;

	do
		err = walks_tables(w) ? walk_part(w, level, ended) :
					iterate_part(w, level, ended);
	while (!err && *ended && w->behind_quiet[level]);
	return !err && resumed && *ended && !w->skel->bss->pass.members ?
	       read_some(w, level, ended) : err;
}

/*
 * From the first on. A pass that goes on after a pause passes over as many as were removed
 * meanwhile: then all are visited again, which is quick where nothing has changed.
 */
static int read_all(struct conns_walk *w, enum conn_level level, bool *ended)
{
	const volatile __u64 *removed = &w->skel->bss->removed;
	__u64 before;
	int err;

	if (w->reading[level] >= 0)
		close(w->reading[level]);
	w->reading[level] = -1;
	w->keys[level] = PASS_ALL;
	w->behind_quiet[level] = false;
	for (int i = 0; i < READ_AGAIN; i++) {
		before = *removed;
		w->paused = false;
		err = read_some(w, level, ended);
		if (err || !w->paused || *removed == before)
			break;
	}
	return err;
}

int conns_walk_sample(struct conns_walk *w, enum conn_level level, uint32_t sample_us)
{
	uint32_t keys = PASS_ALL;
	bool ended;

	prepare(w, level, sample_us, UINT64_MAX);
	return walks_tables(w) ? walk_table(w, table_of(level, false), &keys, &ended) :
				 conns_walk_link(w, w->visit[level]);
}

int conns_walk_read(struct conns_walk *w, enum conn_level level, uint64_t quota, bool *ended)
{
	const bool all = quota == UINT64_MAX;
	const int err = walks_tables(w) ? sweep(w) : 0;

	*ended = false;
	prepare(w, level, 0, quota);
	if (err || !quota)
		return err;
	return all ? read_all(w, level, ended) : read_some(w, level, ended);
}

/* ---- life ---- */

/* Of the smallest table: a kernel may load the program and refuse to run it. */
static int try_walk(struct conns_walk *w)
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
	return walks_tables(w) ? try_walk(w) : attach_visits(w);
}

void conns_walk_release(struct conns_walk *w)
{
	for (int i = 0; w->skel && i < LEVELS; i++) {
		if (w->reading[i] >= 0)
			close(w->reading[i]);
		bpf_link__destroy(w->visit[i]);
	}
	bpf_link__destroy(w->visit_quiet);
}
