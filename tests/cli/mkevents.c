/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes an event file from a script, so that the inputs of the golden tests can be read and
 * reviewed. One event per line; words may be quoted, # begins a comment.
 *
 *	fact KEY VALUE
 *	bound STAGE PROTOCOL KIND HOOK
 *	unbound STAGE PROTOCOL WHY
 *	group ID KEY=NAME ... | KEY=NUMBER ...
 *	clock REALTIME_MINUS_MONO_NS ERROR_NS TAI_S [step]
 *	hist STAGE PROTOCOL ORIGIN DIST [group=ID] [overflow] [schema=N] VALUExCOUNT ...
 *		ORIGIN "-": none
 *	drop|loss|excluded|suppressed STAGE PROTOCOL REASON COUNT      STAGE "-": none
 *	uncovered|forwarded - - PROTOCOL COUNT                         as IP calls it
 *	share PROTOCOL PACKETS WAITED BUSY WAKE WAIT RUN STOPPED
 *	culprit PID COMM TIME COUNT
 *	slow PROTOCOL ORIGIN READ_NS LOCAL PORT REMOTE PORT [reader PID COMM WAIT STOPPED]
 *		[partial|new] [behind PID COMM TIME] STAGE TIME...           TIME since the origin
 *	queue CPU device|backlog|others IFACE|- RXQ|- POLLS FULL WORK RECEIVED MERGED PASSED
 *	softnet CPU PROCESSED DROPPED SQUEEZED RPS FLOW_LIMIT
 *	pressure BUSY STALL PACKETS
 *	lost KIND RECORDS
 *	interval DURATION USER BPF CPUS [last] [partial] [estimate] [no-cost]
 *
 * Times are written as in options: 300ns, 4us, 1.5ms, 2s.
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
#include "event/names.h"
#include "event/writer.h"
#include "stats/hist.h"
#include "../sim/event_words.h"
#include "../sim/words.h"

#define START_NS (1000 * NS_PER_S)
#define STARTED_NS (1700000000 * NS_PER_S)

struct script {
	struct words in;
	struct event_writer *writer;
	struct event_sink *sink;
	uint64_t now_ns, seq;
};

/* ---- words ---- */

static int64_t number(struct script *s)
{
	char *text = words_next(&s->in), *end;
	int64_t n = strtoll(text, &end, 10);

	if (end == text || *end)
		words_die(&s->in, "'%s' is no number", text);
	return n;
}

static unsigned int known(struct script *s, int (*parse)(const char *name))
{
	char *text = words_next(&s->in);
	int n = parse(text);

	if (n < 0)
		words_die(&s->in, "'%s' is unknown", text);
	return (unsigned int)n;
}

static int origin_or_none(const char *name)
{
	return strcmp(name, "-") == 0 ? ORIGIN_NONE : origin_parse(name);
}

static int stage_or_none(const char *name)
{
	return strcmp(name, "-") == 0 ? STAGE_NONE : stage_parse(name);
}

static uint32_t name(struct script *s, enum event_dict_id dict, const char *text)
{
	return event_writer_intern(s->writer, dict, text);
}

static void put(struct script *s, uint16_t kind, const void *payload, size_t size)
{
	int err = event_put(s->sink, kind, s->now_ns, payload, size);

	if (err)
		words_die(&s->in, "%s", strerror(-err));
}

static void put_array(struct script *s, uint16_t kind, const void *head, size_t head_size,
		      const void *array, size_t array_size)
{
	int err = event_put_array(s->sink, kind, s->now_ns, head, head_size, array, array_size);

	if (err)
		words_die(&s->in, "%s", strerror(-err));
}

/* ---- events ---- */

static void make_fact(struct script *s)
{
	const char *key = words_next(&s->in);

	if (event_put_fact(s->sink, s->now_ns, key, words_next(&s->in)))
		words_die(&s->in, "the fact was refused");
}

static void make_bound(struct script *s)
{
	struct event_binding b = { .bound = 1 };

	b.stage = (__u8)known(s, stage_parse);
	b.direction = (__u8)stage_direction(b.stage);
	b.protocol = (__u8)known(s, protocol_parse);
	b.kind = name(s, DICT_STRING, words_next(&s->in));
	b.hook = name(s, DICT_STRING, words_next(&s->in));
	put(s, EV_BINDING, &b, sizeof(b));
}

