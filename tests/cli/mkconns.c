/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a recording of connections from a script, so that the inputs of the golden tests can be
 * read and reviewed. One event per line; words may be quoted, # begins a comment.
 *
 *	fact KEY VALUE
 *	flow ID LOCAL REMOTE [NETNS]        10.0.0.1:80, [::1]:80; the namespace's name, or a cookie
 *	conn COOKIE FLOW LENGTH [NAME=VALUE ...]
 *		from the beginning of the interval on. Names are those of struct event_conn;
 *		times are written as in options, but loss_first, write_first and
 *		lost_reply count from the beginning of the interval. app, comm, cgroup,
 *		unit, congestion_control: strings.
 *		flags=nodelay,accepted,...      known=all, all-times-calls, ... (all is as without;
 *		every: all and CONN_COUNTERS_ADDED)
 *		at-send-buffer=N                sampled[]; `samples` is their sum unless it is given
 *		for-send-buffer=TIME            sampled_ns[]
 *		send-size-4=N recv-size-0=N     sizes[]
 *		rtt=20ms*9,60ms*1               rtts[], rtt_samples, rtt_sum_us, rtt_min_us,
 *		                                rtt_max_us; what comes next adds to it
 *		sender_app_ns is what is left of LENGTH unless it is given.
 *	clock OFFSET ERROR [stepped]        realtime is that much ahead of monotonic
 *	start TIME                          the monotonic clock stands there: before anything else
 *	call COOKIE FLOW SEQ AT send|receive RESULT [pid=N] [tid=N] [unsent=N] [unacked=N]
 *	     [unread=N] [doing=at-nagle] [unknown-before]
 *		AT counts from the beginning of the interval; RESULT: bytes or -errno
 *	loss|excluded REASON COUNT
 *	lost RECORDS
 *	interval LENGTH USER BPF [partial] [no-cost] [estimate] [unseen] [late] [last]
 *	repeat N ... end                    the lines between; of A|B one is drawn per round
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/rng.h"
#include "bpf/abi_conns.h"
#include "event/writer.h"
#include "../sim/words.h"

#define LINES_MAX 64
#define START_NS (1000 * NS_PER_S)
#define STARTED_NS (1700000000 * NS_PER_S)

struct script {
	struct words in;
	struct event_writer *writer;
	struct event_sink *sink;
	struct rng rng;
	bool second;               /* whether `A|B` in a line stands for B */
	uint64_t now_ns, seq;
	char *repeated[LINES_MAX]; /* since `repeat` */
	int n_repeated;
	int64_t rounds;            /* 0: not between `repeat` and `end` */
};

static void put(struct script *s, uint16_t kind, const void *payload, size_t size)
{
	int err = event_put(s->sink, kind, s->now_ns, payload, size);

	if (err)
		words_die(&s->in, "%s", strerror(-err));
}

/* ---- connections ---- */

#define AT(member) offsetof(struct event_conn, member)
#define WIDE(member) { #member, AT(member), 8 }
#define NARROW(member) { #member, AT(member), 4 }

static const struct {
	const char *name;
	size_t at, size;
} fields[] = {
	WIDE(sender_app_ns), WIDE(send_buffer_ns), WIDE(congestion_ns), WIDE(receiver_window_ns),
	WIDE(delayed_ack_ns), WIDE(unknown_ns), WIDE(bytes_sent), WIDE(bytes_received),
	WIDE(bytes_acked), WIDE(bytes_retransmitted), WIDE(busy_ns), WIDE(kernel_rwnd_ns),
	WIDE(kernel_sndbuf_ns), WIDE(recovery_ns), WIDE(loss_ns), WIDE(stall_ns),
	WIDE(longest_stall_ns), WIDE(send_bytes), WIDE(recv_bytes), WIDE(longest_pause_ns),
	WIDE(rtt_sum_us), WIDE(delivery_rate), WIDE(pacing_rate), WIDE(loss_first),
	WIDE(write_first), WIDE(lost_reply), WIDE(unclear_ns), WIDE(rto_delacks),
	WIDE(rto_delack_us),
	NARROW(pid), NARROW(fast_retransmit), NARROW(rto), NARROW(tlp), NARROW(spurious),
	NARROW(delayed_acks), NARROW(delayed_acks_harmful), NARROW(rtt_us), NARROW(cwnd),
	NARROW(rtt_samples), NARROW(rtt_min_us), NARROW(rtt_max_us), NARROW(peer_delayed_acks),
	NARROW(recoveries), NARROW(stalls), NARROW(send_calls), NARROW(recv_calls),
	NARROW(send_small), NARROW(send_blocked), NARROW(idle_bursts), NARROW(idle_bursts_lost),
	NARROW(idle_restarts), NARROW(zero_windows), NARROW(unread), NARROW(samples),
	NARROW(poll_mhz), NARROW(thinned_one_in), NARROW(min_rtt_us), NARROW(rto_us), NARROW(mss),
	NARROW(snd_wnd), NARROW(rcv_wnd), NARROW(sndbuf), NARROW(rcvbuf), NARROW(wmem_queued),
	NARROW(rmem), NARROW(unsent), NARROW(unacked), NARROW(rcv_queue), NARROW(ssthresh),
	NARROW(write_seq), NARROW(snd_una), NARROW(rcv_nxt), NARROW(tcp_state),
};

