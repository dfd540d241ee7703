/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/* The load generator's part of event/layout.h, which includes it; its rules of change hold. */
#ifndef HOSTLAT_EVENT_LAYOUT_LOAD_H
#define HOSTLAT_EVENT_LAYOUT_LOAD_H

enum {
	SAMPLE_NIC_TX = 1,	/* snd_ns is the NIC's stamp, not the kernel's (load/match.h) */
	SAMPLE_NIC_RX = 2,	/* rx_ns is the NIC's stamp, not the kernel's */
	SAMPLE_FAILED = 4,	/* no (valid) reply: `done` is when that was known */
	SAMPLE_WARMUP = 8,
	SAMPLE_CENSORED = 16,	/* rx_ns is of a later byte: one read returned several replies */
	SAMPLE_ASLEEP = 32,	/* the reply had to wake its reader: wake_ns holds the wakeup */
	SAMPLE_RETRANSMIT = 64,	/* a byte of the request was sent more than once */
	SAMPLE_PROBE = 128,	/* a latency agent's request, not the load's */
	SAMPLE_TIMEOUT = 256,	/* failed: no reply in time */
	SAMPLE_RESENT = 1024,	/* sent again on another connection: `sent`, where distances
				 * begin, is the first send(); stamps are of the last sending */
	SAMPLE_UNSENT = 512,	/* failed before sending: sent = done, no stamps */
};

/*
 * One request, from `intended` to `done`. Requests are ordered by `done`. Time stamps are stored as
 * distances in ns: from `sent` for the request, to `done` for the reply. 0: unknown. A distance of
 * 0 is stored as 1, a distance beyond 4.29 s as unknown.
 */
struct event_sample {
	__u64 intended;		/* time at which the request was due by the schedule */
	__u64 sent;		/* when the application called send() for the first byte */
	__u64 done;		/* when the application had read the reply's last byte */
	__u64 tx_offset;	/* flow offset of the request's first byte */
	__u64 rx_offset;	/* flow offset of the reply's first byte */
	__u32 tx_bytes;
	__u32 rx_bytes;
	__u32 flow;		/* EV_FLOW */
	__u16 type;		/* enum operation_kind; also 0 without operations */
	__u16 flags;
	__u32 sched_ns;		/* from send() until the request's last byte entered the qdisc */
	/* from send() until the request's last byte was at the driver, or left the NIC */
	__u32 snd_ns;
	__u32 ack_ns;		/* from send() until the request's last byte was acknowledged */
	__u32 rx_ns;		/* from the stack's or NIC's receipt of the last byte to its read */
	__u32 wake_ns;		/* from the return of the reader's wait to the read of the reply */
	__u32 server_in_ns;	/* from send() until the server read the request (same host only) */
	__u32 server_out_ns;	/* from the server's send of the reply to its read */
	__u32 outcome;		/* cause that the reply named (load/outcomes.h); 0: none */
};

/* Kinds of EV_NOISE: disturbances of the load generator's host, which may falsify latencies. */
enum noise_what {
	NOISE_NONE,
	NOISE_GAP,		/* begin to end: a runnable load thread did not run, or the machine
				 * slept for `amount` */
	NOISE_STEAL,		/* steal time of the load threads' CPUs in begin..end */
	NOISE_SOFTIRQ,		/* softirq time of the load threads' CPUs in begin..end */
	NOISE_PREEMPTED,	/* run-queue wait of the load threads in begin..end */
	NOISE_FREQUENCY,	/* lowest clock frequency of the load threads' CPUs, in kHz */
	NOISE_MAX,
};

struct event_noise {
	__u32 agent;
	__u32 what;		/* enum noise_what */
	__u64 begin;
	__u64 end;
	__u64 amount;		/* ns; NOISE_FREQUENCY: kHz */
};

enum {
	LOAD_FINAL = 1,		/* the agent's last record */
	LOAD_STARTED = 2,	/* the schedule has begun: `started_ns` is set */
	LOAD_EXHAUSTED = 4,	/* the schedule ended */
	LOAD_UNREACHABLE = 8,	/* no connection can be opened, or the server denies all requests */
	LOAD_MISSES = 16,	/* replies without a value are counted; not in earlier versions */
	LOAD_NO_STAT = 32,	/* steal and softirqs are unknown: no /proc/stat */
	LOAD_CLOSES = 128,	/* server closes, resends are counted; not in earlier versions */
	LOAD_YIELDED = 256,	/* at times a thread gave up real-time priority: it was busy */
	LOAD_NODE_BUSY = 512,	/* requests wait for a connection of their node of a cluster */
	LOAD_NO_SCHEDSTAT = 64,	/* time without a CPU is unknown: no /proc/self/schedstat */
};

/*
 * A load generator's counters since its start, written every 100 ms after all earlier samples.
 * Always scheduled = completed + failed + unsent + in_flight. `unsent`: requests whose intended
 * time has come and that wait for a free connection.
 */
struct event_load {
	__u32 agent;
	__u32 flags;		/* LOAD_* */
	__u64 started_ns;	/* time 0 of the schedule's intended times */
	__u64 oldest_ns;	/* intended time of the oldest request without an outcome; or now */
	__u64 scheduled;	/* requests whose intended time has come */
	__u64 completed;
	__u64 failed;
	__u64 unsent;
	__u64 in_flight;
	__u64 bytes_sent;
	__u64 bytes_received;
	__u64 connects;		/* connections made, including those at the start */
	__u64 timeouts;		/* failed requests: no reply in time */
	__u64 resets;		/* failed requests: connection closed or reset */
	__u64 refused;		/* failed requests: server error replies */
	__u64 garbled;		/* failed requests: replies that break the protocol */
	__u64 samples_lost;	/* samples that did not fit into their ring buffer */
	__u64 stamps_missing;	/* requests or replies without a requested kernel stamp */
	__u64 cpu_ns;		/* CPU time of the agent's threads */
	__u64 spin_ns;		/* part of cpu_ns spent spinning in waits */
	__u64 open_connections;
	__u64 misses;		/* completed requests: reply without content; see LOAD_MISSES */
	__u64 closes;		/* connections that the server closed after a reply */
	__u64 resent;		/* requests sent again on another connection */
};

EVENT_ASSERT(event_noise, 32, amount, 24);
EVENT_ASSERT(event_load, 184, resent, 176);
EVENT_ASSERT(event_sample, 88, outcome, 84);

#endif
