/* SPDX-License-Identifier: Apache-2.0 */
#include "load/interference.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/parse.h"
#include "stats/bucket_edges.h"

#define GAP_PLACES 1024
#define GAP_SCHEMA 3

int interference_thread_init(struct interference_thread *thread)
{
	*thread = (struct interference_thread){ .schedstat = -1 };
	return spsc_init(&thread->gaps, sizeof(struct interference_span), GAP_PLACES);
}

void interference_thread_release(struct interference_thread *thread)
{
	spsc_release(&thread->gaps);
	if (thread->schedstat > 0)
		close(thread->schedstat);
	thread->schedstat = -1;
}

void interference_thread_begin(struct interference_thread *thread)
{
	thread->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	interference_preempted(thread);
}

void interference_gap(struct interference_thread *thread, uint64_t begin, uint64_t end)
{
	const struct interference_span span = { begin, end };

	if (thread->pending.end) {
		thread->pending.end = end;
		if (spsc_push(&thread->gaps, &thread->pending))
			thread->pending.end = 0;
	} else if (!spsc_push(&thread->gaps, &span)) {
		thread->pending = span;
	}
}

/* Reads up to `size` - 1 bytes from the start of a file. Returns the bytes read; 0: failure. */
static size_t interference_read_file(int fd, char *buffer, size_t size)
{
	ssize_t n = fd < 0 ? 0 : pread(fd, buffer, size - 1, 0);

	buffer[n > 0 ? n : 0] = '\0';
	return n > 0 ? n : 0;
}

