// SPDX-License-Identifier: Apache-2.0
/*
 * What diagnosing a long recording costs: diagnose [SPANS...] makes a recording of so many spans
 * each (default: 10 and 20 million; HOSTLAT_LONG=1: 100 million, too), with a hundredth as many
 * messages, up to 3,000 of them waiting at once, and says what CPU time and memory it takes. Exits
 * with 1 if twice the spans take more than 2.2 times the time. CORES=N in the environment.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "diagnose/diagnose.h"
#include "event/writer.h"

#define CORES_MAX 256u
#define STEP_NS 10000
#define STEP_SPANS 5u
#define BURST 3000u
#define BURST_SHARE 10u /* one message of so many waits in a burst */
#define RATIO_MAX 2.2
#define ROUNDS 3 /* the best counts: neighbours on the machine cost CPU time, too */
#define ONCE 50000000ULL /* but not with so many spans */
#define START 1000000000ULL

enum { EPOLL_WAIT = 232, RECVFROM = 45 };

struct maker {
	struct event_writer *writer;
	uint32_t cores;
	uint64_t messages;      /* to be made, and made */
	uint64_t made;
	uint64_t steps;         /* of all cores, to be made */
	uint32_t reader[CORES_MAX], hog[CORES_MAX]; /* DICT_TASK */
	uint64_t burst[CORES_MAX]; /* when the messages came that wait; 0 = none do */
	uint32_t waiting[CORES_MAX];
	uint64_t in_bursts;
};

static void edge(struct maker *m, uint32_t core, uint64_t time, uint8_t type, uint32_t what,
		 uint16_t arg)
{
	const struct event_edge e = { .type = type, .what = what, .arg = arg };

	BUG_ON(event_writer_edge(m->writer, core, EVENT_DOMAIN_MONOTONIC, time, &e));
}

static void message(struct maker *m, uint32_t core, uint64_t first, uint64_t queued,
		    uint64_t read)
{
	const struct event_piece pieces[] = {
		{ .begin = first, .end = queued, .core = core, .role = PIECE_RECEIVE },
		{ .begin = queued, .end = read, .core = core, .role = PIECE_APPLICATION },
	};
	const struct event_message head = {
		.id = ++m->made, .tid = 100 + core, .bytes = 64, .first = first, .last = first,
		.direction = DIR_INGRESS, .protocol = PROTO_TCP, .n = 2,
	};
	const struct event event = { .kind = EV_MESSAGE, .core = core, .time = read };
	const struct iovec parts[] = {
		{ (void *)&head, sizeof(head) }, { (void *)pieces, sizeof(pieces) },
	};

	BUG_ON(event_writer_record(m->writer, EVENT_DOMAIN_MONOTONIC, first, &event, parts, 2));
}

/* Which messages the reader takes in its run. */
static void take_messages(struct maker *m, uint32_t core, uint64_t step, uint64_t time)
{
	if (m->waiting[core]) {
		m->waiting[core]--;
		message(m, core, m->burst[core], m->burst[core] + 500, time + 4000);
	} else if ((m->in_bursts + BURST) * BURST_SHARE < m->made) {
		m->burst[core] = time;
		m->waiting[core] = BURST;
		m->in_bursts += BURST;
	} else if (m->made * m->steps < m->messages * step * m->cores) {
		message(m, core, time, time + 500, time + 4000);
	}
}

/* An interrupt, the reader with a call, a hog, nobody. */
static void make_step(struct maker *m, uint32_t core, uint64_t step)
{
	const uint64_t time = START + step * STEP_NS + core;
	const struct event_wake wake = {
		.time = time + 400, .task = m->reader[core], .core = core, .flags = WAKE_INTERRUPT,
	};

	edge(m, core, time, SPAN_SOFTIRQ, 3, 0);
	BUG_ON(event_writer_span(m->writer, core, EVENT_DOMAIN_MONOTONIC, EV_WAKE, wake.time,
				 wake.time, &wake));
	edge(m, core, time + 600, SPAN_SOFTIRQ | SPAN_END, 3, 0);
	edge(m, core, time + 900, SPAN_IDLE | SPAN_END, 0, 0);
	edge(m, core, time + 900, SPAN_TASK, m->reader[core], LEFT_ASLEEP);
	edge(m, core, time + 3000, SPAN_SYSCALL, RECVFROM, 0);
	edge(m, core, time + 4100, SPAN_SYSCALL | SPAN_END, RECVFROM, 0);
	edge(m, core, time + 5000, SPAN_TASK | SPAN_END, m->reader[core], LEFT_ASLEEP);
	edge(m, core, time + 5000, SPAN_TASK, m->hog[core], LEFT_ASLEEP);
	edge(m, core, time + 7000, SPAN_TASK | SPAN_END, m->hog[core], LEFT_ASLEEP);
	edge(m, core, time + 7000, SPAN_IDLE, 0, 0);
	take_messages(m, core, step, time);
}