static const char *const states[CONN_STATES] = {
	"at-idle", "at-recovery", "at-window", "at-send-buffer", "at-cwnd", "at-delayed-ack",
	"at-nagle", "at-flight",
};

struct bit {
	const char *name;
	uint32_t bit;
};

static const struct bit flags[] = {
	{ "closed", CONN_CLOSED }, { "began", CONN_BEGAN }, { "nodelay", CONN_NODELAY },
	{ "corked", CONN_CORKED }, { "sndbuf-set", CONN_SNDBUF_SET },
	{ "rcvbuf-set", CONN_RCVBUF_SET }, { "accepted", CONN_ACCEPTED }, { "mptcp", CONN_MPTCP },
	{ "ktls", CONN_KTLS }, { "mapped", CONN_MAPPED },
	{ "idle-restart-off", CONN_IDLE_RESTART_OFF }, { "self", CONN_SELF },
	{ "inet-diag", CONN_FROM_DIAG }, { "calls-logged", CONN_LOGGED },
	{ "sent-last", CONN_SENT_LAST }, { "received-last", CONN_RECEIVED_LAST },
	{ "sndbuf-grows", CONN_SNDBUF_GROWS }, { "pacing-capped", CONN_PACING_CAPPED },
};

static const struct bit knowns[] = {
	{ "times", CONN_KNOWS_TIMES }, { "calls", CONN_KNOWS_CALLS }, { "rtt", CONN_KNOWS_RTT },
	{ "losses", CONN_KNOWS_LOSSES }, { "rto", CONN_KNOWS_RTO },
	{ "delacks", CONN_KNOWS_DELACKS }, { "peer", CONN_KNOWS_PEER_DELACKS },
	{ "chrono", CONN_KNOWS_CHRONO }, { "spurious", CONN_KNOWS_SPURIOUS },
	{ "rcvwnd", CONN_KNOWS_RCV_WND }, { "gauges", CONN_KNOWS_GAUGES },
	{ "rtts", CONN_KNOWS_RTTS }, { "all", 0xfff },
	{ "every", 0xfff | CONN_COUNTS_ALL },
};

static uint32_t bit(struct script *s, const struct bit *bits, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(bits[i].name, name) == 0)
			return bits[i].bit;
	words_die(&s->in, "'%s' is unknown", name);
	return 0;
}

static uint32_t read_flags(struct script *s, char *text)
{
	uint32_t mask = 0;

	for (char *name = strtok(text, ","); name; name = strtok(NULL, ","))
		mask |= bit(s, flags, ARRAY_LEN(flags), name);
	return mask;
}

/* "all-calls": the first adds, the rest takes away */
static uint32_t read_known(struct script *s, char *text)
{
	char *name = strtok(text, "-");
	uint32_t mask = strcmp(name, "none") == 0 ? 0 : bit(s, knowns, ARRAY_LEN(knowns), name);

	while ((name = strtok(NULL, "-")))
		mask &= ~bit(s, knowns, ARRAY_LEN(knowns), name);
	return mask;
}

static bool set_string(struct script *s, struct event_conn *e, const char *name, const char *value)
{
	const struct {
		const char *name;
		enum event_dict_id dict;
		__u32 *to;
	} strings[] = {
		{ "app", DICT_STRING, &e->app }, { "comm", DICT_STRING, &e->comm },
		{ "cgroup", DICT_CGROUP, &e->cgroup }, { "unit", DICT_UNIT, &e->unit },
		{ "congestion_control", DICT_STRING, &e->congestion_control },
	};

	for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
		if (strcmp(strings[i].name, name) != 0)
			continue;
		*strings[i].to = event_writer_intern(s->writer, strings[i].dict, value);
		return true;
	}
	return false;
}

