/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A path of known delay, rate, queue and losses between network namespaces: a TUN device in each,
 * and what one of them sends is held here until it is due at another. Packets are exact: nothing is
 * merged or segmented behind the TCP that sent it.
 *
 * It is told by lines on stdin, and ends with them, on SIGTERM, and with its parent. Numbers are
 * ns, bit/s, packets; all of a line's words are needed.
 *
 *   link NAME NETNS MTU ADDRESS4 ADDRESS6   a device NAME in the namespace of that file
 *   queue NAME RATE PACKETS MARK            RATE 0: none. ECN's mark from MARK packets on, 0: never
 *   lossy QUEUE PPM SEED                    a queue with a RATE loses packets at random
 *   path FROM TO DELAY QUEUE                one way; QUEUE "-": none. Paths may share a queue
 *   rule FROM CONN PORT KIND FIRST LAST ACTION HOLD
 *   stall NS                                from when on it tells that a sender made no progress
 *   trace                                   it tells of all data that is sent, and that comes
 *   go                                      answered by a line "ready"; more rules may follow
 *   stats                                   answered by a line per connection and queue
 *
 * A rule counts packets from a link: CONN in the order in which connections were opened, from 1, 0
 * is any; PORT at either end, 0 is any; KIND new (data), again (data that had been sent before),
 * data (both), ack, syn, any. What it counts as FIRST to LAST, from 1, it does ACTION to: drop,
 * mark, or hold for HOLD ns longer, while others overtake it. Of rules that apply the first one
 * acts; all count.
 *
 * Its output is lines of JSON, CLOCK_MONOTONIC; seq is from the sender's first byte, 0.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "device.h"
#include "flow.h"
#include "mark.h"
#include "rule.h"

#define LINKS_MAX       64
#define QUEUES_MAX      64
#define FLOWS_MAX       32768
#define PACKETS_MAX     16384
#define PACKET_BYTES    2048
#define BATCH           64    /* packets that are read before others are looked after */
#define LINES_MAX       400000
#define LATE_NS         1000000
#define NSEC_PER_SEC    1000000000ull
#define PRIORITY        2     /* realtime: it sleeps but for a few us per packet */

struct queue {
	char name[IFNAMSIZ];
	uint64_t rate, limit, mark;
	uint64_t free_at;           /* when its last packet will have left */
	uint64_t *leaves;           /* ring of `limit`: when each one leaves */
	uint64_t head, tail;
	uint64_t packets, dropped, marked, bytes, busy, longest, since;
	uint64_t loss_ppm, lost;    /* at random, not for lack of room */
	unsigned short random[3];   /* state of erand48() */
};

struct path {
	bool set;
	uint64_t delay;
	struct queue *queue;
	uint64_t packets;
};

struct link {
	char name[IFNAMSIZ];
	int fd;
	uint8_t v4[4], v6[16];
	struct path to[LINKS_MAX];
};

/* A packet on its way. */
struct packet {
	uint64_t due, order;
	struct flow *flow;
	struct segment segment;
	uint16_t len;
	uint8_t side, to;
	uint8_t bytes[PACKET_BYTES];
};

static struct link links[LINKS_MAX];
static struct queue queues[QUEUES_MAX];
static unsigned int n_links, n_queues;
static struct flow_table *flows;
static struct packet *packets;
static uint32_t heap[PACKETS_MAX], spare[PACKETS_MAX];
static unsigned int n_heap, n_spare;
static uint64_t order, stall_ns, lines, cut;
static bool traced;
static uint64_t passed, full, elsewhere, late, latest_ns, late_sum_ns;
static volatile sig_atomic_t ended;