static void make(int fd, uint64_t spans, uint32_t cores)
{
	const struct event_writer_options options = { .stream = 1 };
	struct maker m = { .cores = cores, .messages = spans / 100 };
	char name[64];

	m.steps = spans / STEP_SPANS;
	BUG_ON(event_writer_new(&m.writer, fd, &options));
	event_put_fact(event_writer_sink(m.writer), START, DIAGNOSE_FACT_MACHINE, "x86_64");
	for (uint32_t core = 0; core < cores; core++) {
		snprintf(name, sizeof(name), "server (50/%u)", 100 + core);
		m.reader[core] = event_writer_intern(m.writer, DICT_TASK, name);
		snprintf(name, sizeof(name), "hog (60/%u)", 1000 + core);
		m.hog[core] = event_writer_intern(m.writer, DICT_TASK, name);
		edge(&m, core, START - 1, SPAN_IDLE, 0, 0);
	}
	for (uint64_t step = 0; step < m.steps / cores; step++)
		for (uint32_t core = 0; core < cores; core++)
			make_step(&m, core, step);
	BUG_ON(event_writer_close(m.writer));
}

/* ---- reading ---- */

static int diagnose(int fd)
{
	const struct diagnose_options options = {
		.selection = { .from = 0.999, .to = 1, .against_from = 0.4, .against_to = 0.6 },
	};
	struct event_reader *reader;
	struct diagnosis *d;
	int err = event_reader_new(&reader, fd);

	if (!err)
		err = diagnosis_new(&d, &options);
	if (!err)
		err = diagnosis_run(d, reader, NULL);
	if (err)
		fprintf(stderr, "diagnose: %s\n", strerror(-err));
	return err ? 1 : 0;
}

/* In a process of its own, for its memory. */
static void measure(int fd, struct rusage *usage)
{
	const pid_t pid = fork();
	int status;

	BUG_ON(pid < 0);
	if (pid == 0)
		_exit(diagnose(fd));
	BUG_ON(wait4(pid, &status, 0, usage) != pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		exit(2);
}

static double seconds(const struct rusage *usage)
{
	return (double)(usage->ru_utime.tv_sec + usage->ru_stime.tv_sec) +
	       1e-6 * (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec);
}

static double row(uint64_t spans, uint32_t cores, double before)
{
	FILE *file = tmpfile();
	struct rusage usage;

	BUG_ON(!file);
	make(fileno(file), spans, cores);
	measure(fileno(file), &usage);
	for (int i = 1; i < ROUNDS && spans < ONCE; i++) {
		struct rusage again;

		measure(fileno(file), &again);
		if (seconds(&again) < seconds(&usage))
			usage = again;
	}
	printf("| %" PRIu64 " M | %" PRIu64 " k | %u | %lld | %.2f | %ld |", spans / 1000000,
	       spans / 100000, cores, (long long)lseek(fileno(file), 0, SEEK_END) >> 20,
	       seconds(&usage), usage.ru_maxrss >> 10);
	if (before > 0)
		printf(" %.2f |\n", seconds(&usage) / before);
	else
		printf(" |\n");
	fflush(stdout);
	fclose(file);
	return seconds(&usage);
}

int main(int argc, char **argv)
{
	static const char *const usual[] = { "10", "20", "100" };
	const char *cores_text = getenv("CORES");
	uint64_t cores = 4, spans, last = 0;
	double before = 0;
	int n = argc > 1 ? argc - 1 : getenv("HOSTLAT_LONG") ? 3 : 2, failed = 0;

	if (cores_text && (parse_u64(cores_text, &cores) || !cores || cores > CORES_MAX))
		return 2;
	printf("| spans | messages | CPUs | MiB | CPU s | peak MiB | ratio |\n"
	       "|--:|--:|--:|--:|--:|--:|--:|\n");
	for (int i = 0; i < n; i++) {
		double now;

		if (parse_u64(argc > 1 ? argv[i + 1] : usual[i], &spans) || !spans)
			return 2;
		now = row(spans * 1000000, (uint32_t)cores, before);
		if (spans == 2 * last && now > RATIO_MAX * before)
			failed = 1;
		before = now;
		last = spans;
	}
	if (failed)
		printf("FAILED: twice the spans took more than %.1f times the time\n", RATIO_MAX);
	return failed;
}
