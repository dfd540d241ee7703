/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Loops of known lengths. They are never attached; icount.c runs them one by one. */
#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char _license[] SEC("license") = "Dual BSD/GPL";

/* Four instructions a turn: the empty asm keeps the compiler from folding or unrolling them. */
#define LOOP(turns)							\
	SEC("raw_tp/sched_switch")					\
	int loop##turns(void *ctx)					\
	{								\
		__u64 sum = 0, i;					\
									\
		_Pragma("clang loop unroll(disable)")			\
		for (i = 0; i < turns; i++) {				\
			sum += i;					\
			asm volatile("" : "+r"(sum));			\
		}							\
		return 0;						\
	}

LOOP(0)
LOOP(10)
LOOP(11)
LOOP(100)