static void make_unbound(struct script *s)
{
	struct event_binding b = { 0 };

	b.stage = (__u8)known(s, stage_parse);
	b.direction = (__u8)stage_direction(b.stage);
	b.protocol = (__u8)known(s, protocol_parse);
	b.why = name(s, DICT_STRING, words_next(&s->in));
	put(s, EV_BINDING, &b, sizeof(b));
}

static void make_group(struct script *s)
{
	struct event_group group = { .id = (__u32)number(s) };
	struct event_label labels[WORDS_MAX] = { 0 };

	while (words_more(&s->in)) {
		struct event_label *label = &labels[group.n++];
		char *text = words_next(&s->in);
		char *value = strchr(text, '=');
		uint64_t n = 0;
		int key;

		if (!value)
			words_die(&s->in, "'%s' is not KEY=VALUE", text);
		*value++ = '\0';
		key = group_key_parse(text);
		if (key < 0)
			words_die(&s->in, "'%s' is unknown", text);
		label->key = (__u32)key;
		if (parse_u64(value, &n))
			label->name = name(s, key == GROUP_CGROUP ? DICT_CGROUP :
					      key == GROUP_NETNS ? DICT_NETNS :
					      key == GROUP_IFINDEX ? DICT_IFACE : DICT_STRING,
					   value);
		label->value = n;
	}
	put_array(s, EV_GROUP, &group, sizeof(group), labels, group.n * sizeof(labels[0]));
}

static void make_clock(struct script *s)
{
	struct event_clock clock = { .mono_ns = s->now_ns };

	clock.realtime_minus_mono_ns = number(s);
	clock.error_ns = (__u64)number(s);
	clock.tai_offset_s = (__s32)number(s);
	if (words_more(&s->in) && strcmp(words_next(&s->in), "step") == 0)
		clock.flags = CLOCK_STEPPED;
	put(s, EV_CLOCK, &clock, sizeof(clock));
}

static void record(struct script *s, struct hist *hist, char *text)
{
	char *times = strchr(text, 'x');
	uint64_t count = 1;

	if (times) {
		*times++ = '\0';
		if (parse_u64(times, &count))
			words_die(&s->in, "'%s' is no count", times);
	}
	if (hist_record_n(hist, words_parse_duration(&s->in, text), count))
		words_die(&s->in, "no memory");
}

static void put_hist(struct script *s, struct event_hist *delta, const struct hist *hist)
{
	struct event_bucket *buckets = calloc(hist->len + 1, sizeof(*buckets));
	int32_t index = INT32_MIN;
	uint64_t count;

	if (!buckets)
		words_die(&s->in, "no memory");
	while (hist_next(hist, &index, &count))
		buckets[delta->n++] = (struct event_bucket){ .index = index, .count = count };
	delta->sum_ns = hist->sum;
	delta->min_ns = hist->count ? hist->min : UINT64_MAX;
	delta->max_ns = hist->count ? hist->max : 0;
	delta->zero = hist->zero;
	delta->over = hist->over;
	put_array(s, EV_HIST, delta, sizeof(*delta), buckets, delta->n * sizeof(*buckets));
	free(buckets);
}

static void make_hist(struct script *s)
{
	struct event_hist delta = { .schema = BUCKET_SCHEMA_DEFAULT };
	struct hist hist;

	delta.stage = (__u8)known(s, stage_parse);
	delta.direction = (__u8)stage_direction(delta.stage);
	delta.protocol = (__u8)known(s, protocol_parse);
	delta.origin = (__u8)known(s, origin_or_none);
	delta.dist = (__u8)known(s, dist_parse);
	for (; words_more(&s->in); s->in.at++) {
		char *text = s->in.word[s->in.at];

		if (strncmp(text, "group=", 6) == 0)
			delta.group = (__u32)atoi(text + 6);
		else if (strncmp(text, "schema=", 7) == 0)
			delta.schema = (__s8)atoi(text + 7);
		else if (strcmp(text, "overflow") == 0)
			delta.flags = HIST_OVERFLOW_GROUP;
		else
			break;
	}
	hist_init(&hist, delta.schema);
	while (words_more(&s->in))
		record(s, &hist, words_next(&s->in));
	put_hist(s, &delta, &hist);
	hist_release(&hist);
}

static void make_count(struct script *s, enum count_what what)
{
	struct event_count count = { .what = (__u8)what };

	count.stage = (__u8)known(s, stage_or_none);
	count.protocol = (__u8)known(s, protocol_parse);
	count.direction = count.stage ? (__u8)stage_direction(count.stage) : 0;
	count.reason = name(s, DICT_STRING, words_next(&s->in));
	count.count = (__u64)number(s);
	if (what == COUNT_DROP || (words_more(&s->in) && strcmp(words_next(&s->in), "exact") == 0))
		count.flags = COUNT_EXACT;
	put(s, EV_COUNT, &count, sizeof(count));
}

