/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/common/prog_stats.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "host/root.h"

bool prog_stats_are_on(void)
{
	uint64_t on;

	return !host_read_u64(&on, "%s/sys/kernel/bpf_stats_enabled", host_root_live.proc) && on;
}

/* Returns the kernel's information on a program; zeros if the program is not loaded. */
static struct bpf_prog_info info_of(const struct bpf_program *program)
{
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);

	if (bpf_program__fd(program) < 0 ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(program), &info, &len))
		return (struct bpf_prog_info){};
	return info;
}

void prog_stats_add(const struct bpf_program *program, uint64_t *ns, uint64_t *runs)
{
	const struct bpf_prog_info info = info_of(program);

	*ns += info.run_time_ns;
	*runs += info.run_cnt;
}

uint64_t prog_stats_skipped(const struct bpf_program *program)
{
	return info_of(program).recursion_misses;
}

void prog_stats_add_all(const struct bpf_object *object, uint64_t *ns, uint64_t *runs)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
		prog_stats_add(program, ns, runs);
}