static void die(const char *what)
{
	fprintf(stderr, "box: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void refuse(const char *what, const char *line)
{
	fprintf(stderr, "box: %s: %s\n", what, line);
	exit(2);
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* ---- packets by when they are due ---- */

static bool before(uint32_t a, uint32_t b)
{
	return packets[a].due != packets[b].due ? packets[a].due < packets[b].due :
						  packets[a].order < packets[b].order;
}

static void heap_push(uint32_t packet)
{
	unsigned int at = n_heap++;

	for (; at && before(packet, heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = packet;
}

static uint32_t heap_pop(void)
{
	uint32_t top = heap[0], last = heap[--n_heap];
	unsigned int at = 0, child;

	while ((child = 2 * at + 1) < n_heap) {
		if (child + 1 < n_heap && before(heap[child + 1], heap[child]))
			child++;
		if (!before(heap[child], last))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return top;
}

/* ---- output ---- */

static void tell(const char *act, const char *why, const struct packet *packet, unsigned int from,
		 enum kind kind, uint64_t now)
{
	const struct segment *segment = &packet->segment;
	const struct side *side = packet->flow ? &packet->flow->side[packet->side] : NULL;

	if (++lines > LINES_MAX) {
		cut++;
		return;
	}
	printf("{\"act\":\"%s\",\"why\":\"%s\",\"at\":%lu,\"from\":\"%s\",\"conn\":%u,\"side\":%u,"
	       "\"kind\":\"%s\",\"seq\":%u,\"len\":%u,\"sport\":%u,\"dport\":%u}\n",
	       act, why, now, links[from].name, packet->flow ? packet->flow->conn : 0,
	       packet->side, kind_names[kind], side ? segment->seq - side->isn - 1 : 0,
	       segment->len, segment->sport, segment->dport);
	fflush(stdout);
}

/* With `trace`: data that left its sender, and that comes to its receiver. */
static void trace(const char *act, const struct packet *packet, unsigned int from, enum kind kind,
		  uint64_t now)
{
	if (traced && packet->flow && packet->segment.len)
		tell(act, "trace", packet, from, kind, now);
}

static void tell_stall(const struct packet *packet, uint64_t stalled, uint64_t now)
{
	const struct side *side = &packet->flow->side[!packet->side];

	if (++lines > LINES_MAX) {
		cut++;
		return;
	}
	printf("{\"act\":\"stall\",\"at\":%lu,\"conn\":%u,\"side\":%u,\"ns\":%lu,\"seq\":%u}\n",
	       now, packet->flow->conn, !packet->side, stalled, side->una - side->isn - 1);
	fflush(stdout);
}

static void stats(void)
{
	uint64_t now = now_ns();

	flow_print(flows, now, stdout);
	for (unsigned int i = 0; i < n_queues; i++) {
		struct queue *q = &queues[i];

		printf("{\"act\":\"queue\",\"name\":\"%s\",\"packets\":%lu,\"dropped\":%lu,"
		       "\"lost\":%lu,\"marked\":%lu,\"bytes\":%lu,\"busy_ns\":%lu,"
		       "\"longest\":%lu,\"since\":%lu,\"at\":%lu}\n",
		       q->name, q->packets, q->dropped, q->lost, q->marked, q->bytes,
		       q->busy - (q->free_at > now ? q->free_at - now : 0), q->longest, q->since,
		       now);
	}
	printf("{\"act\":\"stats\",\"at\":%lu,\"passed\":%lu,\"full\":%lu,\"elsewhere\":%lu,"
	       "\"cut\":%lu,\"late\":%lu,\"latest_ns\":%lu,\"late_sum_ns\":%lu}\n",
	       now, passed, full, elsewhere, cut, late, latest_ns, late_sum_ns);
	fflush(stdout);
}

/* ---- the fate of a packet ---- */

/* Returns whether a bad port loses the next packet. */
static bool queue_loses(struct queue *queue)
{
	bool loses = queue->loss_ppm && erand48(queue->random) * 1e6 < (double)queue->loss_ppm;

	queue->lost += loses;
	return loses;
}

/* When it leaves the queue; 0: it is full, or loses the packet. */
static uint64_t queue_pass(struct queue *queue, struct packet *packet, uint64_t now)
{
	uint64_t takes, waiting;

	if (!queue->since)
		queue->since = now;
	while (queue->head != queue->tail && queue->leaves[queue->head % queue->limit] <= now)
		queue->head++;
	waiting = queue->tail - queue->head;
	if (queue_loses(queue))
		return 0;
	if (waiting >= queue->limit) {
		queue->dropped++;
		return 0;
	}
	if (queue->mark && waiting >= queue->mark)
		queue->marked += mark_congestion(packet->bytes);
	takes = packet->len * 8 * NSEC_PER_SEC / queue->rate;
	queue->free_at = (queue->free_at > now ? queue->free_at : now) + takes;
	queue->leaves[queue->tail++ % queue->limit] = queue->free_at;
	queue->packets++;
	queue->bytes += packet->len;
	queue->busy += takes;
	if (waiting + 1 > queue->longest)
		queue->longest = waiting + 1;
	return queue->free_at;
}

static int destination(const struct segment *segment)
{
	for (unsigned int i = 0; i < n_links; i++)
		if (segment->v6 ? !memcmp(links[i].v6, segment->dst, 16) :
				  !memcmp(links[i].v4, segment->dst, 4))
			return i;
	return -1;
}

static bool lose(const struct packet *packet, uint64_t now)
{
	if (packet->flow)
		flow_dropped(packet->flow, packet->side, &packet->segment, now);
	return false;
}

/* Puts it on its way; false if it goes none. */
static bool forward(struct packet *packet, unsigned int from, uint64_t now)
{
	bool tcp = segment_parse(packet->bytes, packet->len, &packet->segment);
	int to = tcp ? destination(&packet->segment) : -1, side = 0;
	uint64_t hold = 0, leaves = now;
	enum kind kind = KIND_OTHER;
	const struct rule *rule;
	struct path *path;

	if (to < 0 || !links[from].to[to].set) {
		elsewhere++;
		return false;
	}
	packet->flow = flow_find(flows, &packet->segment, now, &side);
	packet->side = side;
	packet->to = to;
	if (packet->flow)
		kind = flow_sent(packet->flow, side, &packet->segment, now);
	trace("sent", packet, from, kind, now);
	rule = rule_for(&packet->segment, packet->flow ? packet->flow->conn : 0, from,
			kind);
	if (rule) {
		tell(action_names[rule->action], "rule", packet, from, kind, now);
		if (rule->action == ACT_DROP)
			return lose(packet, now);
		if (rule->action == ACT_MARK)
			mark_congestion(packet->bytes);
		else
			hold = rule->hold;
	}
	path = &links[from].to[to];
	if (path->queue && path->queue->rate) {
		leaves = queue_pass(path->queue, packet, now);
		if (!leaves) {
			tell("drop", path->queue->name, packet, from, kind, now);
			return lose(packet, now);
		}
	}
	path->packets++;
	packet->due = leaves + path->delay + hold;
	packet->order = ++order;
	return true;
}

static void receive(unsigned int from)
{
	for (int i = 0; i < BATCH; i++) {
		static uint8_t nowhere[PACKET_BYTES];
		struct packet *packet = n_spare ? &packets[spare[n_spare - 1]] : NULL;
		ssize_t len = read(links[from].fd, packet ? packet->bytes : nowhere, PACKET_BYTES);

		if (len <= 0) {
			if (len < 0 && errno != EAGAIN && errno != EINTR)
				die(links[from].name);
			return;
		}
		if (!packet) {
			full++;
			continue;
		}
		packet->len = len;
		if (forward(packet, from, now_ns()))
			heap_push(spare[--n_spare]);
	}
}

/* Everything that is due; returns how long it is to the next one, -1: there is none. */
static int64_t deliver(void)
{
	while (n_heap) {
		struct packet *packet = &packets[heap[0]];
		uint64_t now = now_ns(), stalled;

		if (packet->due > now)
			return packet->due - now;
		late_sum_ns += now - packet->due;
		late += now - packet->due > LATE_NS;
		if (now - packet->due > latest_ns)
			latest_ns = now - packet->due;
		spare[n_spare++] = heap_pop();
		passed++;
		if (packet->flow) {
			stalled = flow_arrived(packet->flow, packet->side, &packet->segment, now);
			if (stall_ns && stalled > stall_ns)
				tell_stall(packet, stalled, now);
		}
		trace("came", packet, packet->to, KIND_OTHER, now);
		if (write(links[packet->to].fd, packet->bytes, packet->len) != packet->len)
			die(links[packet->to].name);
	}
	return -1;
}

/* ---- commands ---- */

static uint64_t number(const char *word, const char *line)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(word, &end, 10);
	if (errno || end == word || *end)
		refuse("not a number", line);
	return n;
}

static unsigned int find_link(const char *name, const char *line)
{
	for (unsigned int i = 0; i < n_links; i++)
		if (!strcmp(links[i].name, name))
			return i;
	refuse("no such link", line);
	return 0;
}

static void add_link(char **word, const char *line)
{
	struct link *link = &links[n_links];
	uint64_t mtu = number(word[2], line);

	if (n_links == LINKS_MAX || strlen(word[0]) >= IFNAMSIZ || mtu < 576 || mtu > PACKET_BYTES)
		refuse("link", line);
	if (inet_pton(AF_INET, word[3], link->v4) != 1 ||
	    inet_pton(AF_INET6, word[4], link->v6) != 1)
		refuse("address", line);
	memcpy(link->name, word[0], strlen(word[0]) + 1);
	link->fd = device_make(link->name, word[1], mtu);
	if (link->fd < 0)
		die(line);
	n_links++;
}

static void add_queue(char **word, const char *line)
{
	struct queue *queue = &queues[n_queues];

	if (n_queues == QUEUES_MAX || strlen(word[0]) >= sizeof(queue->name))
		refuse("queue", line);
	memcpy(queue->name, word[0], strlen(word[0]) + 1);
	queue->rate = number(word[1], line);
	queue->limit = number(word[2], line);
	queue->mark = number(word[3], line);
	if (!queue->limit || queue->limit > PACKETS_MAX)
		refuse("queue", line);
	queue->leaves = calloc(queue->limit, sizeof(*queue->leaves));
	if (!queue->leaves)
		die("queue");
	n_queues++;
}

static struct queue *find_queue(const char *name, const char *line)
{
	for (unsigned int i = 0; i < n_queues; i++)
		if (!strcmp(queues[i].name, name))
			return &queues[i];
	refuse("no such queue", line);
	return NULL;
}

static void set_lossy(char **word, const char *line)
{
	struct queue *queue = find_queue(word[0], line);

	queue->loss_ppm = number(word[1], line);
	queue->random[0] = number(word[2], line);
	if (queue->loss_ppm > 1000000 || !queue->rate)
		refuse("lossy", line);
}

static void add_path(char **word, const char *line)
{
	struct path *path = &links[find_link(word[0], line)].to[find_link(word[1], line)];

	path->set = true;
	path->delay = number(word[2], line);
	path->queue = strcmp(word[3], "-") ? find_queue(word[3], line) : NULL;
}

static void add_rule(char **word, const char *line)
{
	if (!rule_add(word, find_link(word[0], line)))
		refuse("rule", line);
}

static void set_stall(char **word, const char *line)
{
	stall_ns = number(word[0], line);
}

static void set_trace(char **word, const char *line)
{
	(void)word;
	(void)line;
	traced = true;
}

static void go(char **word, const char *line)
{
	(void)word;
	(void)line;
	printf("{\"act\":\"ready\",\"at\":%lu}\n", now_ns());
	fflush(stdout);
}

static void tell_stats(char **word, const char *line)
{
	(void)word;
	(void)line;
	stats();
}

static const struct command {
	const char *name;
	int words;
	void (*run)(char **word, const char *line);
} commands[] = {
	{ "link", 5, add_link }, { "queue", 4, add_queue }, { "lossy", 3, set_lossy },
	{ "path", 4, add_path },
	{ "rule", 8, add_rule }, { "stall", 1, set_stall }, { "trace", 0, set_trace },
	{ "go", 0, go }, { "stats", 0, tell_stats },
};

static void obey(char *line)
{
	char copy[512], *word[16], *save = NULL;
	int n = 0;

	snprintf(copy, sizeof(copy), "%.500s", line);
	for (char *w = strtok_r(line, " ", &save); w && n < 16; w = strtok_r(NULL, " ", &save))
		word[n++] = w;
	if (!n)
		return;
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		if (strcmp(commands[i].name, word[0]))
			continue;
		if (commands[i].words != n - 1)
			refuse("not that many words", copy);
		commands[i].run(word + 1, copy);
		return;
	}
	refuse("no such command", copy);
}

/* false at the end of stdin */
static bool listen_to_stdin(void)
{
	static char text[65536];
	static size_t len;
	ssize_t n = read(STDIN_FILENO, text + len, sizeof(text) - 1 - len);
	char *line = text, *end;

	if (n < 0)
		return errno == EINTR || errno == EAGAIN;
	len += n;
	text[len] = '\0';
	while ((end = strchr(line, '\n'))) {
		*end = '\0';
		obey(line);
		line = end + 1;
	}
	len -= line - text;
	memmove(text, line, len);
	return n > 0;
}

/* ---- main ---- */

static void on_signal(int number)
{
	(void)number;
	ended = 1;
}

static void set_up(void)
{
	struct sched_param param = { .sched_priority = PRIORITY };
	struct sigaction action = { .sa_handler = on_signal };

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_TIMERSLACK, 1);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	flows = flow_table_new(FLOWS_MAX);
	packets = calloc(PACKETS_MAX, sizeof(*packets));
	if (!flows || !packets)
		die("memory");
	for (n_spare = 0; n_spare < PACKETS_MAX; n_spare++)
		spare[n_spare] = PACKETS_MAX - 1 - n_spare;
	/* Delays are longer without, but nothing is wrong. */
	sched_setscheduler(0, SCHED_FIFO, &param);
}

int main(void)
{
	struct pollfd fds[LINKS_MAX + 1];
	bool open = true;

	set_up();
	while (open && !ended) {
		int64_t wait = deliver();
		struct timespec ts = { .tv_sec = wait / (int64_t)NSEC_PER_SEC,
				       .tv_nsec = wait % (int64_t)NSEC_PER_SEC };

		fds[0] = (struct pollfd){ .fd = STDIN_FILENO, .events = POLLIN };
		for (unsigned int i = 0; i < n_links; i++)
			fds[i + 1] = (struct pollfd){ .fd = links[i].fd, .events = POLLIN };
		if (ppoll(fds, n_links + 1, wait < 0 ? NULL : &ts, NULL) < 0) {
			if (errno == EINTR)
				continue;
			die("ppoll");
		}
		for (unsigned int i = 0; i < n_links; i++)
			if (fds[i + 1].revents)
				receive(i);
		if (fds[0].revents)
			open = listen_to_stdin();
	}
	stats();
	flow_table_free(flows);
	free(packets);
	return 0;
}
