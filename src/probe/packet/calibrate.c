/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the programs' cost with loopback traffic while the kernel's BPF statistics are on. It
 * sends one message at a time to a sleeping thread, without pauses and with pauses of two lengths.
 * Other traffic of the host during that time is included.
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
#include "probe/packet/cost.h"
#include "probe/packet/loopback_pair.h"
#include "probe/packet/pkt_internal.h"
#include "bpf/watch.skel.h"

#define PATIENCE_MS 1000

struct calibration {
	struct pkt_probe *probe;
	struct cost_sample sample[COST_CLASSES][COST_POINTS][COST_BATCHES];
	struct cost_run_stats before;
};

/* ---- traffic ---- */

struct calibrate_reader {
	struct loopback_pair pair;
	int read_fd; /* eventfd that counts the messages read */
	pthread_t thread;
};

static void *calibrate_read_all(void *arg)
{
	struct calibrate_reader *r = arg;
	uint64_t one = 1;
	char c = 1;

	while (c && recv(r->pair.rx, &c, 1, 0) == 1)
		if (write(r->read_fd, &one, sizeof(one)) != sizeof(one))
			break;
	return NULL;
}

static int calibrate_reader_start(struct calibrate_reader *r, int type)
{
	const struct timeval limit = { .tv_sec = PATIENCE_MS / 1000 };
	int err = loopback_pair_open(AF_INET, type, &r->pair);

	if (err)
		return err;
	setsockopt(r->pair.rx, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	r->read_fd = eventfd(0, EFD_CLOEXEC);
	err = r->read_fd < 0 ? -errno : -pthread_create(&r->thread, NULL, calibrate_read_all, r);
	if (err) {
		loopback_pair_close(&r->pair);
		if (r->read_fd >= 0)
			close(r->read_fd);
	}
	return err;
}

static int calibrate_send_one(struct calibrate_reader *r, char what)
{
	struct pollfd p = { .fd = r->read_fd, .events = POLLIN };
	uint64_t n;

	if (send(r->pair.tx, &what, 1, MSG_NOSIGNAL) != 1)
		return -errno;
	if (poll(&p, 1, PATIENCE_MS) != 1)
		return -ETIMEDOUT;
	return read(r->read_fd, &n, sizeof(n)) == sizeof(n) ? 0 : -errno;
}

static void calibrate_reader_stop(struct calibrate_reader *r)
{
	(void)!calibrate_send_one(r, 0);
	pthread_join(r->thread, NULL);
	loopback_pair_close(&r->pair);
	close(r->read_fd);
}

/* ---- samples ---- */

static void calibrate_add_sample(struct cost_sample *s, double ns, double n, double gap_ns)
{
	s->ns += ns;
	s->n += n;
	s->gaps_ns += n * gap_ns;
}

static void calibrate_add_class(struct calibration *cal, enum cost_class class, int pace, int batch,
				const struct cost_use *use, double ns)
{
	calibrate_add_sample(&cal->sample[class][pace][batch], ns, use->n[class],
			     use->gap_ns[class]);
}

/*
 * Adds the cost of the programs' runs since the last call to the samples of a batch of test
 * traffic; a negative `batch` discards it. Returns 0, or -ENOENT if /proc/self/net/softnet_stat is
 * unreadable.
 */
static int calibrate_add_batch(struct calibration *cal, enum cost_class class, int pace, int batch)
{
	const struct cost_curve *passed = &cal->probe->cost->curve[COST_PASSED];
	double ns[COST_CLASSES], measured, price;
	struct cost_run_stats now;
	struct cost_use use;

	pkt_snapshot_skip(cal->probe);
	pkt_cost_read_stats(cal->probe, &now);
	if (!pkt_cost_count_use(cal->probe, &use))
		return -ENOENT;
	for (int i = 0; i < COST_CLASSES; i++) {
		ns[i] = now.run_ns[i] - cal->before.run_ns[i];
		ns[i] -= cal->probe->cost->floor_ns * (now.runs[i] - cal->before.runs[i]);
	}
	cal->before = now;
	if (batch < 0)
		return 0;
	for (int i = 0; i < COST_CLASSES && !cal->probe->one_in; i++)
		/*
		 * The runs may seem to take no time: floor_ns, the time per run that the kernel's
		 * statistics add and that is subtracted, has an error. They then count as 1 ns.
		 */
		if (ns[i] < 1)
			ns[i] = 1;
	calibrate_add_class(cal, COST_TASKS, pace, batch, &use, ns[COST_TASKS]);
	calibrate_add_class(cal, cal->probe->one_in ? COST_ARRIVAL : COST_ARRIVAL_PASSED, pace,
			    batch, &use, ns[COST_ARRIVAL]);
	calibrate_add_class(cal, cal->probe->one_in ? COST_DEPARTURE : COST_DEPARTURE_PASSED, pace,
			    batch, &use, ns[COST_DEPARTURE]);
	if (class == COST_PASSED) {
		calibrate_add_class(cal, class, pace, batch, &use, ns[COST_TCP]);
		return 0;
	}
	measured = use.n[COST_TCP] + use.n[COST_UDP];
	if (passed->known) {
		price = cost_curve_at(passed, use.gap_ns[COST_PASSED]);
		ns[COST_TCP] -= use.n[COST_PASSED] * price;
		/*
		 * Corrects an error of measurement: a measured packet costs no less than an
		 * excluded packet.
		 */
		if (ns[COST_TCP] < measured * price)
			ns[COST_TCP] = measured * price;
	}
	calibrate_add_sample(&cal->sample[class][pace][batch], ns[COST_TCP], measured,
			     use.gap_ns[class]);
	return 0;
}

static int calibrate_run_batch(struct calibration *cal, struct calibrate_reader *r,
			       enum cost_class class, int pace, int batch)
{
	int err = calibrate_add_batch(cal, class, pace, -1);

	for (uint32_t i = 0; i < cost_model_paces[pace].messages && !err; i++) {
		if (cost_model_paces[pace].pause_ns)
			clock_sleep_until(clock_system(), clock_now() +
					  cost_model_paces[pace].pause_ns);
		err = calibrate_send_one(r, 1);
	}
	return err ? err : calibrate_add_batch(cal, class, pace, batch);
}

static int calibrate_run_traffic(struct calibration *cal, enum cost_class class, int type)
{
	struct calibrate_reader r;
	int err = calibrate_reader_start(&r, type);

	if (err)
		return err;
	if (class != COST_PASSED || pkt_samples(cal->probe)) {
		cal->probe->skel->bss->test_port = r.pair.port;
		cal->probe->skel->bss->test_tgid = getpid();
	}
	for (int i = 0; i < COST_POINTS * COST_BATCHES && !err; i++)
		err = calibrate_run_batch(cal, &r, class, i / COST_BATCHES, i % COST_BATCHES);
	calibrate_reader_stop(&r);
	cal->probe->skel->bss->test_port = NO_TEST_PORT;
	cal->probe->skel->bss->test_tgid = 0;
	return err;
}

static int calibrate_all(struct calibration *cal)
{
	struct cost *cost = cal->probe->cost;
	int err = 0;

	cost->floor_ns = cost_model_floor();
	if (pkt_samples(cal->probe))
		pkt_set_sampling_none(cal->probe);
	if (pkt_samples(cal->probe) || pkt_is_filtered(cal->probe)) {
		err = calibrate_run_traffic(cal, COST_PASSED, SOCK_STREAM);
		cost_curve_fit(&cost->curve[COST_PASSED], cal->sample[COST_PASSED]);
	}
	pkt_set_sampling(cal->probe, 1);
	if (!err)
		err = calibrate_run_traffic(cal, COST_TCP, SOCK_STREAM);
	if (!err)
		err = calibrate_run_traffic(cal, COST_UDP, SOCK_DGRAM);
	for (int i = 0; i < COST_CLASSES && !err; i++)
		if (i != COST_PASSED)
			cost_curve_fit(&cost->curve[i], cal->sample[i]);
	return err;
}

void pkt_calibrate(struct pkt_probe *probe)
{
	struct calibration cal = { .probe = probe };
	struct cost *cost = probe->cost;
	int err = calibrate_all(&cal);

	if (err)
		snprintf(cost->why, sizeof(cost->why), "the self-test's traffic failed: %s",
			 strerror(-err));
	else if (probe->config.ifname && !cost->curve[COST_TCP].known)
		snprintf(cost->why, sizeof(cost->why),
			 "the self-test's traffic does not pass the interface of --ifname");
	else
		snprintf(cost->why, sizeof(cost->why),
			 "the BPF programs ran too rarely in the self-test to time them");
}
