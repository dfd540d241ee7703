/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Records each set of clock parameters that the kernel publishes, and when.
 *
 * update_vsyscall() is called at each change and each timer tick, under the timekeeper's lock. The
 * clock that BPF reads changes right after it: before and directly after update_vsyscall(),
 * programs still read the old clock.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>

#include "bpf/abi_timekeeping.h"
#include "bpf/kernel/timekeeper.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, TK_RING);
} updates SEC(".maps");

__u64 begun;      /* updates begun so far; user space reads it */
__u64 before_ns;  /* time before the current update; updates never overlap */

/* Returns false for timekeepers of other clocks, which exist since 6.17. */
static __always_inline bool tk_is_core(struct timekeeper *tk)
{
	struct timekeeper___many *many = (void *)tk;

	return !bpf_core_field_exists(many->id) || !BPF_CORE_READ(many, id);
}

SEC("fentry/update_vsyscall")
int BPF_PROG(tk_publish, struct timekeeper *tk)
{
	if (!tk_is_core(tk))
		return 0;
	before_ns = bpf_ktime_get_ns();
	*(volatile __u64 *)&begun = begun + 1;
	return 0;
}

static __always_inline void tk_copy_line(struct tk_line *line, const struct tk_read_base *base)
{
	line->cycle_last = base->cycle_last;
	line->xtime_nsec = base->xtime_nsec;
	line->base = base->base;
	line->mult = base->mult;
	line->shift = base->shift;
}

SEC("fexit/update_vsyscall")
int BPF_PROG(tk_published, struct timekeeper *tk)
{
	__u64 now = bpf_ktime_get_ns();
	struct tk_update *u;

	if (!tk_is_core(tk))
		return 0;
	u = bpf_ringbuf_reserve(&updates, sizeof(*u), 0);
	if (!u)
		return 0;
	u->seq = begun;
	u->before_ns = before_ns;
	u->after_ns = now;
	tk_copy_line(&u->mono, &tk->tkr_mono);
	u->offs_real = tk->offs_real;
	u->offs_tai = tk->offs_tai;
	if (bpf_probe_read_kernel_str(u->clock, sizeof(u->clock), tk->tkr_mono.clock->name) < 0)
		u->clock[0] = '\0';
	bpf_ringbuf_submit(u, BPF_RB_NO_WAKEUP);
	return 0;
}
