/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what one run of each program takes on real packets, one message at a time, by the
 * kernel's own run-time statistics. Under tests/guest/run -i one ns is one instruction, so the
 * figures are exact; an empty program's, the method's floor, is one of them and contained in all
 * others.
 *
 *	icount			all stages
 *	icount --no-scheduler	without runnable and running
 *	icount --no-link	without these and link's distribution: the difference is its cost
 *	icount --hol-separate	as --no-scheduler, with TCP's waits behind a hole told apart
 *	icount --egress		the transmit side instead of the receive side
 *	icount --control	the control's programs instead of ours
 *
 * Prints a line for each kind of traffic and each program: "tcp link_tp 212 1000", the median of
 * the runs' instructions, and how many messages caused exactly one run.
 */
#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/icount.skel.h"
#include "probe/packet/pkt_probe.h"
#include "tests/guest/loopback.h"

#define WARM_UP 200 /* rows, socket storage and TCP's own start are behind */
#define MESSAGES 600
#define MESSAGE_SIZE 100
#define PROGRAMS_MAX 32

#define STAGE_BIT(stage) (1U << (stage))
#define STAGES_RECEIVE                                                                           \
	(STAGE_BIT(STAGE_TRANSPORT) | STAGE_BIT(STAGE_SOCKET) | STAGE_BIT(STAGE_ENQUEUED) |      \
	 STAGE_BIT(STAGE_READ))
#define STAGES_SEND                                                                              \
	(STAGE_BIT(STAGE_SEGMENT) | STAGE_BIT(STAGE_QDISC) | STAGE_BIT(STAGE_DRIVER) |           \
	 STAGE_BIT(STAGE_SENT) | STAGE_BIT(STAGE_ACKED))
#define STAGES_SCHEDULER (STAGE_BIT(STAGE_RUNNABLE) | STAGE_BIT(STAGE_RUNNING))

struct program {
	int fd;
	char name[BPF_OBJ_NAME_LEN];
	uint64_t runs, run_ns;   /* as read last */
	uint32_t samples[MESSAGES];
	uint32_t n;
};

static struct program programs[PROGRAMS_MAX];
static uint32_t n_programs;

static int statistics(int fd, struct bpf_prog_info *info)
{
	__u32 size = sizeof(*info);

	memset(info, 0, sizeof(*info));
	return bpf_obj_get_info_by_fd(fd, info, &size);
}

/* Every program of the machine: in the guest they are all ours. */
static int find_programs(void)
{
	struct bpf_prog_info info;
	__u32 id = 0;

	while (n_programs < PROGRAMS_MAX && !bpf_prog_get_next_id(id, &id)) {
		struct program *p = &programs[n_programs];

		p->fd = bpf_prog_get_fd_by_id(id);
		if (p->fd < 0)
			return p->fd;
		if (statistics(p->fd, &info))
			return -errno;
		memcpy(p->name, info.name, sizeof(p->name));
		n_programs++;
	}
	return 0;
}

/* Reads the statistics; a program that ran exactly once since the last reading gives a sample. */
static void sample(bool keep)
{
	struct bpf_prog_info info;

	for (uint32_t i = 0; i < n_programs; i++) {
		struct program *p = &programs[i];

		if (statistics(p->fd, &info))
			continue;
		if (keep && info.run_cnt == p->runs + 1 && p->n < MESSAGES)
			p->samples[p->n++] = info.run_time_ns - p->run_ns;
		p->runs = info.run_cnt;
		p->run_ns = info.run_time_ns;
	}
}

static int by_value(const void *a, const void *b)
{
	return (*(const uint32_t *)a > *(const uint32_t *)b) -
	       (*(const uint32_t *)a < *(const uint32_t *)b);
}

static void print_medians(const char *traffic)
{
	for (uint32_t i = 0; i < n_programs; i++) {
		struct program *p = &programs[i];

		qsort(p->samples, p->n, sizeof(p->samples[0]), by_value);
		if (p->n >= MESSAGES / 10)
			printf("%s %s %u %u\n", traffic, p->name, p->samples[p->n / 2], p->n);
		p->n = 0;
	}
}

/*
 * By turns the way up is sampled, and the read: reading the statistics in between would make the
 * one longer, but without that the acknowledgement, which the read sends, is a second packet.
 */
static int message(const struct loopback_pair *pair, bool keep, bool way_up)
{
	char buf[MESSAGE_SIZE] = { 0 };

	sample(false);
	if (send(pair->sender, buf, sizeof(buf), 0) != sizeof(buf))
		return -errno;
	if (way_up)
		sample(keep);
	if (recv(pair->receiver, buf, sizeof(buf), 0) != sizeof(buf))
		return -errno;
	sample(keep && !way_up);
	return 0;
}