uint64_t interference_preempted(struct interference_thread *thread)
{
	uint64_t ran, waited, before = thread->preempted_ns;
	char text[128];

	thread->unread = !interference_read_file(thread->schedstat, text, sizeof(text)) ||
			 sscanf(text, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2;
	if (thread->unread)
		return 0;
	thread->preempted_ns = waited;
	return waited - before;
}

/* ---- counters of the host ---- */

/* Parses a line of /proc/stat: cpuN user nice system idle iowait irq softirq steal. */
static bool parse_cpu(const char *line, struct interference_times *out)
{
	return sscanf(line, "%*s %*u %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &out->softirq,
		      &out->steal) == 2;
}

static uint64_t interference_increase(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void interference_add_cpu(struct interference_host *host, unsigned int cpu,
				 const struct interference_times *now, bool counts,
				 struct interference_times *spent)
{
	const struct interference_times before = host->times[cpu];

	if (counts && host->known >> cpu & 1) {
		spent->steal += interference_increase(now->steal, before.steal);
		spent->softirq += interference_increase(now->softirq, before.softirq);
	}
	host->times[cpu] = *now;
	host->known |= 1ULL << cpu;
}

/*
 * Returns the steal and softirq time of the CPUs in mask `cpus` since the last call. Stores the
 * counters of all CPUs, since the threads may run on other CPUs by the next call.
 */
static struct interference_times interference_read_stat(struct interference_host *host,
							uint64_t cpus)
{
	struct interference_times now, spent = { 0 };
	char text[16384], *line, *next;
	uint64_t seen = 0;
	unsigned int cpu;

	host->unread = !interference_read_file(host->stat, text, sizeof(text));
	/* The first line is the sum over CPUs. A line cut off by the buffer has no newline. */
	for (line = strchr(text, '\n'); line && !strncmp(line + 1, "cpu", 3); line = next) {
		next = strchr(line + 1, '\n');
		if (next && sscanf(line + 4, "%u", &cpu) == 1 && cpu < INTERFERENCE_CPUS &&
		    parse_cpu(line + 1, &now)) {
			interference_add_cpu(host, cpu, &now, cpus >> cpu & 1, &spent);
			seen |= 1ULL << cpu;
		}
	}
	host->unread |= (cpus & ~seen) != 0;
	return spent;
}

void interference_host_init(struct interference_host *host, struct clock *clock)
{
	*host = (struct interference_host){
		.clock = clock,
		.stat = open("/proc/stat", O_RDONLY | O_CLOEXEC),
	};
}

void interference_host_release(struct interference_host *host)
{
	if (host->stat > 0)
		close(host->stat);
	host->stat = -1;
}

int interference_put(struct event_sink *sink, uint32_t agent, enum noise_what what, uint64_t begin,
		     uint64_t end, uint64_t amount)
{
	const struct event_noise e = {
		.agent = agent, .what = what, .begin = begin, .end = end, .amount = amount,
	};

	return event_put(sink, EV_NOISE, end, &e, sizeof(e));
}

static uint64_t interference_ticks_to_ns(uint64_t ticks)
{
	return ticks * (NS_PER_S / sysconf(_SC_CLK_TCK));
}

/* Returns the lowest frequency of the CPUs in mask `cpus`, in kHz; 0: unknown, as on most VMs. */
static uint64_t lowest_khz(uint64_t cpus)
{
	char path[96], text[32];
	uint64_t lowest = 0, khz;
	unsigned int cpu;
	int fd;

	for (cpu = 0; cpu < INTERFERENCE_CPUS; cpu++) {
		if (!(cpus >> cpu & 1))
			continue;
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", cpu);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return 0;
		if (interference_read_file(fd, text, sizeof(text)) &&
		    sscanf(text, "%" SCNu64, &khz) == 1 && (!lowest || khz < lowest))
			lowest = khz;
		close(fd);
	}
	return lowest;
}

/*
 * Returns a lower bound of the time, in ns, for which the machine was suspended since the last
 * call. The exact time is unknown, since CLOCK_MONOTONIC and CLOCK_BOOTTIME are not read together.
 */
static uint64_t interference_time_asleep(struct interference_host *host)
{
	const int64_t first = clock_mono_ns(host->clock), before = host->asleep_ns;
	int64_t boot, least;

	if (clock_read(host->clock, DOMAIN_BOOTTIME, &boot))
		return 0;
	least = boot - clock_mono_ns(host->clock);
	host->asleep_ns = boot - first;
	return host->last_ns && least > before ? (uint64_t)(least - before) : 0;
}

int interference_host_tick(struct interference_host *host, struct event_sink *sink, uint32_t agent,
			   uint64_t now, uint64_t cpus, uint32_t threads)
{
	const struct interference_times spent = interference_read_stat(host, cpus);
	const uint64_t asleep = interference_time_asleep(host), khz = lowest_khz(cpus);
	const uint64_t last = host->last_ns ? host->last_ns : now;
	int err = 0;

	host->last_ns = now;
	if (khz)
		err = interference_put(sink, agent, NOISE_FREQUENCY, last, now, khz);
	for (uint32_t i = 0; i < threads && asleep && !err; i++)
		err = interference_put(sink, agent, NOISE_GAP, last, now, asleep);
	if (!err && spent.steal)
		err = interference_put(sink, agent, NOISE_STEAL, last, now,
				       interference_ticks_to_ns(spent.steal));
	if (!err && spent.softirq)
		err = interference_put(sink, agent, NOISE_SOFTIRQ, last, now,
				       interference_ticks_to_ns(spent.softirq));
	return err;
}

/* ---- totals ---- */

const char *interference_name(uint32_t what)
{
	static const char *const names[NOISE_MAX] = {
		[NOISE_GAP] = "gap", [NOISE_STEAL] = "steal", [NOISE_SOFTIRQ] = "softirq",
		[NOISE_PREEMPTED] = "preempted", [NOISE_FREQUENCY] = "frequency",
	};

	return what < NOISE_MAX ? names[what] : NULL;
}

void interference_sum_init(struct interference_sum *sum)
{
	*sum = (struct interference_sum){ 0 };
	hist_init(&sum->gaps, GAP_SCHEMA);
}

void interference_sum_release(struct interference_sum *sum)
{
	hist_release(&sum->gaps);
}

static void add_frequency(struct interference_sum *sum, uint64_t khz)
{
	if (!sum->lowest_khz || khz < sum->lowest_khz)
		sum->lowest_khz = khz;
	if (khz > sum->highest_khz)
		sum->highest_khz = khz;
}

int interference_sum_add(struct interference_sum *sum, const struct event_noise *noise)
{
	if (noise->what == NOISE_NONE || noise->what >= NOISE_MAX)
		return 0;
	sum->count[noise->what]++;
	if (noise->what == NOISE_FREQUENCY) {
		add_frequency(sum, noise->amount);
		return 0;
	}
	sum->amount[noise->what] += noise->amount;
	return noise->what == NOISE_GAP ? hist_record(&sum->gaps, noise->amount) : 0;
}

double interference_sum_gaps_above(const struct interference_sum *sum, uint64_t ns)
{
	const struct hist *gaps = &sum->gaps;
	int32_t index = INT32_MIN;
	uint64_t n;
	double time = (double)gaps->over * (double)BUCKET_LIMIT;

	while (hist_next(gaps, &index, &n)) {
		if (bucket_edges_floor(gaps->schema, index) > ns)
			time += (double)n * bucket_edges_double(gaps->schema, index);
	}
	return time;
}
