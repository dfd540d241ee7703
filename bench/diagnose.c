/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what diagnosing a long recording costs: diagnose [SPANS...] makes a recording of so many
 * million spans each (default: 10 and 20; HOSTLAT_LONG=1: 100, too), with a hundredth as many
 * messages, up to 3,000 of them waiting at once, and says what CPU time and memory it takes:
 * medians of ROUNDS. Where one has twice as many as the one before, they are diagnosed in turns, as
 * neighbours on the machine cost CPU time, too; the ratio is the median of those of the rounds,
 * with the least and the largest. Exits with 1 if it is more than 2.2. CORES=N in the environment.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
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
#define ROUNDS 7
#define RECORDINGS_MAX 16
#define START 1000000000ULL

enum { EPOLL_WAIT = 232, RECVFROM = 45 };

struct maker {
	struct event_writer *writer;
	uint32_t cores;
	uint64_t messages;      /* to be made, and made */
	uint64_t made;
	uint64_t steps;         /* steps to be made, of all cores together */
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

/*
 * A message's own: of those with the same latency the earliest would be the references, all from
 * one part of the recording, and most of it would never be read.
 */
static uint32_t some_ns(const struct maker *m)
{
	return (uint32_t)(m->made * 2654435761u) >> 22;
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
		message(m, core, time, time + 500, time + 3000 + some_ns(m));
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

struct recording {
	uint64_t spans;
	FILE *file;
	double seconds[ROUNDS];
	long peak; /* KiB, the most */
};

static void measure_round(struct recording *r, int round)
{
	struct rusage usage;

	measure(fileno(r->file), &usage);
	r->seconds[round] = seconds(&usage);
	r->peak = usage.ru_maxrss > r->peak ? usage.ru_maxrss : r->peak;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void sort(double values[ROUNDS])
{
	qsort(values, ROUNDS, sizeof(*values), by_value);
}

static void print(const struct recording *r, uint32_t cores)
{
	double sorted[ROUNDS];

	memcpy(sorted, r->seconds, sizeof(sorted));
	sort(sorted);
	printf("| %" PRIu64 " M | %" PRIu64 " k | %u | %lld | %.2f | %ld |", r->spans / 1000000,
	       r->spans / 100000, cores, (long long)lseek(fileno(r->file), 0, SEEK_END) >> 20,
	       sorted[ROUNDS / 2], r->peak >> 10);
}

/* False if the second one takes too long. */
static bool compare(const struct recording *half, const struct recording *whole)
{
	double ratios[ROUNDS];

	for (int i = 0; i < ROUNDS; i++)
		ratios[i] = whole->seconds[i] / half->seconds[i];
	sort(ratios);
	printf(" %.2f (%.2f to %.2f) |\n", ratios[ROUNDS / 2], ratios[0], ratios[ROUNDS - 1]);
	return ratios[ROUNDS / 2] <= RATIO_MAX;
}

/* Those that are measured in turns: each has twice as many as the one before. */
static bool measure_all(struct recording *r, int n, uint32_t cores)
{
	bool linear = true;

	for (int i = 0; i < n; i++) {
		r[i].file = tmpfile();
		BUG_ON(!r[i].file);
		make(fileno(r[i].file), r[i].spans, cores);
	}
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < n; i++)
			measure_round(&r[i], round);
	for (int i = 0; i < n; i++) {
		print(&r[i], cores);
		if (i)
			linear &= compare(&r[i - 1], &r[i]);
		else
			printf(" |\n");
		fclose(r[i].file);
	}
	fflush(stdout);
	return linear;
}

int main(int argc, char **argv)
{
	static const char *const usual[] = { "10", "20", "100" };
	const int n = argc > 1 ? argc - 1 : getenv("HOSTLAT_LONG") ? 3 : 2;
	const char *cores_text = getenv("CORES");
	struct recording all[RECORDINGS_MAX] = { 0 };
	uint64_t cores = 4;
	bool linear = true;

	if (n > RECORDINGS_MAX ||
	    (cores_text && (parse_u64(cores_text, &cores) || !cores || cores > CORES_MAX)))
		return 2;
	for (int i = 0; i < n; i++) {
		if (parse_u64(argc > 1 ? argv[i + 1] : usual[i], &all[i].spans) || !all[i].spans)
			return 2;
		all[i].spans *= 1000000;
	}
	printf("| spans | messages | CPUs | MiB | CPU s | peak MiB | ratio |\n"
	       "|--:|--:|--:|--:|--:|--:|--:|\n");
	fflush(stdout);
	for (int i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && all[end].spans == 2 * all[end - 1].spans; end++)
			;
		linear &= measure_all(&all[i], end - i, (uint32_t)cores);
	}
	if (!linear)
		printf("FAILED: twice the spans took more than %.1f times the time\n", RATIO_MAX);
	return linear ? 0 : 1;
}
