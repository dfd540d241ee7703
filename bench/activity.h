/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/* Definitions shared by bench/activity.c and its programs. */
#ifndef HOSTLAT_BENCH_ACTIVITY_H
#define HOSTLAT_BENCH_ACTIVITY_H

#define BENCH_LOOP 256

enum activity_chain {
	CHAIN_EMPTY,
	CHAIN_SOFTIRQ,
	CHAIN_INTERRUPT,
	CHAIN_IDLE,
	CHAIN_SYSCALL,
	CHAIN_WAKING,
	CHAIN_SWITCH,
	CHAINS,
};

#endif
