/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/* The load generator's part of event/layout.h, which includes it; its rules of change hold here. */
#ifndef HOSTLAT_EVENT_LAYOUT_LOAD_H
#define HOSTLAT_EVENT_LAYOUT_LOAD_H

enum {
	SAMPLE_NIC_TX = 1,	/* snd_ns is the NIC's stamp, not the kernel's: see match_place() */
	SAMPLE_NIC_RX = 2,	/* rx_ns is the NIC's stamp, not the kernel's */
	SAMPLE_FAILED = 4,	/* no (good) reply: `done` is when that was known */
	SAMPLE_WARMUP = 8,
	SAMPLE_CENSORED = 16,	/* rx_ns is of a later byte: several replies came in one read */
	SAMPLE_ASLEEP = 32,	/* the reply had to wake its reader: wake_ns holds the wakeup */
	SAMPLE_RETRANSMIT = 64,	/* a byte of the request was sent more than once */
	SAMPLE_PROBE = 128,	/* of a latency agent, not of the load */
	SAMPLE_TIMEOUT = 256,	/* failed because no reply came in time */
	SAMPLE_RESENT = 1024,	/* sent again on another connection: `sent` is of the first time,
				   stamps and their distances are of the last one */
	SAMPLE_UNSENT = 512,	/* failed before it was sent: sent = done, no offsets */
};

/*
 * One request. Ordered by `done`; reaches back to `intended`. The stamps between are distances in
 * ns, 0 = unknown: of the request after `sent`, of the reply before `done`. A distance of 0 is
 * stored as 1, one beyond 4.29 s as unknown.
 */
struct event_sample {
	__u64 intended;		/* time in the schedule */
	__u64 sent;		/* when the application called send() for its first byte */
	__u64 done;		/* when the application had read the last byte of its reply */
	__u64 tx_offset;	/* first byte of the request in the flow */
	__u64 rx_offset;	/* first byte of the reply */
	__u32 tx_bytes;
	__u32 rx_bytes;
	__u32 flow;		/* EV_FLOW */
	__u16 type;		/* of request, by protocol */
	__u16 flags;
	__u32 sched_ns;		/* sent to: its last byte entered the queueing discipline */
	__u32 snd_ns;		/* sent to: ... was handed to the driver, or left the NIC */
	__u32 ack_ns;		/* sent to: ... was acknowledged */
	__u32 rx_ns;		/* to done: the stack or NIC received the last byte of the reply */
	__u32 wake_ns;		/* to done: the reader's wait returned */
	__u32 server_in_ns;	/* sent to: the server read the request (same host's clock only) */
	__u32 server_out_ns;	/* to done: the server sent the reply */
	__u32 pad;
};

/* One noticed disturbance of the host that generates load; what the noise gate judges. */
enum noise_what {
	NOISE_NONE,
	NOISE_GAP,		/* a load thread that wanted to run didn't, from begin to end; or
				   between them the machine slept, for `amount` */
	NOISE_STEAL,		/* of the threads' CPUs in the tick: what the hypervisor took */
	NOISE_SOFTIRQ,		/* of the threads' CPUs in the tick */
	NOISE_PREEMPTED,	/* of the threads in the tick: runnable without a CPU */
	NOISE_FREQUENCY,	/* the lowest clock of the threads' CPUs, in kHz, in `amount` */
	NOISE_MAX,
};

struct event_noise {
	__u32 agent;
	__u32 what;		/* enum noise_what */
	__u64 begin;
	__u64 end;
	__u64 amount;		/* ns, or by `what` */
};

enum {
	LOAD_FINAL = 1,		/* nothing comes after this one from this agent */
	LOAD_STARTED = 2,	/* the schedule has begun: `started_ns` holds */
	LOAD_EXHAUSTED = 4,	/* the schedule ended */
	LOAD_UNREACHABLE = 8,	/* no connection is open, and none can be made */
	LOAD_MISSES = 16,	/* `misses` is counted: earlier versions did not */
	LOAD_NO_STAT = 32,	/* steal and softirqs are not known: /proc/stat can't be read */
	LOAD_CLOSES = 128,	/* `closes` and `resent` are counted: earlier versions did not */
	LOAD_NO_SCHEDSTAT = 64,	/* nor time runnable without a CPU: /proc/self/schedstat can't */
};

/*
 * A load generator's counters since its start; written every tick after all samples of the time
 * before. Always scheduled = completed + failed + unsent + in_flight, where `unsent` are those
 * whose intended time has come and that still wait for a free connection.
 */
struct event_load {
	__u32 agent;
	__u32 flags;		/* LOAD_FINAL ... */
	__u64 started_ns;	/* what intended times of the schedule count from */
	__u64 oldest_ns;	/* intended time of the oldest request without an outcome; or now */
	__u64 scheduled;	/* whose intended time has come */
	__u64 completed;
	__u64 failed;
	__u64 unsent;
	__u64 in_flight;
	__u64 bytes_sent;
	__u64 bytes_received;
	__u64 connects;		/* connections made, the first ones included */
	__u64 timeouts;		/* these four: failed requests by reason */
	__u64 resets;		/* connection closed or reset under them */
	__u64 refused;		/* server error replies */
	__u64 garbled;		/* replies that break the protocol */
	__u64 samples_lost;	/* samples that did not fit into their ring */
	__u64 stamps_missing;	/* requests or replies without a kernel stamp that was asked for */
	__u64 cpu_ns;		/* CPU time of its threads */
	__u64 spin_ns;		/* part of cpu_ns spent spinning in waits */
	__u64 open_connections;
	__u64 misses;		/* of `completed`: replies that hold nothing, see LOAD_MISSES */
	__u64 closes;		/* connections that the server closed after a reply */
	__u64 resent;		/* requests that went out again on another one */
};

EVENT_ASSERT(event_noise, 32, amount, 24);
EVENT_ASSERT(event_load, 184, resent, 176);
EVENT_ASSERT(event_sample, 88, pad, 84);

#endif
