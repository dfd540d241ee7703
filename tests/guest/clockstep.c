/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TCP and UDP messages over loopback while the clock jumps: real time one hour ahead, one hour
 * back, then the TAI offset from 0 to 37 s. At each jump messages are in flight (stamped before it,
 * read after it), and more follow at once.
 *
 * Runs only in a guest of tests/guest/run, whose clock is nobody else's. The receivers' port is
 * 7000. Prints one JSON document: the messages sent and read per protocol, the largest age of one
 * by the monotonic clock, and the jumps.
 */
#include "loopback.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_SEC 1000000000ull
#define PORT 7000
#define RATE 200	/* messages per second and protocol between jumps */
#define STEADY_SECONDS 2	/* before, between and after jumps */
#define BURST 10	/* messages per protocol in flight over a jump, and again after it */

struct run {
	struct loopback_pair tcp;
	struct loopback_pair udp;
	uint64_t messages;	/* sent and read, per protocol */
	uint64_t max_age_ns;
};

struct jump {
	const char *name;
	int (*apply)(long value);
	long value;
	uint64_t monotonic_ns;
};

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

static int step_realtime(long seconds)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += seconds;
	return clock_settime(CLOCK_REALTIME, &t);
}

static int set_tai(long seconds)
{
	struct timex timex = { .modes = ADJ_TAI, .constant = seconds };

	return adjtimex(&timex) < 0 ? -1 : 0;
}

static int send_both(struct run *run, int count)
{
	uint64_t sent_ns;
	int i;

	for (i = 0; i < count; i++) {
		sent_ns = now_ns();
		if (write(run->tcp.sender, &sent_ns, sizeof(sent_ns)) != sizeof(sent_ns) ||
		    write(run->udp.sender, &sent_ns, sizeof(sent_ns)) != sizeof(sent_ns))
			return -errno;
	}
	run->messages += count;
	return 0;
}

static int read_one(struct run *run, int fd)
{
	uint64_t sent_ns, age_ns;

	if (read(fd, &sent_ns, sizeof(sent_ns)) != sizeof(sent_ns))
		return errno ? -errno : -EIO;
	age_ns = now_ns() - sent_ns;
	if (age_ns > run->max_age_ns)
		run->max_age_ns = age_ns;
	return 0;
}

static int read_both(struct run *run, int count)
{
	int i, err;

	for (i = 0; i < count; i++) {
		err = read_one(run, run->tcp.receiver);
		err = err ? err : read_one(run, run->udp.receiver);
		if (err)
			return err;
	}
	return 0;
}

static int steady(struct run *run)
{
	struct timespec pause = { .tv_nsec = NS_PER_SEC / RATE };
	int i, err = 0;

	for (i = 0; i < RATE * STEADY_SECONDS && !err; i++) {
		err = send_both(run, 1);
		err = err ? err : read_both(run, 1);
		nanosleep(&pause, NULL);
	}
	return err;
}

static int jump_in_flight(struct run *run, struct jump *jump)
{
	int err = send_both(run, BURST);

	if (err)
		return err;
	if (jump->apply(jump->value))
		return -errno;
	jump->monotonic_ns = now_ns();
	err = send_both(run, BURST);
	return err ? err : read_both(run, 2 * BURST);
}

static void print(const struct run *run, const struct jump *jumps, int count)
{
	int i;

	printf("{\"tcp\": %llu, \"udp\": %llu, \"max_age_ns\": %llu, \"jumps\": [",
	       (unsigned long long)run->messages, (unsigned long long)run->messages,
	       (unsigned long long)run->max_age_ns);
	for (i = 0; i < count; i++)
		printf("%s{\"name\": \"%s\", \"monotonic_ns\": %llu}", i ? ", " : "", jumps[i].name,
		       (unsigned long long)jumps[i].monotonic_ns);
	printf("]}\n");
}

static int in_guest(void)
{
	char line[4096] = "";
	FILE *file = fopen("/proc/cmdline", "r");

	if (file) {
		if (!fgets(line, sizeof(line), file))
			line[0] = 0;
		fclose(file);
	}
	return strstr(line, "hostlat.guest=1") != NULL;
}

static int run_jumps(struct run *run)
{
	struct jump jumps[] = {
		{ .name = "realtime+1h", .apply = step_realtime, .value = 3600 },
		{ .name = "realtime-1h", .apply = step_realtime, .value = -3600 },
		{ .name = "tai+37s", .apply = set_tai, .value = 37 },
	};
	const int count = sizeof(jumps) / sizeof(jumps[0]);
	int i, err;

	if (set_tai(0))
		return -errno;
	err = steady(run);
	for (i = 0; i < count && !err; i++) {
		err = jump_in_flight(run, &jumps[i]);
		err = err ? err : steady(run);
	}
	if (!err)
		print(run, jumps, count);
	return err;
}

int main(void)
{
	struct run run = { 0 };
	int err;

	if (!in_guest()) {
		fputs("clockstep: steps the clock: only under tests/guest/run\n", stderr);
		return 2;
	}
	err = loopback_open(&run.tcp, SOCK_STREAM, PORT);
	err = err ? err : loopback_open(&run.udp, SOCK_DGRAM, PORT);
	err = err ? err : run_jumps(&run);
	if (err)
		fprintf(stderr, "clockstep: %s\n", strerror(-err));
	return err ? 1 : 0;
}
