/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the programs cost, from traffic of our own over loopback while the kernel's statistics are
 * on: one message at a time to a thread that sleeps for it, back to back and with two pauses. Other
 * traffic of the host that comes by meanwhile is counted along with ours.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/bug.h"
#include "clock/clock.h"
#include "probe/packet/pair.h"
#include "probe/packet/pkt_internal.h"
#include "bpf/watch.skel.h"

#define PATIENCE_MS 1000

struct calibration {
	struct pkt_probe *probe;
	struct price_sample sample[COST_CLASSES][PRICE_POINTS][PRICE_BATCHES];
	struct cost_stats before;
};

/* ---- traffic ---- */

struct reader {
	struct loopback_pair pair;
	int read_fd; /* counts what was read */
	pthread_t thread;
};

static void *read_all(void *arg)
{
	struct reader *r = arg;
	uint64_t one = 1;
	char c = 1;

	while (c && recv(r->pair.rx, &c, 1, 0) == 1)
		if (write(r->read_fd, &one, sizeof(one)) != sizeof(one))
			break;
	return NULL;
}

static int reader_start(struct reader *r, int type)
{
	const struct timeval limit = { .tv_sec = PATIENCE_MS / 1000 };
	int err = loopback_pair(AF_INET, type, &r->pair);

	if (err)
		return err;
	setsockopt(r->pair.rx, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	r->read_fd = eventfd(0, EFD_CLOEXEC);
	err = r->read_fd < 0 ? -errno : -pthread_create(&r->thread, NULL, read_all, r);
	if (err) {
		loopback_pair_close(&r->pair);
		if (r->read_fd >= 0)
			close(r->read_fd);
	}
	return err;
}

static int send_one(struct reader *r, char what)
{
	struct pollfd p = { .fd = r->read_fd, .events = POLLIN };
	uint64_t n;

	if (send(r->pair.tx, &what, 1, MSG_NOSIGNAL) != 1)
		return -errno;
	if (poll(&p, 1, PATIENCE_MS) != 1)
		return -ETIMEDOUT;
	return read(r->read_fd, &n, sizeof(n)) == sizeof(n) ? 0 : -errno;
}

static void reader_stop(struct reader *r)
{
	(void)!send_one(r, 0);
	pthread_join(r->thread, NULL);
	loopback_pair_close(&r->pair);
	close(r->read_fd);
}

/* ---- prices ---- */

static void add(struct price_sample *s, double ns, double n, double gap_ns)
{
	s->ns += ns;
	s->n += n;
	s->gaps_ns += n * gap_ns;
}

static void add_class(struct calibration *cal, enum cost_class class, int pace, int batch,
		      const struct cost_use *use, double ns)
{
	add(&cal->sample[class][pace][batch], ns, use->n[class], use->gap_ns[class]);
}

/* What ran since the last reading, as a part of the sample of this batch; batch < 0: of none. */
static int take(struct calibration *cal, enum cost_class class, int pace, int batch)
{
	const struct price *passed = &cal->probe->cost.curve[COST_PASSED];
	double ns[COST_CLASSES], measured, price;
	struct cost_stats now;
	struct cost_use use;

	pkt_count(cal->probe);
	pkt_cost_stats(cal->probe, &now);
	if (!pkt_cost_use(cal->probe, &use))
		return -ENOENT;
	for (int i = 0; i < COST_CLASSES; i++) {
		ns[i] = now.run_ns[i] - cal->before.run_ns[i];
		ns[i] -= cal->probe->cost.floor_ns * (now.runs[i] - cal->before.runs[i]);
	}
	cal->before = now;
	if (batch < 0)
		return 0;
	for (int i = 0; i < COST_CLASSES && !cal->probe->one_in; i++)
		if (ns[i] < 1) /* so little that the floor's error is more */
			ns[i] = 1;
	add_class(cal, COST_TASKS, pace, batch, &use, ns[COST_TASKS]);
	add_class(cal, cal->probe->one_in ? COST_ARRIVAL : COST_ARRIVAL_PASSED, pace, batch, &use,
		  ns[COST_ARRIVAL]);
	add_class(cal, cal->probe->one_in ? COST_DEPARTURE : COST_DEPARTURE_PASSED, pace, batch,
		  &use, ns[COST_DEPARTURE]);
	if (class == COST_PASSED) {
		add_class(cal, class, pace, batch, &use, ns[COST_TCP]);
		return 0;
	}
	measured = use.n[COST_TCP] + use.n[COST_UDP];
	if (passed->known) {
		price = price_at(passed, use.gap_ns[COST_PASSED]);
		ns[COST_TCP] -= use.n[COST_PASSED] * price;
		if (ns[COST_TCP] < measured * price) /* it is one more thing to do, not less */
			ns[COST_TCP] = measured * price;
	}
	add(&cal->sample[class][pace][batch], ns[COST_TCP], measured, use.gap_ns[class]);
	return 0;
}

static int run_batch(struct calibration *cal, struct reader *r, enum cost_class class, int pace,
		     int batch)
{
	int err = take(cal, class, pace, -1);

	for (uint32_t i = 0; i < price_paces[pace].messages && !err; i++) {
		if (price_paces[pace].pause_ns)
			clock_sleep_until(clock_system(), clock_now() +
					  price_paces[pace].pause_ns);
		err = send_one(r, 1);
	}
	return err ? err : take(cal, class, pace, batch);
}

static int run_traffic(struct calibration *cal, enum cost_class class, int type)
{
	struct reader r;
	int err = reader_start(&r, type);

	if (err)
		return err;
	if (class != COST_PASSED || pkt_samples(cal->probe)) {
		cal->probe->skel->bss->test_port = r.pair.port;
		cal->probe->skel->bss->test_tgid = getpid();
	}
	for (int i = 0; i < PRICE_POINTS * PRICE_BATCHES && !err; i++)
		err = run_batch(cal, &r, class, i / PRICE_BATCHES, i % PRICE_BATCHES);
	reader_stop(&r);
	cal->probe->skel->bss->test_port = NO_TEST_PORT;
	cal->probe->skel->bss->test_tgid = 0;
	return err;
}

static int calibrate(struct calibration *cal)
{
	struct cost *cost = &cal->probe->cost;
	int err = 0;

	cost->floor_ns = price_floor();
	if (pkt_samples(cal->probe))
		pkt_sample_none(cal->probe);
	if (pkt_samples(cal->probe) || pkt_filtered(cal->probe)) {
		err = run_traffic(cal, COST_PASSED, SOCK_STREAM);
		price_draw(&cost->curve[COST_PASSED], cal->sample[COST_PASSED]);
	}
	pkt_sample(cal->probe, 1);
	if (!err)
		err = run_traffic(cal, COST_TCP, SOCK_STREAM);
	if (!err)
		err = run_traffic(cal, COST_UDP, SOCK_DGRAM);
	for (int i = 0; i < COST_CLASSES && !err; i++)
		if (i != COST_PASSED)
			price_draw(&cost->curve[i], cal->sample[i]);
	return err;
}

void pkt_calibrate(struct pkt_probe *probe)
{
	struct calibration cal = { .probe = probe };
	struct cost *cost = &probe->cost;
	int err = calibrate(&cal);

	if (err)
		snprintf(cost->why, sizeof(cost->why), "the self-test's traffic failed: %s",
			 strerror(-err));
	else if (probe->config.ifname && !cost->curve[COST_TCP].known)
		snprintf(cost->why, sizeof(cost->why),
			 "the self-test's traffic doesn't come by --ifname");
	else
		snprintf(cost->why, sizeof(cost->why), "too little ran in the self-test");
}
