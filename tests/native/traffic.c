/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic whose numbers are known: a reader and a sender process, each in a network namespace that
 * the test chose, share stamps: what an observer claims can be compared with what the two saw.
 *
 * Bounded by --count and --limit, after which both processes die. The result is one line of JSON.
 * With --hold a first line tells the reader's pid and port when both ends are connected, and
 * nothing is sent until a line (or end of file) comes on stdin.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MESSAGE_MAX 65536
#define STAMPS_MAX (1u << 20)
#define CHUNKS 10
#define NSEC_PER_SEC 1000000000ull

enum pattern {
	STREAM,   /* the sender sends message i as soon as the reader has begun its turn i */
	EXCHANGE, /* request and response */
	PAIRS,    /* two sends --apart-us apart, then one read --delay-us after the second */
	STORM,    /* as fast as possible, nobody waits for the reader */
};

enum wait { WAIT_RECV, WAIT_POLL, WAIT_EPOLL, WAIT_SPIN };
enum take { TAKE_RECV, TAKE_PEEK, TAKE_CHUNKS, TAKE_SPLICE };

struct options {
	enum pattern pattern;
	enum wait wait;
	enum take take;
	int type;                /* SOCK_STREAM or SOCK_DGRAM */
	int family;
	const char *address;     /* the reader's */
	const char *reader_netns, *sender_netns;
	int reader_cpu, sender_cpu; /* -1: anywhere */
	unsigned int reader_nice;
	unsigned int port, count, size, limit_s, rcvbuf;
	unsigned int gap_us;     /* before each send */
	unsigned int delay_us;   /* before each read */
	unsigned int only;       /* but only before this one; 1 is the first */
	unsigned int apart_us;   /* between a pair's sends, between a peek and its read */
	bool busy;               /* spend the delay on the CPU */
	bool realtime;           /* unrelated processes on this machine cannot preempt it */
	bool stamps;             /* also take the kernel's receive stamp, by SO_TIMESTAMPNS */
	bool hold;
};

/* Both processes' view; the words are futexes. */
struct shared {
	_Atomic uint32_t listening, connected, go; /* connected counts the ends */
	_Atomic uint32_t turn;      /* messages that the reader has begun to wait for */
	_Atomic uint32_t pair;      /* pairs that are completely sent */
	_Atomic uint32_t sender_done, reader_closed;
	uint16_t port;
	uint64_t sent, received, received_bytes;
	uint64_t sent_ns[STAMPS_MAX];    /* CLOCK_MONOTONIC before send(); of the pair's first */
	uint64_t second_ns[STAMPS_MAX];  /* before the send() of the pair's second */
	uint64_t called_ns[STAMPS_MAX];  /* how long send() took */
	uint64_t read_ns[STAMPS_MAX];    /* after the read returned */
	uint64_t kernel_ns[STAMPS_MAX];  /* age of the kernel's receive stamp then */
};

static struct options opt = {
	.type = SOCK_STREAM, .family = AF_INET, .reader_cpu = -1, .sender_cpu = -1,
	.count = 1000, .size = 100, .limit_s = 300,
};
static struct shared *shared;
static char buffer[MESSAGE_MAX];

static void die(const char *what)
{
	fprintf(stderr, "traffic: %s: %s\n", what, strerror(errno));
	_exit(1);
}

static void check(bool ok, const char *what)
{
	if (!ok)
		die(what);
}

/* ---- time and words ---- */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void spend(unsigned int us, bool busy)
{
	uint64_t end = now_ns() + us * 1000ull;
	struct timespec ts = { .tv_sec = end / NSEC_PER_SEC, .tv_nsec = end % NSEC_PER_SEC };

	if (us && !busy)
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	while (now_ns() < end);
}

