/* SPDX-License-Identifier: Apache-2.0 */
/* What the probe itself costs: its process by the kernel's accounting, its programs by sampling. */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/resource.h>
#include <unistd.h>

#include "clock/clock.h"
#include "probe/watch_internal.h"

static struct cost cost_now(const struct watch_probe *probe)
{
	struct cost sum = { 0, 0 };
	struct bpf_program *p;

	bpf_object__for_each_program(p, probe->obj) {
		struct bpf_prog_info info = {};
		__u32 len = sizeof(info);

		if (bpf_program__fd(p) < 0 ||
		    bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len))
			continue;
		sum.run_ns += info.run_time_ns;
		sum.runs += info.run_cnt;
	}
	return sum;
}

static uint64_t mono(void)
{
	return clock_mono_ns(clock_system());
}

void watch_meter(struct watch_probe *probe, bool on)
{
	if (on && probe->meter_fd < 0) {
		probe->meter_before = cost_now(probe);
		probe->meter_since = mono();
		probe->meter_fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	} else if (!on && probe->meter_fd >= 0) {
		close(probe->meter_fd);
		probe->meter_fd = -1;
		if (!probe->skel)
			return;
		probe->metered_ns += mono() - probe->meter_since;
		probe->meter_sum.run_ns += cost_now(probe).run_ns - probe->meter_before.run_ns;
	}
}

uint64_t watch_user_ns(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000ULL +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000ULL;
}

uint64_t watch_bpf_ns(struct watch_probe *probe, uint64_t interval)
{
	uint64_t ns = 0;

	watch_meter(probe, false);
	if (probe->metered_ns)
		ns = (uint64_t)((double)probe->meter_sum.run_ns * interval / probe->metered_ns);
	probe->metered_ns = 0;
	probe->meter_sum = (struct cost){ 0, 0 };
	return ns;
}
