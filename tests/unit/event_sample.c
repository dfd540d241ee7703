/* SPDX-License-Identifier: Apache-2.0 */
#include "event_sample.h"

#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "../sim/event_words.h"

#define START (1000 * NS_PER_S)
#define TSC 1	/* the sample's second clock domain */

struct event_writer_options sample_options(bool raw)
{
	return (struct event_writer_options){
		.raw = raw,
		.started_ns = 1700000000 * NS_PER_S,
		.clock_error_ns = 25,
		.stream = 0x5eed,
	};
}

#define PUT(writer, kind, ...)                                                                     \
	event_writer_put(writer, EVENT_CORE_NONE, kind, START, &(__VA_ARGS__), sizeof(__VA_ARGS__))

static int put_setup(struct event_writer *w)
{
	struct event_sink *sink = event_writer_sink(w);
	struct {
		struct event_group group;
		struct event_label labels[2];
	} group = { { .id = 1, .n = 2 },
		    { { .key = GROUP_PORT, .value = 11211 },
		      { .key = GROUP_CGROUP, .name = 1, .value = 4242 } } };
	const uint32_t hook = event_writer_intern(w, DICT_STRING, "tcp_probe");
	const uint32_t kind = event_writer_intern(w, DICT_STRING, "tp_btf");
	const uint32_t why = event_writer_intern(w, DICT_STRING, "not selected");
	int err;

	event_writer_intern(w, DICT_CGROUP, "/system.slice/memcached.service");
	event_writer_intern(w, DICT_SYMBOL, "tcp_v4_rcv");
	event_writer_intern(w, DICT_TASK, "memcached (4711/4711)");
	err = event_put_fact(sink, START, "kernel.release", "6.1.0-56-cloud-amd64");
	if (!err)
		err = event_put_fact(sink, START, "empty", "");
	if (!err)
		err = PUT(w, EV_GROUP, group);
	if (!err)
		err = PUT(w, EV_BINDING, (struct event_binding){
			.stage = STAGE_TRANSPORT, .protocol = PROTO_TCP, .bound = 1,
			.hook = hook, .kind = kind });
	if (!err)
		err = PUT(w, EV_BINDING, (struct event_binding){
			.stage = STAGE_IRQ, .protocol = PROTO_UDP, .why = why });
	return err;
}

static int put_clocks(struct event_writer *w)
{
	int err;

	err = PUT(w, EV_CLOCK, (struct event_clock){
		.mono_ns = START, .realtime_minus_mono_ns = -5, .error_ns = 30,
		.tai_offset_s = 37, .flags = CLOCK_STEPPED });
	if (!err)
		err = PUT(w, EV_DOMAIN, (struct event_domain){
			.id = TSC, .type = DOMAIN_TSC, .ticks_per_second = 2400000000,
			.error_ns = 40 });
	if (!err)
		err = PUT(w, EV_CLOCK_PARAM, (struct event_clock_param){
			.domain = TSC, .flags = PARAM_STEP, .from_ticks = 1ULL << 52,
			.mono_ns = START, .mult = 6990506, .shift = 24, .error_ns = 12,
			.fraction = 77 });
	return err;
}

static int put_interval(struct event_writer *w)
{
	struct {
		struct event_hist hist;
		struct event_bucket buckets[2];
	} hist = { { .stage = STAGE_READ, .protocol = PROTO_TCP, .origin = ORIGIN_LINK,
		     .dist = DIST_LATENCY, .schema = 3, .flags = HIST_OVERFLOW_GROUP, .group = 1,
		     .n = 2, .sum_ns = 123456, .min_ns = 0, .max_ns = 100000, .zero = 1,
		     .over = 2 },
		   { { .index = -3, .count = 4 }, { .index = 96, .count = UINT64_MAX } } };
	int err;

	err = PUT(w, EV_HIST, hist);
	if (!err)
		err = PUT(w, EV_COUNT, (struct event_count){
			.what = COUNT_DROP, .stage = STAGE_ENQUEUED, .protocol = PROTO_UDP,
			.reason = 3, .count = 17, .flags = COUNT_EXACT });
	if (!err)
		err = PUT(w, EV_SHARE, (struct event_share){
			.protocol = PROTO_TCP, .packets = 5, .waited = 1, .busy_ns = 2,
			.wake_ns = 3, .wait_ns = 4, .run_ns = 5 });
	if (!err)
		err = PUT(w, EV_CULPRIT, (struct event_culprit){
			.pid = 4690, .tid = 4691, .comm = "nginx", .ns = 3000000, .count = 2 });
	if (!err)
		err = PUT(w, EV_QUEUE, (struct event_queue){
			.cpu = 1, .iface = 1, .rxq = 3, .of = QUEUE_OF_DEVICE, .polls = 10,
			.work = 100, .full = 1, .received = 100, .merged = 90, .passed = 10 });
	if (!err)
		err = PUT(w, EV_SOFTNET, (struct event_softnet){
			.cpu = 1, .processed = 20, .dropped = 3, .squeezed = 2, .rps = 1,
			.flow_limit = 4 });
	if (!err)
		err = PUT(w, EV_PRESSURE, (struct event_pressure){
			.busy_ns = 5, .packets = 6, .flags = PRESSURE_NO_STALL });
	if (!err)
		err = PUT(w, EV_TASK, (struct event_task){ .task = 1, .cgroup = 1, .unit = 2 });
	if (!err)
		err = PUT(w, EV_INTERVAL, (struct event_interval){
			.seq = 0, .from_ns = START, .to_ns = START + NS_PER_S,
			.own_user_ns = 700, .own_bpf_ns = 800, .ncpus = 2,
			.flags = INTERVAL_LAST, .one_in = 64 });
	return err;
}