static void word_raise(_Atomic uint32_t *word)
{
	atomic_fetch_add(word, 1);
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void word_await(_Atomic uint32_t *word, uint32_t least)
{
	uint32_t seen;

	while ((seen = atomic_load(word)) < least)
		syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

/* ---- processes and sockets ---- */

static void enter(const char *netns, int cpu)
{
	char path[256];
	cpu_set_t set;
	int fd;

	if (netns) {
		snprintf(path, sizeof(path), "/run/netns/%s", netns);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		check(fd >= 0, path);
		check(setns(fd, CLONE_NEWNET) == 0, "setns");
		close(fd);
	}
	if (opt.realtime)
		check(sched_setscheduler(0, SCHED_FIFO, &(struct sched_param){ 50 }) == 0,
		      "sched_setscheduler");
	if (cpu >= 0) {
		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		check(sched_setaffinity(0, sizeof(set), &set) == 0, "sched_setaffinity");
	}
}

static socklen_t address(struct sockaddr_storage *out, unsigned int port)
{
	struct sockaddr_in6 *v6 = (void *)out;
	struct sockaddr_in *v4 = (void *)out;
	const char *text = opt.address ?: opt.family == AF_INET ? "127.0.0.1" : "::1";

	memset(out, 0, sizeof(*out));
	out->ss_family = opt.family;
	errno = EINVAL;
	if (opt.family == AF_INET) {
		v4->sin_port = htons(port);
		check(inet_pton(AF_INET, text, &v4->sin_addr) == 1, text);
		return sizeof(*v4);
	}
	v6->sin6_port = htons(port);
	check(inet_pton(AF_INET6, text, &v6->sin6_addr) == 1, text);
	return sizeof(*v6);
}

static void set_option(int fd, int level, int name, int value)
{
	check(setsockopt(fd, level, name, &value, sizeof(value)) == 0, "setsockopt");
}

static int reader_socket(void)
{
	struct sockaddr_storage addr;
	socklen_t len = address(&addr, opt.port);
	int fd = socket(opt.family, opt.type, 0), listener = fd;

	check(fd >= 0, "socket");
	set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	if (opt.rcvbuf)
		set_option(fd, SOL_SOCKET, SO_RCVBUF, opt.rcvbuf);
	check(bind(fd, (void *)&addr, len) == 0, "bind");
	check(getsockname(fd, (void *)&addr, &len) == 0, "getsockname");
	shared->port = ntohs(((struct sockaddr_in *)&addr)->sin_port);
	if (opt.type == SOCK_STREAM)
		check(listen(fd, 1) == 0, "listen");
	word_raise(&shared->listening);
	if (opt.type == SOCK_STREAM) {
		fd = accept(listener, NULL, NULL);
		check(fd >= 0, "accept");
		close(listener);
		set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	}
	if (opt.stamps)
		set_option(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
	word_raise(&shared->connected);
	return fd;
}

static int sender_socket(void)
{
	struct sockaddr_storage addr;
	socklen_t len;
	int fd = socket(opt.family, opt.type, 0);

	check(fd >= 0, "socket");
	word_await(&shared->listening, 1);
	len = address(&addr, shared->port);
	check(connect(fd, (void *)&addr, len) == 0, "connect");
	if (opt.type == SOCK_STREAM)
		set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	word_raise(&shared->connected);
	return fd;
}

/* ---- the reader ---- */

static uint64_t stamp_age_ns(struct msghdr *msg)
{
	uint64_t now = clock_ns(CLOCK_REALTIME);
	struct cmsghdr *c;
	struct timespec ts;

	for (c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS)
			continue;
		memcpy(&ts, CMSG_DATA(c), sizeof(ts));
		return now - (ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec);
	}
	return 0;
}

/* One receive call that returns data; spins if the reader is a spinning one. */
static size_t receive(int fd, size_t size, int flags, uint64_t *kernel_ns,
		      struct sockaddr_storage *from)
{
	char control[CMSG_SPACE(sizeof(struct timespec))];
	struct iovec iov = { .iov_base = buffer, .iov_len = size };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_name = from, .msg_namelen = from ? sizeof(*from) : 0,
		.msg_control = opt.stamps ? control : NULL,
		.msg_controllen = opt.stamps ? sizeof(control) : 0,
	};
	ssize_t got;

	do {
		got = recvmsg(fd, &msg, flags | (opt.wait == WAIT_SPIN ? MSG_DONTWAIT : 0));
	} while (got < 0 && errno == EAGAIN && opt.wait == WAIT_SPIN);
	check(got > 0, "recvmsg");
	if (opt.stamps && kernel_ns)
		*kernel_ns = stamp_age_ns(&msg);
	return got;
}

static size_t receive_splice(int fd)
{
	static int pipe_fd[2], null_fd;
	ssize_t got, moved;

	if (!null_fd) {
		null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
		check(null_fd >= 0 && pipe2(pipe_fd, O_CLOEXEC) == 0, "pipe");
	}
	got = splice(fd, NULL, pipe_fd[1], NULL, opt.size, 0);
	check(got > 0, "splice from the socket");
	moved = splice(pipe_fd[0], NULL, null_fd, NULL, got, 0);
	check(moved == got, "splice from the pipe");
	return got;
}

static size_t take(int fd, uint64_t *kernel_ns, struct sockaddr_storage *from)
{
	size_t got = 0;

	switch (opt.take) {
	case TAKE_SPLICE:
		return receive_splice(fd);
	case TAKE_CHUNKS:
		for (int i = 0; i < CHUNKS; i++)
			got += receive(fd, opt.size / CHUNKS, 0, i ? NULL : kernel_ns, from);
		return got;
	case TAKE_PEEK:
		receive(fd, opt.size, MSG_PEEK, NULL, NULL);
		spend(opt.apart_us, false);
		break;
	case TAKE_RECV: break;
	}
	return receive(fd, sizeof(buffer), 0, kernel_ns, from);
}

static void await_readable(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	static int epoll_fd;

	if (opt.wait == WAIT_POLL)
		check(poll(&p, 1, -1) == 1, "poll");
	if (opt.wait != WAIT_EPOLL)
		return;
	if (!epoll_fd) {
		epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		check(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0, "epoll_ctl");
	}
	check(epoll_wait(epoll_fd, &event, 1, -1) == 1, "epoll_wait");
}

static void read_storm(int fd)
{
	struct timeval timeout = { .tv_usec = 200000 };
	ssize_t got;

	check(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) == 0,
	      "SO_RCVTIMEO");
	do {
		got = recv(fd, buffer, sizeof(buffer), 0);
		check(got > 0 || errno == EAGAIN, "recv");
		shared->received += got > 0;
	} while (got > 0 || !atomic_load(&shared->sender_done));
}

