/* SPDX-License-Identifier: Apache-2.0 */
#include "load/worker_memory.h"

#include <errno.h>
#include <stdlib.h>

#include "load/conn_session.h"
#include "load/route.h"

#define SAMPLE_PLACES (1 << 15)
#define TICK_PLACES 1024
#define FLOW_SPARE 4096
/* Number of requests, besides those in flight, that may wait for stamps after their replies. */
#define HELD_MAX 8192

static uint64_t power_of_two(uint64_t at_least)
{
	uint64_t n = 1;

	while (n < at_least)
		n *= 2;
	return n;
}

/* Gives the connections to the pools in turn; each thread begins with another pool. */
static int init_pools(struct load_thread *t)
{
	uint32_t *free;

	t->free = free = calloc(t->n_conns, sizeof(*t->free));
	t->pools = calloc(t->n_pools, sizeof(*t->pools));
	if (!t->free || !t->pools)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_conns; i++)
		t->conns[i].pool = &t->pools[(i + t->index) % t->n_pools];
	for (uint32_t k = 0; k < t->n_pools; k++) {
		const uint32_t first = (k + t->n_pools - t->index % t->n_pools) % t->n_pools;

		t->pools[k].free = free;
		t->pools[k].resend_end = &t->pools[k].resend;
		if (first < t->n_conns)
			free += (t->n_conns - first - 1) / t->n_pools + 1;
	}
	return 0;
}

static int init_requests(struct load_thread *t)
{
	uint64_t i, n = (uint64_t)t->n_conns * t->config->outstanding;

	/* In a cluster, as many again may wait for a connection to the node that MOVED names. */
	if (t->n_pools > 1)
		n *= 2;
	if (t->config->stamps != STAMPS_USER)
		n += HELD_MAX;
	t->requests = calloc(n, sizeof(*t->requests));
	if (!t->requests)
		return -ENOMEM;
	for (i = 0; i < n; i++) {
		t->requests[i].next = t->spare;
		t->spare = &t->requests[i];
	}
	return 0;
}

static int init_rings(struct load_thread *t)
{
	int err = spsc_init(&t->samples, sizeof(struct event_sample), SAMPLE_PLACES);

	if (!err)
		err = spsc_init(&t->flows, sizeof(struct event_flow),
				power_of_two(t->n_conns + FLOW_SPARE));
	if (!err)
		err = spsc_init(&t->ticks, sizeof(struct load_tick), TICK_PLACES);
	if (!err)
		err = dial_times_init(&t->dial_times);
	return err ? err : interference_thread_init(&t->interference);
}

void worker_follow_phcs(struct load_thread *t)
{
	for (uint32_t i = 0; i < t->n_nics; i++)
		clock_phc_update(&t->phcs[i], t->clock.offset_ns, t->clock.error_ns);
}

static int init_clocks(struct load_thread *t)
{
	int err = clock_follow_open(&t->follow, clock_system());

	if (!err)
		err = net_wait_add(&t->wait, clock_follow_fd(t->follow), WORKER_CLOCK_TAG);
	if (err)
		return err;
	clock_follow_last(t->follow, &t->clock);
	if (!t->n_nics)
		return 0;
	t->phcs = calloc(t->n_nics, sizeof(*t->phcs));
	if (!t->phcs)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n_nics; i++)
		t->phcs[i].fd = -1;
	for (uint32_t i = 0; i < t->n_nics && !err; i++)
		err = clock_phc_open(&t->phcs[i], t->nics[i].clock);
	worker_follow_phcs(t);
	return err;
}

int worker_memory_init(struct load_thread *t, size_t request_max)
{
	unsigned int i;
	int err;

	t->next = t->due = t->index;
	t->dirty_end = &t->dirty;
	list_init(&t->sent);
	list_init(&t->awaiting_stamps);
	list_init(&t->connecting);
	for (i = 0; i < LOAD_BACKOFFS; i++)
		list_init(&t->retry[i]);
	rng_init(&t->rng, t->config->seed + (t->index + 1) * 0xd1342543de82ef95ULL);
	t->out_size = request_max > LOAD_OUT_SIZE ? request_max : LOAD_OUT_SIZE;
	t->out = malloc(t->out_size);
	t->in = malloc(LOAD_IN_SIZE);
	t->conns = t->out && t->in ? calloc(t->n_conns, sizeof(*t->conns)) : NULL;
	if (!t->conns)
		return -ENOMEM;
	for (i = 0; i < t->n_conns; i++) {
		t->conns[i].index = i;
		t->conns[i].free_at = LOAD_NONE;
		t->conns[i].stream.fd = -1;
		match_init(&t->conns[i].match);
	}
	if (init_pools(t))
		return -ENOMEM;
	err = init_requests(t);
	if (!err)
		err = init_rings(t);
	if (!err)
		err = net_wait_init(&t->wait);
	return err ? err : init_clocks(t);
}

void worker_memory_release(struct load_thread *t)
{
	uint32_t i;

	for (i = 0; t->conns && i < t->n_conns; i++) {
		net_stream_close(&t->conns[i].stream);
		net_tls_free(t->conns[i].stream.tls);
		conn_session_close(&t->conns[i]);
	}
	for (i = 0; t->phcs && i < t->n_nics; i++)
		clock_phc_close(&t->phcs[i]);
	free(t->phcs);
	net_wait_release(&t->wait);
	clock_follow_free(t->follow);
	interference_thread_release(&t->interference);
	spsc_release(&t->samples);
	spsc_release(&t->flows);
	spsc_release(&t->ticks);
	dial_times_release(&t->dial_times);
	free(t->requests);
	free(t->conns);
	free(t->free);
	free(t->pools);
	route_free(t->route);
	free(t->out);
	free(t->in);
}