static int put_messages(struct event_writer *w)
{
	struct {
		struct event_message message;
		struct event_piece pieces[2];
	} m = { { .id = 7, .flow = 1, .tid = 4711, .offset = 100, .bytes = 32, .fd = 9,
		  .first = START, .last = START + 5, .direction = DIR_INGRESS,
		  .protocol = PROTO_TCP, .n = 2 },
		{ { .begin = START, .end = START + 10, .core = 1, .role = PIECE_RECEIVE },
		  { .begin = START + 10, .end = START + 90, .core = 2,
		    .role = PIECE_APPLICATION } } };
	const struct event event = { .kind = EV_MESSAGE, .core = 2, .time = START + 90 };
	const struct iovec piece = { .iov_base = &m, .iov_len = sizeof(m) };
	int err;

	err = PUT(w, EV_FLOW, (struct event_flow){
		.id = 1, .family = 2, .protocol = PROTO_TCP, .netns_cookie = 1, .sock_cookie = 99,
		.local = { 127, 0, 0, 1 }, .remote = { 127, 0, 0, 2 }, .local_port = 11211,
		.remote_port = 40000 });
	if (!err)
		err = event_writer_record(w, 0, START, &event, &piece, 1);
	return err;
}

static int put_load(struct event_writer *w)
{
	int err = PUT(w, EV_NOISE, (struct event_noise){
		.agent = 1, .what = NOISE_GAP, .begin = START, .end = START + 5, .amount = 5 });

	if (!err)
		err = PUT(w, EV_LOAD, (struct event_load){
			.agent = 1, .flags = LOAD_FINAL, .started_ns = START, .oldest_ns = START,
			.scheduled = 10, .completed = 4, .failed = 3, .unsent = 2, .in_flight = 1,
			.bytes_sent = 11, .bytes_received = 12, .connects = 13, .timeouts = 14,
			.resets = 15, .refused = 16, .garbled = 17, .samples_lost = 18,
			.stamps_missing = 19, .cpu_ns = 20, .spin_ns = 21,
			.open_connections = 22, .misses = 23 });
	return err;
}

static int put_slow(struct event_writer *w)
{
	return PUT(w, EV_SLOW, (struct event_slow){
		.direction = DIR_INGRESS, .protocol = PROTO_TCP, .origin = ORIGIN_LINK,
		.flags = SLOW_WAITS_PARTIAL, .family = 2, .local_port = 80, .remote_port = 40000,
		.netns = 24, .local = { 127, 0, 0, 1 }, .remote = { 192, 0, 2, 1 }, .packets = 25,
		.pid = 26, .tid = 27, .comm = "reader", .culprit_pid = 28, .culprit_tid = 29,
		.culprit = "hog", .culprit_ns = 30, .wait_ns = 31, .stopped_ns = 32,
		.read_ns = START, .at_ns = { 1, 0, 2, 3, 4, 5, 6 } });
}

static int edge(struct event_writer *w, uint32_t core, uint64_t tick, uint8_t type, uint32_t what)
{
	return event_writer_edge(w, core, TSC, (1ULL << 52) + tick,
				 &(struct event_edge){ .type = type, .what = what });
}