static void read_message(int fd, uint32_t i)
{
	struct sockaddr_storage from;
	size_t got;

	if (opt.pattern != EXCHANGE)
		word_raise(&shared->turn);
	if (opt.pattern == PAIRS)
		word_await(&shared->pair, i + 1);
	await_readable(fd);
	if (!opt.only || opt.only == i + 1)
		spend(opt.delay_us, opt.busy);
	got = take(fd, &shared->kernel_ns[i], opt.type == SOCK_DGRAM ? &from : NULL);
	shared->read_ns[i] = now_ns();
	shared->received++;
	shared->received_bytes += got;
	if (opt.pattern != EXCHANGE)
		return;
	if (opt.type == SOCK_DGRAM)
		check(sendto(fd, buffer, opt.size, 0, (void *)&from,
			     opt.family == AF_INET ? sizeof(struct sockaddr_in) :
						     sizeof(struct sockaddr_in6)) > 0, "sendto");
	else
		check(send(fd, buffer, opt.size, MSG_NOSIGNAL) > 0, "send");
}

static void reader(void)
{
	int fd;

	enter(opt.reader_netns, opt.reader_cpu);
	prctl(PR_SET_NAME, "reader");
	check(nice(opt.reader_nice) != -1, "nice");
	fd = reader_socket();
	word_await(&shared->go, 1);
	if (opt.pattern == STORM)
		read_storm(fd);
	else
		for (uint32_t i = 0; i < opt.count; i++)
			read_message(fd, i);
	word_await(&shared->sender_done, 1);
	close(fd);
	word_raise(&shared->reader_closed);
}