static void make_drop(struct script *s)
{
	make_count(s, COUNT_DROP);
}

static void make_loss(struct script *s)
{
	make_count(s, COUNT_LOSS);
}

static void make_excluded(struct script *s)
{
	make_count(s, COUNT_EXCLUDED);
}

static void make_suppressed(struct script *s)
{
	make_count(s, COUNT_SUPPRESSED);
}

static void make_uncovered(struct script *s)
{
	make_count(s, COUNT_UNCOVERED);
}

static void make_forwarded(struct script *s)
{
	make_count(s, COUNT_FORWARDED);
}

static void make_share(struct script *s)
{
	struct event_share share = { 0 };

	share.protocol = (__u8)known(s, protocol_parse);
	share.packets = (__u64)number(s);
	share.waited = (__u64)number(s);
	share.busy_ns = words_duration(&s->in);
	share.wake_ns = words_duration(&s->in);
	share.wait_ns = words_duration(&s->in);
	share.run_ns = words_duration(&s->in);
	share.stopped_ns = words_duration(&s->in);
	put(s, EV_SHARE, &share, sizeof(share));
}

static void make_culprit(struct script *s)
{
	struct event_culprit culprit = { 0 };
	const char *comm;

	culprit.pid = culprit.tid = (__u32)number(s);
	comm = words_next(&s->in);
	memcpy(culprit.comm, comm, strnlen(comm, sizeof(culprit.comm)));
	culprit.ns = words_duration(&s->in);
	culprit.count = (__u64)number(s);
	put(s, EV_CULPRIT, &culprit, sizeof(culprit));
}

static void make_queue(struct script *s)
{
	struct event_queue q = { .cpu = (__u32)number(s) };
	const char *of = words_next(&s->in), *iface = words_next(&s->in);

	q.of = strcmp(of, "backlog") == 0 ? QUEUE_OF_BACKLOG :
	       strcmp(of, "others") == 0 ? QUEUE_OF_OTHERS : QUEUE_OF_DEVICE;
	if (strcmp(iface, "-") != 0)
		q.iface = name(s, DICT_IFACE, iface);
	if (strcmp(s->in.word[s->in.at], "-") == 0)
		s->in.at++;
	else
		q.rxq = (__u32)number(s) + 1;
	q.polls = (__u64)number(s);
	q.full = (__u64)number(s);
	q.work = (__u64)number(s);
	q.received = (__u64)number(s);
	q.merged = (__u64)number(s);
	q.passed = (__u64)number(s);
	put(s, EV_QUEUE, &q, sizeof(q));
}

static void make_softnet(struct script *s)
{
	struct event_softnet e = { .cpu = (__u32)number(s) };

	e.processed = (__u64)number(s);
	e.dropped = (__u64)number(s);
	e.squeezed = (__u64)number(s);
	e.rps = (__u64)number(s);
	e.flow_limit = (__u64)number(s);
	put(s, EV_SOFTNET, &e, sizeof(e));
}

static void make_pressure(struct script *s)
{
	struct event_pressure e = { .busy_ns = words_duration(&s->in) };

	e.stall_ns = words_duration(&s->in);
	e.packets = (__u64)number(s);
	put(s, EV_PRESSURE, &e, sizeof(e));
}

static void task_word(struct script *s, __u32 *pid, char *comm)
{
	const char *text;

	*pid = (__u32)number(s);
	text = words_next(&s->in);
	memcpy(comm, text, strnlen(text, EVENT_COMM_LEN - 1));
}

static void address_word(struct script *s, struct event_slow *slow, void *address, __u16 *port)
{
	const char *text = words_next(&s->in);

	slow->family = strchr(text, ':') ? AF_INET6 : AF_INET;
	if (inet_pton(slow->family, text, address) != 1)
		words_die(&s->in, "'%s' is no address", text);
	*port = (__u16)number(s);
}