static bool set_array(struct script *s, struct event_conn *e, const char *name, const char *value)
{
	for (int i = 0; i < CONN_STATES; i++) {
		if (strcmp(states[i], name) == 0) {
			e->sampled[i] = (uint32_t)words_parse_number(&s->in, value);
			return true;
		}
		if (strncmp(name, "for-", 4) == 0 && strcmp(states[i] + 3, name + 4) == 0) {
			e->sampled_ns[i] = words_parse_duration(&s->in, value);
			return true;
		}
	}
	if (strncmp(name, "send-size-", 10) != 0 && strncmp(name, "recv-size-", 10) != 0)
		return false;
	(*name == 's' ? e->send_sizes : e->recv_sizes)[atoi(name + 10) % CONN_SIZES] =
		(uint32_t)words_parse_number(&s->in, value);
	return true;
}

static bool set_number(struct script *s, struct event_conn *e, const char *name, const char *value)
{
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		const bool point = strcmp(name, "loss_first") == 0 ||
				   strcmp(name, "write_first") == 0 ||
				   strcmp(name, "lost_reply") == 0;
		const size_t len = strlen(name);
		uint64_t n;

		if (strcmp(fields[i].name, name) != 0)
			continue;
		if (point || strcmp(name + len - 3, "_ns") == 0)
			n = words_parse_duration(&s->in, value);
		else
			n = words_parse_number(&s->in, value);
		n += point ? s->now_ns : 0;
		if (fields[i].size == 8)
			memcpy((char *)e + fields[i].at, &n, 8);
		else
			memcpy((char *)e + fields[i].at, &(uint32_t){ (uint32_t)n }, 4);
		return true;
	}
	return false;
}

/* "20ms*9,60ms*1" */
static void read_rtts(struct script *s, struct event_conn *e, char *text)
{
	for (char *one = strtok(text, ","); one; one = strtok(NULL, ",")) {
		char *star = strchr(one, '*');
		uint32_t us, n;

		if (!star)
			words_die(&s->in, "'%s' is not LENGTH*NUMBER", one);
		*star = '\0';
		us = (uint32_t)(words_parse_duration(&s->in, one) / 1000);
		n = (uint32_t)words_parse_number(&s->in, star + 1);
		if (!e->rtt_samples || us < e->rtt_min_us)
			e->rtt_min_us = us;
		if (us > e->rtt_max_us)
			e->rtt_max_us = us;
		e->rtt_samples += n;
		e->rtt_sum_us += (uint64_t)n * us;
		e->rtts[conn_rtt_bucket(us)] += n;
	}
}

static void set(struct script *s, struct event_conn *e, char *text)
{
	char *value = strchr(text, '='), *bar;

	if (!value)
		words_die(&s->in, "'%s' is not NAME=VALUE", text);
	*value++ = '\0';
	bar = strchr(value, '|');
	if (bar) {
		*bar = '\0';
		value = s->second ? bar + 1 : value;
	}
	if (strcmp(text, "flags") == 0)
		e->flags = read_flags(s, value);
	else if (strcmp(text, "known") == 0)
		e->known = read_known(s, value);
	else if (strcmp(text, "rtt") == 0)
		read_rtts(s, e, value);
	else if (!set_string(s, e, text, value) && !set_array(s, e, text, value) &&
		 !set_number(s, e, text, value))
		words_die(&s->in, "'%s' is unknown", text);
}

static void make_conn(struct script *s)
{
	struct event_conn e = { .from = s->now_ns, .known = 0xfff, .pacing_rate = UINT64_MAX,
				.ssthresh = 0x7fffffff };
	uint64_t rest;
	int err;

	e.cookie = words_number(&s->in);
	e.flow = (uint32_t)words_number(&s->in);
	e.to = e.from + words_duration(&s->in);
	while (words_more(&s->in))
		set(s, &e, words_next(&s->in));
	rest = e.send_buffer_ns + e.congestion_ns + e.receiver_window_ns + e.delayed_ack_ns +
	       e.unknown_ns;
	if (!e.sender_app_ns && rest <= e.to - e.from)
		e.sender_app_ns = e.to - e.from - rest;
	if (!e.samples) {
		uint32_t sum = 0;

		for (int state = 0; state < CONN_STATES; state++)
			sum += e.sampled[state];
		e.samples = sum;
	}
	err = event_writer_span(s->writer, EVENT_CORE_NONE, EVENT_DOMAIN_MONOTONIC, EV_CONN,
				e.from, e.to, &e);
	if (err)
		words_die(&s->in, "%s", strerror(-err));
}

/* ---- calls ---- */