/* ---- the sender ---- */

static uint64_t send_one(int fd)
{
	uint64_t before = now_ns();
	ssize_t did = send(fd, buffer, opt.size, MSG_NOSIGNAL);

	check(did == (ssize_t)opt.size, "send");
	shared->sent++;
	return before;
}

static void send_message(int fd, uint32_t i)
{
	if (opt.pattern != EXCHANGE)
		word_await(&shared->turn, i + 1);
	spend(opt.gap_us, false);
	shared->sent_ns[i] = send_one(fd);
	shared->called_ns[i] = now_ns() - shared->sent_ns[i];
	if (opt.pattern == PAIRS) {
		spend(opt.apart_us, false);
		shared->second_ns[i] = send_one(fd);
		word_raise(&shared->pair);
	}
	if (opt.pattern == EXCHANGE)
		check(recv(fd, buffer, opt.size, MSG_WAITALL) == (ssize_t)opt.size, "recv");
}

static void sender(void)
{
	int fd;

	enter(opt.sender_netns, opt.sender_cpu);
	prctl(PR_SET_NAME, "sender");
	fd = sender_socket();
	word_await(&shared->go, 1);
	for (uint32_t i = 0; i < opt.count; i++) {
		if (opt.pattern == STORM)
			send_one(fd);
		else
			send_message(fd, i);
	}
	word_raise(&shared->sender_done);
	/* If both ends close at once, either may get the other's last acknowledgement first. */
	word_await(&shared->reader_closed, 1);
}

