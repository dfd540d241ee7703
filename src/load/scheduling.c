/* SPDX-License-Identifier: Apache-2.0 */
#include "load/scheduling.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/parse.h"

#define NICE_HIGH (-20)
/*
 * Shares of BUSY_OVER_NS. By default the kernel stops the threads of real-time priority of a CPU
 * for the rest of a second after 950 ms.
 */
#define BUSY_MOST 0.9
#define BUSY_AGAIN 0.75
#define BUSY_OVER_NS (500 * NS_PER_MS)

const char *const scheduling_priorities[] = {
	[PRIORITY_NORMAL] = "normal", [PRIORITY_HIGH] = "high", [PRIORITY_REALTIME] = "realtime",
	[PRIORITY_UNKNOWN] = "unknown", NULL,
};

int scheduling_nth_cpu(uint32_t number)
{
	cpu_set_t set;
	int cpu, n;

	if (sched_getaffinity(0, sizeof(set), &set))
		return -1;
	n = CPU_COUNT(&set);
	for (cpu = 0, number %= n; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &set) && !number--)
			return cpu;
	}
	return -1;
}

static int set_realtime(bool on)
{
	const struct sched_param lowest = { .sched_priority = sched_get_priority_min(SCHED_RR) };
	const struct sched_param none = { .sched_priority = 0 };

	return on ? sched_setscheduler(0, SCHED_RR, &lowest) :
		    sched_setscheduler(0, SCHED_OTHER, &none);
}

/*
 * Tries: capabilities, limits, control groups and security modules all decide. A limit of time
 * without a sleep would end the process.
 */
static bool may_be_realtime(void)
{
	struct rlimit without_sleep;

	return !getrlimit(RLIMIT_RTTIME, &without_sleep) &&
	       without_sleep.rlim_cur == RLIM_INFINITY && !set_realtime(true) &&
	       !set_realtime(false);
}

static bool may_be_high(void)
{
	const int before = getpriority(PRIO_PROCESS, 0);

	return !setpriority(PRIO_PROCESS, 0, NICE_HIGH) &&
	       !setpriority(PRIO_PROCESS, 0, before);
}

enum load_priority scheduling_wanted(enum load_priority asked, bool spin)
{
	return spin || sched_getscheduler(0) != SCHED_OTHER ? PRIORITY_NORMAL : asked;
}

enum load_priority scheduling_granted(const struct load_config *config)
{
	const enum load_priority wanted = scheduling_wanted(config->priority, config->spin);

	if (sysconf(_SC_NPROCESSORS_ONLN) <= (long)config->threads)
		return PRIORITY_NORMAL;
	if (wanted == PRIORITY_REALTIME && may_be_realtime())
		return PRIORITY_REALTIME;
	return wanted != PRIORITY_NORMAL && may_be_high() ? PRIORITY_HIGH : PRIORITY_NORMAL;
}

void scheduling_apply(int cpu, enum load_priority priority)
{
	cpu_set_t set;

	prctl(PR_SET_TIMERSLACK, 1);
	if (cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		sched_setaffinity(0, sizeof(set), &set);
	}
	/* Threads of real-time priority get it as well, for when they yield. */
	if (priority != PRIORITY_NORMAL)
		setpriority(PRIO_PROCESS, 0, NICE_HIGH);
	if (priority == PRIORITY_REALTIME)
		set_realtime(true);
}

void scheduling_yield(struct scheduling_yield *y, uint64_t now_ns, uint64_t cpu_ns)
{
	const double time = (double)(now_ns - y->at_ns), busy = (double)(cpu_ns - y->cpu_ns);
	bool too_busy, yields;

	if (y->at_ns && time < (double)BUSY_OVER_NS)
		return;
	too_busy = y->at_ns && busy > time * (y->yields ? BUSY_AGAIN : BUSY_MOST);
	yields = too_busy && y->frugal;
	y->frugal |= too_busy;
	if (yields != y->yields)
		set_realtime(!yields);
	y->yields = yields;
	y->ever |= yields;
	y->at_ns = now_ns;
	y->cpu_ns = cpu_ns;
}