static int put_edges(struct event_writer *w)
{
	int err = edge(w, 2, 0, SPAN_TASK, 1);

	if (!err)
		err = edge(w, 2, 10, SPAN_SOFTIRQ, 3);
	if (!err)
		err = edge(w, 2, 15, SPAN_FUNCTION, 1);
	if (!err)
		err = edge(w, 2, 25, SPAN_FUNCTION | SPAN_END, 1);
	if (!err)
		err = edge(w, 2, 30, SPAN_BLIND, 0);
	if (!err)
		err = edge(w, 2, 5000, SPAN_BLIND | SPAN_END, 0);
	if (!err)
		err = edge(w, 2, 5000, SPAN_TASK | SPAN_CONT, 1);
	/* Farther than 32 bits of ticks: a chunk of its own, which opens with the task. */
	if (!err)
		err = edge(w, 2, 5ULL << 32, SPAN_TASK | SPAN_END, 1);
	if (!err)
		err = edge(w, 63, 1, SPAN_IDLE, 2);
	return err;
}

static int put_blocks(struct event_writer *w)
{
	const struct event_sample sample = {
		.intended = START, .sent = START + 1, .done = START + 100, .tx_offset = 10,
		.rx_offset = 20, .tx_bytes = 30, .rx_bytes = 40, .flow = 1, .type = 2,
		.flags = SAMPLE_NIC_TX, .sched_ns = 3, .snd_ns = 4, .ack_ns = 5, .rx_ns = 6,
		.wake_ns = 7, .server_in_ns = 8, .server_out_ns = 9,
	};
	const struct event_conn conn = {
		.cookie = 99, .from = START, .to = START + NS_PER_S / 2, .flow = 1, .app = 1,
		.pid = 4711, .sender_app_ns = 1, .send_buffer_ns = 2, .congestion_ns = 3,
		.receiver_window_ns = 4, .delayed_ack_ns = 5, .bytes_sent = 6, .bytes_received = 7,
		.fast_retransmit = 8, .rto = 9, .tlp = 10, .spurious = 11, .delayed_acks = 12,
		.delayed_acks_harmful = 13, .rtt_us = 14, .cwnd = 15, .unknown_ns = 16,
		.samples = 17, .known = 18, .delivery_rate = 19, .tcp_state = 20,
	};
	const struct event_wake wake = {
		.time = START + 30, .task = 1, .waker = 2, .core = 1, .flags = WAKE_INTERRUPT,
	};
	const struct event_call call = {
		.time = START + 40, .cookie = 99, .flow = 1, .netns = 2, .pid = 3, .tid = 4,
		.result = -11, .seq = 5, .unsent = 6, .unacked = 7, .unread = 8,
		.direction = DIR_EGRESS, .state = CONN_AT_NAGLE, .flags = CALL_AFTER_UNKNOWN,
	};
	int err;

	err = event_writer_span(w, 1, 0, EV_SAMPLE, sample.intended, sample.done, &sample);
	if (!err)
		err = event_writer_span(w, 1, 0, EV_CONN, conn.from, conn.to, &conn);
	if (!err)
		err = event_writer_span(w, 1, 0, EV_WAKE, wake.time, wake.time, &wake);
	if (!err)
		err = event_writer_span(w, 1, 0, EV_CALL, call.time, call.time, &call);
	return err;
}

int sample_write(struct event_writer *w, uint32_t filler)
{
	int err = put_setup(w);

	if (!err)
		err = put_clocks(w);
	if (!err)
		err = put_messages(w);
	if (!err)
		err = put_edges(w);
	if (!err)
		err = put_blocks(w);
	if (!err)
		err = put_load(w);
	if (!err)
		err = put_slow(w);
	for (uint32_t i = 0; i < filler && !err; i++)
		err = PUT(w, EV_COUNT, (struct event_count){ .what = COUNT_LOSS, .count = i });
	if (!err)
		err = put_interval(w);
	if (!err)
		err = PUT(w, EV_LOSS, (struct event_loss){
			.why = LOSS_PRODUCER, .kind = EV_EDGE, .records = 3, .bytes = 36 });
	return err;
}

/* ---- as text ---- */

enum form { END, U, S, HEX };

struct field {
	const char *name;
	uint16_t at;
	uint8_t size;
	uint8_t form;
};