static uint8_t read_state(struct script *s, const char *name)
{
	for (int i = 0; i < CONN_STATES; i++)
		if (strcmp(states[i], name) == 0)
			return (uint8_t)i;
	words_die(&s->in, "'%s' is unknown", name);
	return 0;
}

static void set_call(struct script *s, struct event_call *e, char *text)
{
	const struct {
		const char *name;
		__u32 *to;
	} numbers[] = {
		{ "pid", &e->pid }, { "tid", &e->tid }, { "unsent", &e->unsent },
		{ "unacked", &e->unacked }, { "unread", &e->unread },
	};
	char *value = strchr(text, '=');

	if (!strcmp(text, "unknown-before")) {
		e->flags |= CALL_AFTER_UNKNOWN;
		return;
	}
	if (!value)
		words_die(&s->in, "'%s' is not NAME=VALUE", text);
	*value++ = '\0';
	if (!strcmp(text, "doing")) {
		e->state = read_state(s, value);
		return;
	}
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		if (strcmp(numbers[i].name, text) == 0) {
			*numbers[i].to = (__u32)words_parse_number(&s->in, value);
			return;
		}
	}
	words_die(&s->in, "'%s' is unknown", text);
}

static void make_call(struct script *s)
{
	struct event_call e = { .pid = 4711, .tid = 4711, .state = CONN_AT_FLIGHT };
	int err;

	e.cookie = words_number(&s->in);
	e.flow = (uint32_t)words_number(&s->in);
	e.seq = (uint32_t)words_number(&s->in);
	e.time = s->now_ns + words_duration(&s->in);
	e.direction = strcmp(words_next(&s->in), "send") ? DIR_INGRESS : DIR_EGRESS;
	e.result = atoi(words_next(&s->in));
	while (words_more(&s->in))
		set_call(s, &e, words_next(&s->in));
	err = event_writer_span(s->writer, EVENT_CORE_NONE, EVENT_DOMAIN_MONOTONIC, EV_CALL,
				e.time, e.time, &e);
	if (err)
		words_die(&s->in, "%s", strerror(-err));
}

/* ---- other events ---- */

static void make_fact(struct script *s)
{
	const char *key = words_next(&s->in);

	if (event_put_fact(s->sink, s->now_ns, key, words_next(&s->in)))
		words_die(&s->in, "the fact was refused");
}

static void address(struct script *s, struct event_flow *flow, void *to, __u16 *port)
{
	char *text = words_next(&s->in), *colon = strrchr(text, ':');

	if (!colon)
		words_die(&s->in, "'%s' has no port", text);
	*colon = '\0';
	*port = (__u16)words_parse_number(&s->in, colon + 1);
	flow->family = *text == '[' ? AF_INET6 : AF_INET;
	if (*text == '[') {
		text++;
		text[strlen(text) - 1] = '\0';
	}
	if (inet_pton(flow->family, text, to) != 1)
		words_die(&s->in, "'%s' is no address", text);
}

static void make_flow(struct script *s)
{
	struct event_flow flow = { .id = (__u32)words_number(&s->in), .protocol = IPPROTO_TCP,
				   .netns_cookie = 1 };

	address(s, &flow, flow.local, &flow.local_port);
	address(s, &flow, flow.remote, &flow.remote_port);
	if (words_more(&s->in) && parse_u64(s->in.word[s->in.at], &(uint64_t){ 0 }) == 0) {
		flow.netns_cookie = words_number(&s->in);
	} else if (words_more(&s->in)) {
		flow.netns = event_writer_intern(s->writer, DICT_NETNS, words_next(&s->in));
		flow.netns_cookie = 100 + flow.netns;
	}
	put(s, EV_FLOW, &flow, sizeof(flow));
}

static void make_count(struct script *s, enum count_what what)
{
	struct event_count count = { .what = (__u8)what };

	count.reason = event_writer_intern(s->writer, DICT_STRING, words_next(&s->in));
	count.count = words_number(&s->in);
	put(s, EV_COUNT, &count, sizeof(count));
}

static void make_loss(struct script *s)
{
	make_count(s, COUNT_LOSS);
}

static void make_excluded(struct script *s)
{
	make_count(s, COUNT_EXCLUDED);
}

static void make_lost(struct script *s)
{
	struct event_loss loss = { .why = LOSS_PRODUCER, .kind = EV_CONN };

	loss.records = words_number(&s->in);
	put(s, EV_LOSS, &loss, sizeof(loss));
}

