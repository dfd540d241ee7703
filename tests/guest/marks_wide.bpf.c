/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * A control for preempt.py: the programs of src/bpf/marks.bpf.c with a larger frame, which kernels
 * since 6.13 put on a stack per CPU that another thread's run may overwrite.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <stdbool.h>
#include <asm/ptrace.h>

#define BPF_USDT_MAX_SPEC_CNT 1024
#include <bpf/usdt.bpf.h>

static __always_inline int wide_usdt_arg(struct pt_regs *ctx, __u64 n, long *id)
{
	char wide[64];

	asm volatile("" : : "r"(wide) : "memory");
	return bpf_usdt_arg(ctx, n, id);
}

#define bpf_usdt_arg wide_usdt_arg
#include "bpf/marks.bpf.c"