/* ---- the result ---- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void print_summary(const char *name, uint64_t *ns, uint32_t n)
{
	uint64_t sum = 0;

	qsort(ns, n, sizeof(*ns), compare);
	for (uint32_t i = 0; i < n; i++)
		sum += ns[i];
	printf(", \"%s\": {\"count\": %u, \"sum_ns\": %llu, \"min_ns\": %llu, \"p50_ns\": %llu, "
	       "\"p90_ns\": %llu, \"p99_ns\": %llu, \"max_ns\": %llu}", name, n,
	       (unsigned long long)sum, (unsigned long long)ns[0],
	       (unsigned long long)ns[n / 2], (unsigned long long)ns[n * 9ull / 10],
	       (unsigned long long)ns[n * 99ull / 100], (unsigned long long)ns[n - 1]);
}

static void print_result(void)
{
	uint32_t n = shared->received;

	printf("{\"sent\": %llu, \"received\": %llu, \"received_bytes\": %llu, \"port\": %u",
	       (unsigned long long)shared->sent, (unsigned long long)shared->received,
	       (unsigned long long)shared->received_bytes, shared->port);
	if (opt.pattern != STORM) {
		for (uint32_t i = 0; i < n; i++) {
			shared->sent_ns[i] = shared->read_ns[i] - shared->sent_ns[i];
			shared->second_ns[i] = shared->read_ns[i] - shared->second_ns[i];
		}
		print_summary("latency", shared->sent_ns, n);
		print_summary("send_call", shared->called_ns, n);
		if (opt.pattern == PAIRS)
			print_summary("youngest", shared->second_ns, n);
		if (opt.stamps)
			print_summary("kernel", shared->kernel_ns, n);
	}
	printf("}\n");
}

static pid_t start(void (*role)(void))
{
	pid_t pid = fork();

	check(pid >= 0, "fork");
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(opt.limit_s);
		role();
		_exit(0);
	}
	return pid;
}

static void hold(pid_t reader_pid)
{
	char line[16];

	word_await(&shared->connected, 2);
	printf("{\"reader_pid\": %d, \"port\": %u}\n", reader_pid, shared->port);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin) && ferror(stdin))
		die("stdin");
}

static unsigned int choice(const char *name, const char *const *names)
{
	for (unsigned int i = 0; names[i]; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	fprintf(stderr, "traffic: '%s' is not a choice here\n", name);
	exit(1);
}

static unsigned int number(const char *text, unsigned int max)
{
	char *end;
	unsigned long value = strtoul(text, &end, 10);

	if (*end || value > max) {
		fprintf(stderr, "traffic: '%s' is not a number up to %u\n", text, max);
		exit(1);
	}
	return value;
}

#define TAKES(name, letter) { name, required_argument, NULL, letter }
#define FLAG(name, letter) { name, no_argument, NULL, letter }

static void parse(int argc, char **argv)
{
	static const char *const patterns[] = { "stream", "exchange", "pairs", "storm", NULL };
	static const char *const waits[] = { "recv", "poll", "epoll", "spin", NULL };
	static const char *const takes[] = { "recv", "peek", "chunks", "splice", NULL };
	static const struct option options[] = {
		TAKES("pattern", 'P'), TAKES("wait", 'w'), TAKES("take", 't'), FLAG("udp", 'u'),
		FLAG("v6", '6'), TAKES("address", 'a'), TAKES("reader-netns", 'r'),
		TAKES("sender-netns", 's'), TAKES("reader-cpu", 'R'), TAKES("sender-cpu", 'S'),
		TAKES("reader-nice", 'n'), TAKES("port", 'p'), TAKES("count", 'c'),
		TAKES("size", 'z'), TAKES("limit", 'l'), TAKES("rcvbuf", 'b'), TAKES("gap-us", 'g'),
		TAKES("delay-us", 'd'), TAKES("only", 'o'), TAKES("apart-us", 'A'),
		FLAG("realtime", 'T'), FLAG("busy", 'B'), FLAG("stamps", 'k'), FLAG("hold", 'h'),
		{},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (c) {
		case 'P': opt.pattern = choice(optarg, patterns); break;
		case 'w': opt.wait = choice(optarg, waits); break;
		case 't': opt.take = choice(optarg, takes); break;
		case 'u': opt.type = SOCK_DGRAM; break;
		case '6': opt.family = AF_INET6; break;
		case 'a': opt.address = optarg; break;
		case 'r': opt.reader_netns = optarg; break;
		case 's': opt.sender_netns = optarg; break;
		case 'R': opt.reader_cpu = number(optarg, CPU_SETSIZE - 1); break;
		case 'S': opt.sender_cpu = number(optarg, CPU_SETSIZE - 1); break;
		case 'n': opt.reader_nice = number(optarg, 19); break;
		case 'p': opt.port = number(optarg, UINT16_MAX); break;
		case 'c': opt.count = number(optarg, 10000000); break;
		case 'z': opt.size = number(optarg, MESSAGE_MAX / 2); break;
		case 'l': opt.limit_s = number(optarg, 600); break;
		case 'b': opt.rcvbuf = number(optarg, 1 << 30); break;
		case 'g': opt.gap_us = number(optarg, 10000000); break;
		case 'd': opt.delay_us = number(optarg, 10000000); break;
		case 'o': opt.only = number(optarg, STAMPS_MAX); break;
		case 'A': opt.apart_us = number(optarg, 10000000); break;
		case 'B': opt.busy = true; break;
		case 'T': opt.realtime = true; break;
		case 'k': opt.stamps = true; break;
		case 'h': opt.hold = true; break;
		default: exit(1);
		}
	}
	if (opt.pattern != STORM && opt.count > STAMPS_MAX)
		opt.count = STAMPS_MAX;
}

int main(int argc, char **argv)
{
	int failed = 0, status;
	pid_t reader_pid;

	parse(argc, argv);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	check(shared != MAP_FAILED, "mmap");
	reader_pid = start(reader);
	start(sender);
	if (opt.hold)
		hold(reader_pid);
	word_raise(&shared->go);
	while (!failed && wait(&status) > 0)
		failed = status;
	if (failed)
		fprintf(stderr, "traffic: a process ended with status 0x%x\n", failed);
	else
		print_result();
	return failed ? 1 : 0;
}
