/* SPDX-License-Identifier: Apache-2.0 OR BSD-2-Clause OR GPL-2.0-only */
/*
 * The counters of a connection, one row each. The rows generate the difference of two records
 * (probe/connection/conn_delta.c), the sum (conns/conn_accumulate.c), JSON, the text's columns, the
 * fields of --filter and the manual. HACKING.md says how to add a counter.
 *
 * A row is WIDTH(field, value, known, object, "name", unit, "meaning", .text = ...):
 *
 *	WIDTH	U64, U32 or U16: width of the kernel's counter, which only grows and may wrap. MOST:
 *		no counter but a maximum; the kernel restarts it with each record. MADE: computed
 *		from other counters.
 *	field	member of struct event_conn
 *	value	counter since the connection was first seen, from the kernel's record: `k` is its
 *		struct conn_stats and `n` its struct conn_now (bpf/abi_conns.h). MADE: unused.
 *	known	bits of enum conn_known without which the counter is unknown; a sum that overflows
 *		loses them
 *	object	object of a connection in JSON: EVENTS, BYTES, CALLS, RTT, RECOVERY, SAMPLES or NONE
 *	name	key in that object
 *	unit	COUNT, SIZE (bytes) or TIME (ns)
 *	meaning	sentence for the manual, without a full stop
 *	.filter	field of --filter; optional
 *	.head	heading of a column in text; optional
 *	.flags	COLUMN_* of report/report.h; COLUMN_SPARE: no column in tables of groups
 *	.label	name in sentences that list all counters of EVENTS, which must have it
 *
 * A list takes five macros and applies each to the rows of its width.
 */
#ifndef HOSTLAT_EVENT_CONN_COUNTERS_H
#define HOSTLAT_EVENT_CONN_COUNTERS_H

/*
 * Counters with explicit members in struct event_conn and in struct conn_stats: the order in struct
 * event_conn is the file format, the order in struct conn_stats saves cache misses.
 */
#define CONN_COUNTERS_FIRST(U64, U32, U16, MOST, MADE)                                             \
	U32(fast_retransmit, k->fast_retransmit, CONN_KNOWS_LOSSES, EVENTS, "fast_retransmit",     \
	    COUNT, "segments retransmitted in fast recovery", .filter = "fast-retransmits",        \
	    .head = "FR", .label = "FR")                                                           \
	U16(rto, k->rto, CONN_KNOWS_RTO, EVENTS, "rto", COUNT, "retransmission timeouts",          \
	    .filter = "timeouts", .head = "RTO", .label = "RTO")                                   \
	U16(tlp, k->tlp, CONN_KNOWS_LOSSES, EVENTS, "tlp", COUNT, "tail-loss probes sent",         \
	    .filter = "tail-loss-probes", .head = "TLP", .label = "TLP")                           \
	U32(spurious, n->dsack_dups - k->idle.dsack_dups, CONN_KNOWS_SPURIOUS, EVENTS, "spurious", \
	    COUNT, "retransmitted segments that had arrived, by DSACK", .filter = "spurious",      \
	    .label = "spurious")                                                                   \
	U32(delayed_acks, n->delacks, CONN_KNOWS_DELACKS, EVENTS, "delayed_acks", COUNT,           \
	    "delayed acknowledgements that this end's timer sent", .label = "delayed ACKs")        \
	U16(delayed_acks_harmful, k->delacks_harmful, CONN_KNOWS_PEER_DELACKS, EVENTS,             \
	    "delayed_acks_harmful", COUNT,                                                         \
	    "the peer's delayed acknowledgements during which this end held data back",            \
	    .head = "held",                                                                        \
	    .flags = COLUMN_SPARE, .label = "data held for the peer's delayed ACKs")               \
	U64(bytes_sent, n->bytes_sent - k->idle.bytes_sent, 0, BYTES, "sent", SIZE,                \
	    "payload sent, retransmissions included", .filter = "sent")                            \
	U64(bytes_received, n->bytes_received - k->idle.bytes_received, 0, BYTES, "received",      \
	    SIZE, "payload received", .filter = "received")                                        \
	U64(bytes_acked, n->bytes_acked - k->idle.bytes_acked, 0, BYTES, "acked", SIZE,            \
	    "payload that the peer has acknowledged")                                              \
	U64(bytes_retransmitted, n->bytes_retrans - k->idle.bytes_retrans, 0, BYTES,               \
	    "retransmitted", SIZE, "payload sent again")                                           \
	U32(send_calls, k->send_calls, CONN_KNOWS_CALLS, CALLS, "send", COUNT, "send calls")       \
	U64(send_bytes, k->send_bytes, CONN_KNOWS_CALLS, CALLS, "send_bytes", SIZE,                \
	    "payload given to send calls")                                                         \
	U32(send_small, k->send_small, CONN_KNOWS_CALLS, CALLS, "send_small", COUNT,               \
	    "send calls of less than half a segment after another such call, without an "          \
	    "acknowledgement in between")                                                          \
	U32(send_blocked, k->send_blocked, CONN_KNOWS_CALLS, CALLS, "send_blocked", COUNT,         \
	    "send calls that failed with EAGAIN: the send buffer was full")                        \
	U32(recv_calls, k->recv_calls, CONN_KNOWS_CALLS, CALLS, "recv", COUNT, "receive calls")    \
	U64(recv_bytes, k->recv_bytes, CONN_KNOWS_CALLS, CALLS, "recv_bytes", SIZE,                \
	    "payload returned by receive calls")                                                   \
	MOST(longest_pause_ns, k->longest_pause_us * 1000ULL, CONN_KNOWS_CALLS, CALLS,             \
	     "longest_pause_ns", TIME, "longest time between two send calls")                      \
	U16(idle_bursts, k->idle_bursts, CONN_KNOWS_CALLS, CALLS, "idle_bursts", COUNT,            \
	    "whole windows sent at once after a pause longer than the RTO")                        \
	U16(idle_bursts_lost, k->idle_bursts_lost, CONN_KNOWS_CALLS, CALLS, "idle_bursts_lost",    \
	    COUNT, "bursts after a pause with a retransmission within two round trips")            \
	U16(idle_restarts, k->idle_restarts, CONN_KNOWS_CALLS, CALLS, "idle_restarts", COUNT,      \
	    "times that the congestion window was cut after a pause and then limited the "         \
	    "connection")                                                                          \
	U32(rtt_samples, k->rtt_samples, CONN_KNOWS_RTT, RTT, "samples", COUNT,                    \
	    "round trips measured")                                                                \
	U64(rtt_sum_us, k->rtt_sum_us, CONN_KNOWS_RTT, NONE, NULL, COUNT, NULL)                    \
	U16(recoveries, k->recoveries, CONN_KNOWS_LOSSES, RECOVERY, "recoveries", COUNT,           \
	    "entries into fast recovery")                                                          \
	U64(recovery_ns, k->recovery_ns, CONN_KNOWS_LOSSES, RECOVERY, "recovery_ns", TIME,         \
	    "time of loss recovery, including the stall before it")                                \
	U64(loss_ns, k->loss_ns, CONN_KNOWS_LOSSES, RECOVERY, "loss_ns", TIME,                     \
	    "part of recovery_ns after a timeout")                                                 \
	U16(stalls, k->stalls, CONN_KNOWS_LOSSES, RECOVERY, "stalls", COUNT,                       \
	    "stalls: nothing was acknowledged until a retransmission was acknowledged")            \
	U64(stall_ns, k->stall_ns, CONN_KNOWS_LOSSES, RECOVERY, "stall_ns", TIME,                  \
	    "total time of stalls", .filter = "stall")                                             \
	MOST(longest_stall_ns, k->longest_stall_us * 1000ULL, CONN_KNOWS_LOSSES, RECOVERY,         \
	     "longest_stall_ns", TIME, "longest stall")                                            \
	U16(peer_delayed_acks, k->peer_delacks, CONN_KNOWS_PEER_DELACKS, RECOVERY,                 \
	    "peer_delayed_acks", COUNT,                                                            \
	    "round trips extended by the peer's timer for delayed acknowledgements",               \
	    .filter = "delayed-acks")                                                              \
	MADE(busy_ns, 0, CONN_KNOWS_CHRONO, RECOVERY, "kernel_busy_ns", TIME,                      \
	     "time with outstanding data, as counted by the kernel")                               \
	MADE(kernel_rwnd_ns, 0, CONN_KNOWS_CHRONO, RECOVERY, "kernel_rwnd_ns", TIME,               \
	     "part of kernel_busy_ns that was limited by the peer's window")                       \
	MADE(kernel_sndbuf_ns, 0, CONN_KNOWS_CHRONO, RECOVERY, "kernel_sndbuf_ns", TIME,           \
	     "part of kernel_busy_ns that was limited by the send buffer")                         \
	U16(zero_windows, k->zero_windows, CONN_KNOWS_TIMES, SAMPLES, "zero_windows", COUNT,       \
	    "samples in which the peer's window was closed")                                       \
	U16(unread, k->unread, CONN_KNOWS_TIMES, SAMPLES, "unread", COUNT,                         \
	    "samples in which this end's receive buffer was full")