static void make_slow(struct script *s)
{
	struct event_slow slow = { .direction = DIR_INGRESS, .packets = 1, .netns = 4026531840U };

	slow.protocol = (__u8)known(s, protocol_parse);
	slow.origin = (__u8)known(s, origin_parse);
	slow.read_ns = (__u64)number(s);
	address_word(s, &slow, slow.local, &slow.local_port);
	address_word(s, &slow, slow.remote, &slow.remote_port);
	while (words_more(&s->in)) {
		const char *what = words_next(&s->in);

		if (strcmp(what, "reader") == 0) {
			task_word(s, &slow.pid, slow.comm);
			slow.tid = slow.pid;
			slow.wait_ns = words_duration(&s->in);
			slow.stopped_ns = words_duration(&s->in);
		} else if (strcmp(what, "partial") == 0) {
			slow.flags = SLOW_WAITS_PARTIAL;
		} else if (strcmp(what, "new") == 0) {
			slow.flags = SLOW_WAITS_UNKNOWN;
		} else if (strcmp(what, "behind") == 0) {
			task_word(s, &slow.culprit_pid, slow.culprit);
			slow.culprit_tid = slow.culprit_pid;
			slow.culprit_ns = words_duration(&s->in);
		} else if (stage_parse(what) >= STAGE_LINK && stage_parse(what) <= STAGE_READ) {
			slow.at_ns[SLOW_AT(stage_parse(what))] = words_duration(&s->in);
		} else if (stage_parse(what) == STAGE_SOCKET) {
			slow.at_socket_ns = words_duration(&s->in);
		} else {
			words_die(&s->in, "'%s' is unknown", what);
		}
	}
	put(s, EV_SLOW, &slow, sizeof(slow));
}

static void make_lost(struct script *s)
{
	struct event_loss loss = { .why = LOSS_PRODUCER };

	loss.kind = (__u32)known(s, event_kind_parse);
	loss.records = (__u64)number(s);
	put(s, EV_LOSS, &loss, sizeof(loss));
}

static __u32 interval_flag(struct script *s)
{
	static const struct {
		const char *word;
		__u32 flag;
	} flags[] = {
		{ "last", INTERVAL_LAST }, { "partial", INTERVAL_PARTIAL },
		{ "estimate", INTERVAL_BPF_ESTIMATE }, { "no-cost", INTERVAL_NO_BPF_COST },
		{ "shed", INTERVAL_SHED },
	};

	const char *text = words_next(&s->in);

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (strcmp(text, flags[i].word) == 0)
			return flags[i].flag;
	words_die(&s->in, "'%s' is unknown", text);
	return 0;
}

static void make_interval(struct script *s)
{
	struct event_interval interval = { .seq = s->seq++, .from_ns = s->now_ns };

	s->now_ns += words_duration(&s->in);
	interval.to_ns = s->now_ns;
	interval.own_user_ns = words_duration(&s->in);
	interval.own_bpf_ns = words_duration(&s->in);
	interval.ncpus = (__u32)number(s);
	if (words_more(&s->in) && s->in.word[s->in.at][0] >= '0' && s->in.word[s->in.at][0] <= '9')
		interval.one_in = (__u64)number(s);
	while (words_more(&s->in))
		interval.flags |= interval_flag(s);
	put(s, EV_INTERVAL, &interval, sizeof(interval));
}

static const struct {
	const char *word;
	void (*make)(struct script *s);
} makers[] = {
	{ "fact", make_fact }, { "bound", make_bound }, { "unbound", make_unbound },
	{ "group", make_group }, { "clock", make_clock }, { "hist", make_hist },
	{ "drop", make_drop }, { "loss", make_loss }, { "excluded", make_excluded },
	{ "share", make_share }, { "culprit", make_culprit }, { "lost", make_lost },
	{ "uncovered", make_uncovered }, { "forwarded", make_forwarded },
	{ "queue", make_queue }, { "softnet", make_softnet }, { "pressure", make_pressure },
	{ "suppressed", make_suppressed }, { "slow", make_slow }, { "interval", make_interval },
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
	while (getline(&line, &size, in) >= 0) {
		s->in.line++;
		words_split(&s->in, line);
		if (s->in.n)
			make_event(s);
	}
	free(line);
	return event_writer_close(s->writer);
}

int main(int argc, char **argv)
{
	struct script script = { .now_ns = START_NS };
	FILE *in;
	int fd, err;

	if (argc != 3) {
		fprintf(stderr, "usage: mkevents SCRIPT FILE\n");
		return 1;
	}
	script.in.path = argv[1];
	in = fopen(argv[1], "r");
	fd = open(argv[2], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (!in || fd < 0) {
		perror("mkevents");
		return 1;
	}
	err = make_file(&script, in, fd);
	if (err)
		words_die(&script.in, "%s: %s", argv[2], strerror(-err));
	fclose(in);
	return close(fd) ? 1 : 0;
}
