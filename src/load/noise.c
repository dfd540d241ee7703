/* SPDX-License-Identifier: Apache-2.0 */
#include "load/noise.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/parse.h"

#define GAP_PLACES 1024

int noise_thread_init(struct noise_thread *noise)
{
	*noise = (struct noise_thread){ .schedstat = -1 };
	return ring_init(&noise->gaps, sizeof(struct noise_span), GAP_PLACES);
}

void noise_thread_release(struct noise_thread *noise)
{
	ring_release(&noise->gaps);
	if (noise->schedstat > 0)
		close(noise->schedstat);
	noise->schedstat = -1;
}

void noise_thread_begin(struct noise_thread *noise)
{
	noise->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
	noise_preempted(noise);
}

void noise_gap(struct noise_thread *noise, uint64_t begin, uint64_t end)
{
	const struct noise_span span = { begin, end };

	if (noise->pending.end) {
		noise->pending.end = end;
		if (ring_push(&noise->gaps, &noise->pending))
			noise->pending.end = 0;
	} else if (!ring_push(&noise->gaps, &span)) {
		noise->pending = span;
	}
}

/* Up to `size` - 1 bytes from the beginning; 0 on failure. */
static size_t read_text(int fd, char *buffer, size_t size)
{
	ssize_t n = fd < 0 ? 0 : pread(fd, buffer, size - 1, 0);

	buffer[n > 0 ? n : 0] = '\0';
	return n > 0 ? n : 0;
}

uint64_t noise_preempted(struct noise_thread *noise)
{
	uint64_t ran, waited, before = noise->preempted_ns;
	char text[128];

	noise->unread = !read_text(noise->schedstat, text, sizeof(text)) ||
			sscanf(text, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2;
	if (noise->unread)
		return 0;
	noise->preempted_ns = waited;
	return waited - before;
}

/* ---- the host ---- */

/* user nice system idle iowait irq softirq steal */
static bool parse_cpu(const char *line, struct noise_times *out)
{
	return sscanf(line, "%*s %*u %*u %*u %*u %*u %*u %" SCNu64 " %" SCNu64, &out->softirq,
		      &out->steal) == 2;
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

static void take_cpu(struct noise_host *noise, unsigned int cpu, const struct noise_times *now,
		     bool counts, struct noise_times *spent)
{
	const struct noise_times before = noise->times[cpu];

	if (counts && noise->known >> cpu & 1) {
		spent->steal += since(now->steal, before.steal);
		spent->softirq += since(now->softirq, before.softirq);
	}
	noise->times[cpu] = *now;
	noise->known |= 1ULL << cpu;
}

/* What these CPUs spent since the last call. All are read: threads move. */
static struct noise_times read_stat(struct noise_host *noise, uint64_t cpus)
{
	struct noise_times now, spent = { 0 };
	char text[16384], *line, *next;
	uint64_t seen = 0;
	unsigned int cpu;

	noise->unread = !read_text(noise->stat, text, sizeof(text));
	/* The first line is the sum; one that the buffer cuts off has no end. */
	for (line = strchr(text, '\n'); line && !strncmp(line + 1, "cpu", 3); line = next) {
		next = strchr(line + 1, '\n');
		if (next && sscanf(line + 4, "%u", &cpu) == 1 && cpu < NOISE_CPUS &&
		    parse_cpu(line + 1, &now)) {
			take_cpu(noise, cpu, &now, cpus >> cpu & 1, &spent);
			seen |= 1ULL << cpu;
		}
	}
	noise->unread |= (cpus & ~seen) != 0;
	return spent;
}

void noise_host_init(struct noise_host *noise, struct clock *clock)
{
	*noise = (struct noise_host){
		.clock = clock,
		.stat = open("/proc/stat", O_RDONLY | O_CLOEXEC),
	};
}

void noise_host_release(struct noise_host *noise)
{
	if (noise->stat > 0)
		close(noise->stat);
	noise->stat = -1;
}

int noise_put(struct event_sink *sink, uint32_t agent, enum noise_what what, uint64_t begin,
	      uint64_t end, uint64_t amount)
{
	const struct event_noise e = {
		.agent = agent, .what = what, .begin = begin, .end = end, .amount = amount,
	};

	return event_put(sink, EV_NOISE, end, &e, sizeof(e));
}

static uint64_t to_ns(uint64_t ticks)
{
	return ticks * (NS_PER_S / sysconf(_SC_CLK_TCK));
}

/* The lowest clock of these CPUs in kHz; 0: not readable, as on most virtual machines. */
static uint64_t lowest_khz(uint64_t cpus)
{
	char path[96], text[32];
	uint64_t lowest = 0, khz;
	unsigned int cpu;
	int fd;

	for (cpu = 0; cpu < NOISE_CPUS; cpu++) {
		if (!(cpus >> cpu & 1))
			continue;
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu%u/cpufreq/scaling_cur_freq", cpu);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			return 0;
		if (read_text(fd, text, sizeof(text)) && sscanf(text, "%" SCNu64, &khz) == 1 &&
		    (!lowest || khz < lowest))
			lowest = khz;
		close(fd);
	}
	return lowest;
}

/* Time asleep since the last tick. Between two readings time passes: what that may be is not it. */
static uint64_t slept(struct noise_host *noise)
{
	const int64_t first = clock_mono_ns(noise->clock), before = noise->asleep_ns;
	int64_t boot, least;

	if (clock_read(noise->clock, DOMAIN_BOOTTIME, &boot))
		return 0;
	least = boot - clock_mono_ns(noise->clock);
	noise->asleep_ns = boot - first;
	return noise->last_ns && least > before ? (uint64_t)(least - before) : 0;
}

int noise_host_tick(struct noise_host *noise, struct event_sink *sink, uint32_t agent,
		    uint64_t now, uint64_t cpus, uint32_t threads)
{
	const struct noise_times spent = read_stat(noise, cpus);
	const uint64_t asleep = slept(noise), khz = lowest_khz(cpus);
	const uint64_t last = noise->last_ns ? noise->last_ns : now;
	int err = 0;

	noise->last_ns = now;
	if (khz)
		err = noise_put(sink, agent, NOISE_FREQUENCY, last, now, khz);
	for (uint32_t i = 0; i < threads && asleep && !err; i++)
		err = noise_put(sink, agent, NOISE_GAP, last, now, asleep);
	if (!err && spent.steal)
		err = noise_put(sink, agent, NOISE_STEAL, last, now, to_ns(spent.steal));
	if (!err && spent.softirq)
		err = noise_put(sink, agent, NOISE_SOFTIRQ, last, now, to_ns(spent.softirq));
	return err;
}