/*
 * Counters added later, U32 or U16. A row makes the members of both structs, `field` and k->field,
 * and a bit of enum conn_known, CONN_COUNTS_(field), which `known` must have: older recordings lack
 * the bit, so that the counter is unknown. Rows are only appended: their order is the file's.
 */
#define CONN_COUNTERS_ADDED(U32, U16)                                                              \
	U16(cwnd_paced, k->cwnd_paced, CONN_KNOWS_TIMES | CONN_COUNTS_cwnd_paced, SAMPLES,         \
	    "cwnd_paced", COUNT, "samples in state cwnd in which pacing held the next segment")    \
	U16(cwnd_queued, k->cwnd_queued, CONN_KNOWS_TIMES | CONN_COUNTS_cwnd_queued, SAMPLES,      \
	    "cwnd_queued", COUNT,                                                                  \
	    "samples in state cwnd in which this host's own queue held the next segment "          \
	    "(TCP small queues)")                                                                  \
	U16(rto_delacks, k->rto_delacks, CONN_KNOWS_LOSSES | CONN_COUNTS_rto_delacks, RECOVERY,    \
	    "delayed_acks_after_rto", COUNT,                                                       \
	    "acknowledgements that the peer delayed of a lone segment that a timeout sent again, " \
	    "while other data waited")                                                             \
	U32(rto_delack_us, k->rto_delack_us, CONN_KNOWS_LOSSES | CONN_COUNTS_rto_delack_us, NONE,  \
	    NULL, COUNT, NULL)

#define CONN_COUNTERS_NO_ROW(...)

#define CONN_COUNTERS(U64, U32, U16, MOST, MADE)                                                   \
	CONN_COUNTERS_FIRST(U64, U32, U16, MOST, MADE)                                             \
	CONN_COUNTERS_ADDED(U32, U16)

/* Applies the macro ROW to the row of each counter of a connection. */
#define CONN_COUNTERS_EACH(ROW) CONN_COUNTERS(ROW, ROW, ROW, ROW, ROW)

#endif
