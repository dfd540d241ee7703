/* SPDX-License-Identifier: Apache-2.0 */
/* The glossary's stages of packets. The layout of events says when a stage is reached. */
#include "cmd/glossary_rows.h"

#include "event/layout.h"

#define STEP "A large step from the stage before means: "

const struct glossary_text glossary_stages[STAGE_MAX] = {
	[STAGE_IRQ] = {
		.effect = "Counts interrupts, not packets, from the start of the handler.",
		.todo = "If it is large, look for long handlers on that CPU (hostlat record "
			"shows interrupts).",
	},
	[STAGE_POLL] = {
		.effect = "Counts softirqs, not packets. " STEP "another softirq, a task that "
			  "keeps softirqs off, or ksoftirqd without a CPU.",
		.todo = "Spread receive work over more CPUs (queues, RPS), or move busy tasks off "
			"the interrupt's CPU.",
	},
	[STAGE_LINK] = {
		.effect = "Most latencies of received packets begin here. Its own latency, from "
			  "the kernel's stamp or a local sender's, is the time before the stack.",
		.todo = "If it is large, add --stages arrival, which measures interrupt, softirq "
			"and GRO.",
	},
	[STAGE_IP] = {
		.effect = STEP "packet taps, traffic control at ingress, or many packets in one "
			  "softirq.",
		.todo = "It is measured with --stages all or a list. Look for tcpdump, tc filters "
			"and XDP programs.",
	},
	[STAGE_TRANSPORT] = {
		.effect = STEP "firewall rules, connection tracking or routing.",
		.todo = "Shorten the rules (nft list ruleset), or exempt the traffic from "
			"connection tracking.",
	},
	[STAGE_SOCKET] = {
		.effect = "TCP only. " STEP "a thread holds the socket's lock, and the segment "
			  "waits in the socket's backlog.",
		.todo = "Read and write less at once, so that calls hold the lock for less time; "
			"let one thread serve a connection.",
	},
	[STAGE_ENQUEUED] = {
		.effect = STEP "TCP waited for earlier bytes (see --hol), or worked for long.",
		.todo = "Look for losses and reordering with hostlat conns.",
	},
	[STAGE_RUNNABLE] = {
		.effect = "Only packets that woke their reader count. " STEP "a late wakeup.",
		.todo = "Look for SO_RCVLOWAT, and for many threads that wait for one socket.",
	},
	[STAGE_RUNNING] = {
		.effect = STEP "other tasks had the CPU, or it slept deeply. culprits[] of read "
			  "names the tasks.",
		.todo = "See hostlat help cpu-wait and idle-exit.",
	},
	[STAGE_READ] = {
		.effect = "The age of the oldest byte that the call returned. " STEP "the "
			  "application was busy with something else.",
		.todo = "Use more threads, or shorter work between reads; hostlat record and "
			"hostlat diagnose show which.",
	},
	[STAGE_SEND] = {
		.what = "Latencies of UDP's sent packets, and TCP's segment, begin here.",
		.effect = "It is a beginning and has no latency of its own.",
	},
	[STAGE_SEGMENT] = {
		.effect = "Measured from the send call. A large latency means: waits for the "
			  "window, Nagle's algorithm, small queues or pacing.",
		.todo = "hostlat conns tells which of them limits a connection.",
	},
	[STAGE_QDISC] = {
		.effect = STEP "firewall rules, routing or a tunnel on the way out. Pacing before "
			  "the departure time is no latency; it is a distribution of its own.",
		.todo = "Shorten the rules of the output hooks (nft list ruleset).",
	},
	[STAGE_DRIVER] = {
		.effect = "The step is the time in the queueing discipline: a shaper, a full "
			  "device, or packets of others.",
		.todo = "Look at tc -s qdisc show; use fq or fq_codel; limit bulk traffic.",
	},
	[STAGE_SENT] = {
		.effect = STEP "the device was full, paused, or completes late (coalescing).",
		.todo = "Look at ethtool -S (pause frames) and ethtool -c (tx-usecs).",
	},
	[STAGE_ACKED] = {
		.effect = "The path's round trip, the peer's delay of acknowledgements, and "
			  "retransmissions are in it.",
		.todo = "hostlat conns tells losses and delayed acknowledgements apart.",
	},
	[STAGE_PROBE] = {
		.effect = "The step begins at the stage before it that is measured.",
		.todo = "Choose another function or tracepoint with --probe to narrow a step down.",
	},
	[STAGE_MARK] = {
		.effect = "It ends a message of record --boundary mark: the application's own "
			  "work is in its latency.",
		.todo = "Set marks around what a user waits for.",
	},
};

#undef STEP