#define FIELD(type, member, form)                                                                  \
	{ #member, offsetof(struct type, member), sizeof(((struct type *)0)->member), form }
#define F(type, member) FIELD(type, member, U)
#define FS(type, member) FIELD(type, member, S)
#define FX(type, member) FIELD(type, member, HEX)

static const struct field *const fields[EV_KIND_MAX] = {
	[EV_NAME] = (const struct field[]){ F(event_name, dict), F(event_name, id), { 0 } },
	[EV_CLOCK] = (const struct field[]){
		F(event_clock, mono_ns), FS(event_clock, realtime_minus_mono_ns),
		F(event_clock, error_ns), FS(event_clock, tai_offset_s), F(event_clock, flags),
		{ 0 } },
	[EV_HIST] = (const struct field[]){
		F(event_hist, stage), F(event_hist, direction), F(event_hist, protocol),
		F(event_hist, origin), F(event_hist, dist), FS(event_hist, schema),
		F(event_hist, flags), F(event_hist, group), F(event_hist, n), F(event_hist, sum_ns),
		F(event_hist, min_ns), F(event_hist, max_ns), F(event_hist, zero),
		F(event_hist, over), { 0 } },
	[EV_COUNT] = (const struct field[]){
		F(event_count, what), F(event_count, stage), F(event_count, protocol),
		F(event_count, direction), F(event_count, reason), F(event_count, count),
		F(event_count, flags), { 0 } },
	[EV_BINDING] = (const struct field[]){
		F(event_binding, stage), F(event_binding, direction), F(event_binding, protocol),
		F(event_binding, bound), F(event_binding, hook), F(event_binding, kind),
		F(event_binding, why), { 0 } },
	[EV_SHARE] = (const struct field[]){
		F(event_share, protocol), F(event_share, packets), F(event_share, waited),
		F(event_share, busy_ns), F(event_share, wake_ns), F(event_share, wait_ns),
		F(event_share, run_ns), F(event_share, stopped_ns), { 0 } },
	[EV_CULPRIT] = (const struct field[]){
		F(event_culprit, pid), F(event_culprit, tid), FX(event_culprit, comm),
		F(event_culprit, ns), F(event_culprit, count), { 0 } },
	[EV_INTERVAL] = (const struct field[]){
		F(event_interval, seq), F(event_interval, from_ns), F(event_interval, to_ns),
		F(event_interval, own_user_ns), F(event_interval, own_bpf_ns),
		F(event_interval, ncpus), F(event_interval, flags), F(event_interval, one_in),
		{ 0 } },
	[EV_GROUP] = (const struct field[]){ F(event_group, id), F(event_group, n), { 0 } },
	[EV_TASK] = (const struct field[]){
		F(event_task, task), F(event_task, cgroup), F(event_task, unit),
		F(event_task, pad), { 0 } },
	[EV_LOSS] = (const struct field[]){
		F(event_loss, why), F(event_loss, kind), F(event_loss, records),
		F(event_loss, bytes), { 0 } },
	[EV_DOMAIN] = (const struct field[]){
		F(event_domain, id), F(event_domain, type), F(event_domain, ticks_per_second),
		F(event_domain, error_ns), F(event_domain, name), { 0 } },
	[EV_CLOCK_PARAM] = (const struct field[]){
		F(event_clock_param, domain), F(event_clock_param, flags),
		F(event_clock_param, from_ticks), F(event_clock_param, mono_ns),
		F(event_clock_param, mult), F(event_clock_param, shift),
		F(event_clock_param, error_ns), F(event_clock_param, fraction), { 0 } },
	[EV_FLOW] = (const struct field[]){
		F(event_flow, id), F(event_flow, family), F(event_flow, protocol),
		F(event_flow, netns_cookie), F(event_flow, sock_cookie), FX(event_flow, local),
		FX(event_flow, remote), F(event_flow, local_port), F(event_flow, remote_port),
		F(event_flow, netns), { 0 } },
	[EV_MESSAGE] = (const struct field[]){
		F(event_message, id), F(event_message, flow), F(event_message, tid),
		F(event_message, offset), F(event_message, bytes), F(event_message, fd),
		F(event_message, first), F(event_message, last), F(event_message, direction),
		F(event_message, protocol), F(event_message, flags), F(event_message, n), { 0 } },
	[EV_EDGE] = (const struct field[]){
		F(event_edge, dt), F(event_edge, what), F(event_edge, arg), FX(event_edge, type),
		F(event_edge, depth), { 0 } },
	[EV_SAMPLE] = (const struct field[]){
		F(event_sample, intended), F(event_sample, sent), F(event_sample, done),
		F(event_sample, tx_offset), F(event_sample, rx_offset), F(event_sample, tx_bytes),
		F(event_sample, rx_bytes), F(event_sample, flow), F(event_sample, type),
		F(event_sample, flags), F(event_sample, sched_ns), F(event_sample, snd_ns),
		F(event_sample, ack_ns), F(event_sample, rx_ns), F(event_sample, wake_ns),
		F(event_sample, server_in_ns), F(event_sample, server_out_ns), { 0 } },
	[EV_NOISE] = (const struct field[]){
		F(event_noise, agent), F(event_noise, what), F(event_noise, begin),
		F(event_noise, end), F(event_noise, amount), { 0 } },
	[EV_LOAD] = (const struct field[]){
		F(event_load, agent), F(event_load, flags), F(event_load, started_ns),
		F(event_load, oldest_ns), F(event_load, scheduled), F(event_load, completed),
		F(event_load, failed), F(event_load, unsent), F(event_load, in_flight),
		F(event_load, bytes_sent), F(event_load, bytes_received), F(event_load, connects),
		F(event_load, timeouts), F(event_load, resets), F(event_load, refused),
		F(event_load, garbled), F(event_load, samples_lost), F(event_load, stamps_missing),
		F(event_load, cpu_ns), F(event_load, spin_ns), F(event_load, open_connections),
		F(event_load, misses), { 0 } },
	[EV_SLOW] = (const struct field[]){
		F(event_slow, direction), F(event_slow, protocol), F(event_slow, origin),
		F(event_slow, flags), F(event_slow, family), F(event_slow, local_port),
		F(event_slow, remote_port), F(event_slow, netns), FX(event_slow, local),
		FX(event_slow, remote), F(event_slow, packets), F(event_slow, pid),
		F(event_slow, tid), FX(event_slow, comm), F(event_slow, culprit_pid),
		F(event_slow, culprit_tid), FX(event_slow, culprit), F(event_slow, culprit_ns),
		F(event_slow, wait_ns), F(event_slow, stopped_ns), F(event_slow, read_ns),
		FX(event_slow, at_ns), F(event_slow, at_socket_ns), { 0 } },
	[EV_CONN] = (const struct field[]){
		F(event_conn, cookie), F(event_conn, from), F(event_conn, to), F(event_conn, flow),
		F(event_conn, app), F(event_conn, pid), F(event_conn, flags),
		F(event_conn, sender_app_ns), F(event_conn, send_buffer_ns),
		F(event_conn, congestion_ns), F(event_conn, receiver_window_ns),
		F(event_conn, delayed_ack_ns), F(event_conn, bytes_sent),
		F(event_conn, bytes_received), F(event_conn, fast_retransmit), F(event_conn, rto),
		F(event_conn, tlp), F(event_conn, spurious), F(event_conn, delayed_acks),
		F(event_conn, delayed_acks_harmful), F(event_conn, rtt_us), F(event_conn, cwnd),
		F(event_conn, unknown_ns), F(event_conn, samples), F(event_conn, known),
		F(event_conn, delivery_rate), F(event_conn, tcp_state),
		{ 0 } },
	[EV_WAKE] = (const struct field[]){
		F(event_wake, time), F(event_wake, task), F(event_wake, waker),
		F(event_wake, core), F(event_wake, flags), { 0 } },
	[EV_CALL] = (const struct field[]){
		F(event_call, time), F(event_call, cookie), F(event_call, flow),
		F(event_call, netns), F(event_call, pid), F(event_call, tid),
		FS(event_call, result), F(event_call, seq), F(event_call, unsent),
		F(event_call, unacked), F(event_call, unread), F(event_call, direction),
		F(event_call, state), F(event_call, flags), { 0 } },
};

static const struct field bucket_fields[] = {
	FS(event_bucket, index), F(event_bucket, count), { 0 },
};
static const struct field label_fields[] = {
	F(event_label, key), F(event_label, name), F(event_label, value), { 0 },
};
static const struct field piece_fields[] = {
	F(event_piece, begin), F(event_piece, end), F(event_piece, core), F(event_piece, role),
	F(event_piece, flags), { 0 },
};
static const struct field open_fields[] = {
	F(event_open, begin), F(event_open, what), F(event_open, arg), FX(event_open, type),
	F(event_open, depth), { 0 },
};

static void dump_hex(const unsigned char *bytes, size_t n, FILE *out)
{
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%02x", bytes[i]);
}

static void dump_number(const void *from, const struct field *field, FILE *out)
{
	uint64_t value = 0;
	const unsigned int unused = 64 - 8 * field->size;

	memcpy(&value, from, field->size);
	if (field->form == S)
		fprintf(out, "%lld", (long long)(value << unused) >> unused);
	else
		fprintf(out, "%llu", (unsigned long long)value);
}

/*
 * Prints the fields of a struct. If the struct has grown, an older file has only its first `size`
 * bytes.
 */
static void dump_fields(const struct field *field, const void *from, size_t size, FILE *out)
{
	for (; field && field->name && field->at + field->size <= size; field++) {
		const unsigned char *at = (const unsigned char *)from + field->at;

		fprintf(out, " %s=", field->name);
		if (field->form == HEX)
			dump_hex(at, field->size, out);
		else
			dump_number(at, field, out);
	}
}

static void dump_array(const struct field *item, const void *from, uint32_t n, size_t size,
		       FILE *out)
{
	for (uint32_t i = 0; i < n; i++) {
		fputs(" {", out);
		dump_fields(item, (const char *)from + i * size, size, out);
		fputs(" }", out);
	}
}

/* Prints the data that follows the struct. */
static void dump_tail(const struct event *event, FILE *out)
{
	const void *payload = event->payload;
	const char *key, *value;

	switch (event->kind) {
	case EV_FACT:
		event_fact_get(event, &key, &value);
		fprintf(out, " %s=%s", key, value);
		break;
	case EV_NAME:
		fprintf(out, " %s", ((const struct event_name *)payload)->text);
		break;
	case EV_HIST:
		dump_array(bucket_fields, (const struct event_hist *)payload + 1,
			   ((const struct event_hist *)payload)->n, sizeof(struct event_bucket),
			   out);
		break;
	case EV_GROUP:
		dump_array(label_fields, (const struct event_group *)payload + 1,
			   ((const struct event_group *)payload)->n, sizeof(struct event_label),
			   out);
		break;
	case EV_MESSAGE:
		dump_array(piece_fields, (const struct event_message *)payload + 1,
			   ((const struct event_message *)payload)->n, sizeof(struct event_piece),
			   out);
		break;
	}
}

static void dump_place(uint32_t core, uint16_t domain, uint64_t time, FILE *out)
{
	if (core != EVENT_CORE_NONE)
		fprintf(out, " core %u", core);
	fprintf(out, " domain %u at %llu:", domain, (unsigned long long)time);
}

static void dump_records(const struct event_block *block, FILE *out)
{
	struct event event;
	size_t at = 0;

	while (event_block_next(block, &at, &event)) {
		fputs(event_kind_name(event.kind), out);
		dump_place(event.core, block->domain, event.time, out);
		dump_fields(fields[event.kind], event.payload, event.size, out);
		dump_tail(&event, out);
		fputc('\n', out);
	}
}

static void dump_block(const struct event_block *block, FILE *out)
{
	const char *at = block->data;

	for (uint32_t i = 0; i < block->n_open; i++) {
		fputs("open", out);
		dump_place(block->core, block->domain, block->first, out);
		dump_fields(open_fields, &block->open[i], sizeof(block->open[i]), out);
		fputc('\n', out);
	}
	for (uint32_t i = 0; i < block->count; i++, at += block->record_size) {
		fputs(event_kind_name(block->kind), out);
		dump_place(block->core, block->domain, block->first, out);
		dump_fields(fields[block->kind], at, block->record_size, out);
		fputc('\n', out);
	}
}

void event_dump(struct event_source *source, FILE *out)
{
	struct event_block block;
	int got;

	while ((got = event_source_next(source, &block)) > 0) {
		if (block.record_size)
			dump_block(&block, out);
		else
			dump_records(&block, out);
	}
	if (got < 0)
		fprintf(out, "error %d\n", got);
}

void damage_dump(struct event_source *source, FILE *out)
{
	struct strbuf reasons = STRBUF_INIT(1024);
	struct event_damage damage;

	event_source_damage(source, &damage);
	event_damage_put(&damage, &reasons);
	fputs(reasons.len ? strbuf_str(&reasons) : "whole", out);
	strbuf_release(&reasons);
	fprintf(out, " bytes=%llu chunks=%llu records=%llu unknown=%llu\n",
		(unsigned long long)damage.bytes, (unsigned long long)damage.chunks,
		(unsigned long long)damage.records, (unsigned long long)damage.unknown);
}
