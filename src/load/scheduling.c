/* SPDX-License-Identifier: Apache-2.0 */
#include "load/scheduling.h"

#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#define NICE_HIGH (-20)

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

/* Tries: capabilities, RLIMIT_NICE and security modules all decide. */
static bool scheduling_may_raise(void)
{
	const int before = getpriority(PRIO_PROCESS, 0);

	return !setpriority(PRIO_PROCESS, 0, NICE_HIGH) &&
	       !setpriority(PRIO_PROCESS, 0, before);
}

bool scheduling_can_raise(const struct load_config *config)
{
	return !config->spin && sysconf(_SC_NPROCESSORS_ONLN) > (long)config->threads &&
	       scheduling_may_raise();
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
	if (priority == PRIORITY_HIGH)
		setpriority(PRIO_PROCESS, 0, NICE_HIGH);
}