static void make_clock(struct script *s)
{
	struct event_clock e = { .mono_ns = s->now_ns };

	e.realtime_minus_mono_ns = (int64_t)words_duration(&s->in);
	e.error_ns = words_duration(&s->in);
	if (words_more(&s->in)) {
		words_next(&s->in);
		e.flags = CLOCK_STEPPED;
	}
	put(s, EV_CLOCK, &e, sizeof(e));
}

static void make_start(struct script *s)
{
	s->now_ns = words_duration(&s->in);
}

static void make_interval(struct script *s)
{
	struct event_interval e = { .seq = s->seq++, .from_ns = s->now_ns, .ncpus = 2 };

	s->now_ns += words_duration(&s->in);
	e.to_ns = s->now_ns;
	e.own_user_ns = words_duration(&s->in);
	e.own_bpf_ns = words_duration(&s->in);
	while (words_more(&s->in)) {
		const char *flag = words_next(&s->in);

		e.flags |= strcmp(flag, "partial") == 0 ? INTERVAL_PARTIAL :
			   strcmp(flag, "no-cost") == 0 ? INTERVAL_NO_BPF_COST :
			   strcmp(flag, "shed") == 0 ? INTERVAL_SHED :
			   strcmp(flag, "unseen") == 0 ? INTERVAL_UNSEEN :
			   strcmp(flag, "late") == 0 ? INTERVAL_LATE :
			   strcmp(flag, "last") == 0 ? INTERVAL_LAST : INTERVAL_BPF_ESTIMATE;
	}
	put(s, EV_INTERVAL, &e, sizeof(e));
	s->second = rng_below(&s->rng, 2);
}

static const struct {
	const char *word;
	void (*make)(struct script *s);
} makers[] = {
	{ "fact", make_fact }, { "flow", make_flow }, { "conn", make_conn },
	{ "call", make_call },
	{ "loss", make_loss }, { "excluded", make_excluded }, { "lost", make_lost },
	{ "interval", make_interval }, { "clock", make_clock }, { "start", make_start },
};

static void make_event(struct script *s)
{
	const char *what = words_next(&s->in);

	for (size_t i = 0; i < ARRAY_LEN(makers); i++) {
		if (strcmp(makers[i].word, what) != 0)
			continue;
		makers[i].make(s);
		if (words_more(&s->in))
			words_die(&s->in, "'%s' is too much", words_next(&s->in));
		return;
	}
	words_die(&s->in, "'%s' is no event", what);
}

static void make_line(struct script *s, const char *line)
{
	char *copy = strdup(line);

	if (!copy)
		words_die(&s->in, "no memory");
	words_split(&s->in, copy);
	if (s->in.n)
		make_event(s);
	free(copy);
}

static void end_repeat(struct script *s)
{
	for (int64_t round = 0; round < s->rounds; round++)
		for (int i = 0; i < s->n_repeated; i++)
			make_line(s, s->repeated[i]);
	for (int i = 0; i < s->n_repeated; i++)
		free(s->repeated[i]);
	s->n_repeated = 0;
	s->rounds = 0;
}

static void take_line(struct script *s, const char *line)
{
	s->in.line++;
	if (strncmp(line, "repeat ", 7) == 0)
		s->rounds = atoi(line + 7);
	else if (strncmp(line, "end", 3) == 0)
		end_repeat(s);
	else if (!s->rounds)
		make_line(s, line);
	else if (s->n_repeated == LINES_MAX)
		words_die(&s->in, "more than %d lines", LINES_MAX);
	else
		s->repeated[s->n_repeated++] = strdup(line);
}

static int make_file(struct script *s, FILE *in, int fd)
{
	const struct event_writer_options options = {
		.raw = true, .started_ns = STARTED_NS, .stream = 1,
	};
	char *line = NULL;
	size_t size = 0;
	int err;

	err = event_writer_new(&s->writer, fd, &options);
	if (err)
		return err;
	s->sink = event_writer_sink(s->writer);
	while (getline(&line, &size, in) >= 0)
		take_line(s, line);
	free(line);
	return event_writer_close(s->writer);
}

int main(int argc, char **argv)
{
	struct script script = { .now_ns = START_NS };
	FILE *in;
	int fd, err;

	if (argc != 3) {
		fprintf(stderr, "usage: mkconns SCRIPT FILE\n");
		return 1;
	}
	rng_init(&script.rng, 1);
	script.in.path = argv[1];
	in = fopen(argv[1], "r");
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (!in || fd < 0) {
		perror("mkconns");
		return 1;
	}
	err = make_file(&script, in, fd);
	if (err)
		words_die(&script.in, "%s: %s", argv[2], strerror(-err));
	fclose(in);
	return close(fd) ? 1 : 0;
}