/* Sender and reader are one thread: the reader is always running already. */
static int exchange(const char *traffic, int type)
{
	struct loopback_pair pair;
	int err = loopback_open(&pair, type, 0);

	if (err)
		return err;
	for (int i = 0; i < WARM_UP + MESSAGES && !err; i++)
		err = message(&pair, i >= WARM_UP, i & 1);
	close(pair.sender);
	close(pair.receiver);
	print_medians(traffic);
	return err;
}

struct reader {
	int fd;
	atomic_uint read;
};

static void *read_messages(void *arg)
{
	struct reader *r = arg;
	char buf[MESSAGE_SIZE];

	while (recv(r->fd, buf, sizeof(buf), MSG_WAITALL) == sizeof(buf))
		atomic_fetch_add(&r->read, 1);
	return NULL;
}

/* The reader sleeps in recv() and is woken for each message. */
static int wake(const char *traffic, int type)
{
	struct loopback_pair pair;
	struct reader reader = { 0 };
	char buf[MESSAGE_SIZE] = { 0 };
	pthread_t thread;
	int err = loopback_open(&pair, type, 0);

	if (err)
		return err;
	reader.fd = pair.receiver;
	if (pthread_create(&thread, NULL, read_messages, &reader))
		return -EAGAIN;
	for (unsigned int i = 0; i < WARM_UP + MESSAGES && !err; i++) {
		usleep(1000); /* the reader is asleep again */
		sample(false);
		if (send(pair.sender, buf, sizeof(buf), 0) != sizeof(buf))
			err = -errno;
		for (int patience = 0; atomic_load(&reader.read) <= i && patience < 100; patience++)
			usleep(1000);
		sample(i >= WARM_UP);
	}
	shutdown(pair.receiver, SHUT_RDWR);
	pthread_join(thread, NULL);
	close(pair.sender);
	close(pair.receiver);
	print_medians(traffic);
	return err;
}

static uint32_t network_namespace(void)
{
	struct stat st;

	return stat("/proc/self/ns/net", &st) ? 0 : st.st_ino;
}

/* The kernel stamps packets only while some socket asks for it. */
static int ask_for_stamps(void)
{
	int flags = 1 << 3 /* SOF_TIMESTAMPING_RX_SOFTWARE */, fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)))
		return -errno;
	usleep(50000);
	return 0;
}

static int start_control(struct icount_bpf **control)
{
	*control = icount_bpf__open();
	if (!*control)
		return -errno;
	(*control)->rodata->control_netns = network_namespace();
	if (icount_bpf__load(*control) || icount_bpf__attach(*control))
		return -errno;
	return ask_for_stamps();
}

static int start_ours(struct pkt_probe **probe, uint32_t stages, uint32_t hol)
{
	struct pkt_probe_config config = {
		.stages = stages, .hol = hol, .memory = PKT_MEMORY_DEFAULT,
	};
	char why[256];
	int err = pkt_probe_open(probe, &config, why, sizeof(why));

	if (err)
		fprintf(stderr, "icount: %s\n", why);
	return err;
}

static uint32_t stages_of(const char *run)
{
	if (!strcmp(run, "--egress"))
		return STAGES_SEND;
	if (!strcmp(run, "--no-transport"))
		return STAGE_BIT(STAGE_LINK) | (STAGES_RECEIVE & ~STAGE_BIT(STAGE_TRANSPORT));
	return STAGES_RECEIVE | (strcmp(run, "--no-link") ? STAGE_BIT(STAGE_LINK) : 0) |
	       (!*run ? STAGES_SCHEDULER : 0);
}

int main(int argc, char **argv)
{
	const char *run = argc > 1 ? argv[1] : "";
	bool control = !strcmp(run, "--control");
	struct icount_bpf *bpf = NULL;
	struct pkt_probe *probe = NULL;
	int stats, err;

	if (control)
		err = start_control(&bpf);
	else
		err = start_ours(&probe, stages_of(run),
				 strcmp(run, "--hol-separate") ? HOL_EXCLUDE : HOL_SEPARATE);
	stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (!err && stats < 0)
		err = stats;
	err = err ? err : find_programs();
	err = err ? err : exchange("tcp", SOCK_STREAM);
	err = err ? err : exchange("udp", SOCK_DGRAM);
	if (!*run) {
		err = err ? err : wake("tcp-wake", SOCK_STREAM);
		err = err ? err : wake("udp-wake", SOCK_DGRAM);
	}
	if (err)
		fprintf(stderr, "icount: %s\n", strerror(-err));
	icount_bpf__destroy(bpf);
	pkt_probe_free(probe);
	return err ? 1 : 0;
}
