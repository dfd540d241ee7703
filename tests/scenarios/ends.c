/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ends of TCP connections that do what a plan (plan.h) says, and tell what they did.
 *
 *   ends serve|call ADDRESS PORT PLAN [--cc NAME] [--n CONNECTIONS] [--sndbuf BYTES]
 *        [--rcvbuf BYTES] [--nodelay] [--stall MS] [--next ADDRESS,PORT] [--also ADDRESS,PORT]
 *        [--again TIMES] [--other PLAN] [--hold] [--late-acks] [--pace BYTES]
 *
 * serve: accepts connections, n of them, or until it is told to end; :: takes IPv4's, too.
 * call: opens n connections one after the other, then all run the plan; with --hold only after a
 * line on stdin. --also: in turn to the one and to these. --again: each opens so many connections,
 * a new one when the plan is through. --next: for each connection another one is opened, for relay
 * and turn. --other: they have in turn the one and these. --late-acks: what is accepted leaves all
 * acknowledgements to the kernel's timer, also its first ones. --pace: a second, at most.
 *
 * It ends by itself, on SIGTERM and with its parent. Its output is a line of JSON per connection
 * that was opened, and one when the plan is through; times are ns of CLOCK_MONOTONIC.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "plan.h"

#define CONNECTIONS_MAX 4096
#define STACK_BYTES     (64 << 10)
#define BACKLOG         4096
#define TARGETS_MAX     64
#define PLANS_MAX       4

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

struct target {
	struct sockaddr_storage address;
	socklen_t len;
};

struct end {
	unsigned int number;
	int fd, next;
	pthread_t thread;
	bool started;
};

static struct options {
	bool serve, nodelay, hold, late_acks;
	const char *cc;
	unsigned int n, again;
	int sndbuf, rcvbuf, pace;
	struct target target[TARGETS_MAX], next;
	unsigned int targets;
	const char *plan[PLANS_MAX - 1];
	unsigned int plans;
} opt = { .n = 1, .again = 1, .targets = 1 };

static struct plan plans[PLANS_MAX];
static unsigned int n_plans;
static int stop_fd;
static uint64_t stall_ns;
static pthread_barrier_t barrier;
static pthread_mutex_t output = PTHREAD_MUTEX_INITIALIZER;
static struct end ends[CONNECTIONS_MAX];
static unsigned int n_ends;
static volatile sig_atomic_t told_to_end;

static void die(const char *what)
{
	fprintf(stderr, "ends: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void refuse(const char *what, const char *word)
{
	fprintf(stderr, "ends: %s: %s\n", what, word);
	exit(2);
}

/* ---- sockets ---- */

static struct target parse_target(const char *address, const char *port)
{
	struct target t = { .len = 0 };
	struct sockaddr_in *v4 = (struct sockaddr_in *)&t.address;
	struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&t.address;
	char *end;
	unsigned long number = strtoul(port, &end, 10);

	if (*end || number > 65535)
		refuse("port", port);
	if (inet_pton(AF_INET, address, &v4->sin_addr) == 1) {
		v4->sin_family = AF_INET;
		v4->sin_port = htons(number);
		t.len = sizeof(*v4);
	} else if (inet_pton(AF_INET6, address, &v6->sin6_addr) == 1) {
		v6->sin6_family = AF_INET6;
		v6->sin6_port = htons(number);
		t.len = sizeof(*v6);
	} else {
		refuse("address", address);
	}
	return t;
}

/* As it is to be; a listener's connections are as it is. */
static int make_socket(const struct target *target)
{
	int fd = socket(target->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;

	if (fd < 0)
		die("socket");
	if (opt.cc && setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, opt.cc, strlen(opt.cc)))
		die(opt.cc);
	if (opt.sndbuf && setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &opt.sndbuf, sizeof(int)))
		die("SO_SNDBUF");
	if (opt.rcvbuf && setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &opt.rcvbuf, sizeof(int)))
		die("SO_RCVBUF");
	if (opt.pace &&
	    setsockopt(fd, SOL_SOCKET, SO_MAX_PACING_RATE, &opt.pace, sizeof(opt.pace)))
		die("SO_MAX_PACING_RATE");
	if (opt.nodelay && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("TCP_NODELAY");
	return fd;
}

static int dial(const struct target *target)
{
	int fd = make_socket(target);

	if (connect(fd, (const struct sockaddr *)&target->address, target->len)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* ---- output ---- */

static void print_address(const char *name, int fd, typeof(getsockname) *which)
{
	struct sockaddr_storage a = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(a);
	char text[INET6_ADDRSTRLEN] = "";
	bool v6;

	which(fd, (struct sockaddr *)&a, &len);
	v6 = a.ss_family == AF_INET6;
	inet_ntop(a.ss_family, v6 ? (void *)&((struct sockaddr_in6 *)&a)->sin6_addr :
				    (void *)&((struct sockaddr_in *)&a)->sin_addr,
		  text, sizeof(text));
	printf(",\"%s\":[\"%s\",%u]", name, text, ntohs(((struct sockaddr_in *)&a)->sin_port));
}

static void print_identity(const char *what, const struct end *end, int fd)
{
	uint64_t cookie = 0, netns = 0;
	socklen_t len = sizeof(cookie);

	getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &len);
	len = sizeof(netns);
	getsockopt(fd, SOL_SOCKET, SO_NETNS_COOKIE, &netns, &len);
	printf("{\"what\":\"%s\",\"number\":%u,\"pid\":%d,\"tid\":%d,\"cookie\":%lu,\"netns\":%lu",
	       what, end->number, getpid(), gettid(), cookie, netns);
	print_address("local", fd, getsockname);
	print_address("peer", fd, getpeername);
}

/* Prints the kernel's view of the connection, for comparison only. */
static void print_kernel(int fd)
{
	struct tcp_info info = { .tcpi_state = 0 };
	char cc[16] = "";
	socklen_t len = sizeof(info);
	int sndbuf = 0, rcvbuf = 0;

	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len);
	len = sizeof(cc);
	getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, cc, &len);
	len = sizeof(int);
	getsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sndbuf, &len);
	getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &rcvbuf, &len);
	printf(",\"cc\":\"%.15s\",\"sndbuf\":%d,\"rcvbuf\":%d,\"kernel\":{\"min_rtt_us\":%u,"
	       "\"rtt_us\":%u,\"total_retrans\":%u,\"dsack_dups\":%u,\"busy_us\":%llu,"
	       "\"rwnd_limited_us\":%llu,\"sndbuf_limited_us\":%llu,\"snd_cwnd\":%u,"
	       "\"delivered_ce\":%u}",
	       cc, sndbuf, rcvbuf, info.tcpi_min_rtt, info.tcpi_rtt, info.tcpi_total_retrans,
	       info.tcpi_dsack_dups, info.tcpi_busy_time, info.tcpi_rwnd_limited,
	       info.tcpi_sndbuf_limited, info.tcpi_snd_cwnd, info.tcpi_delivered_ce);
}

static void print_done(const struct end *end, int fd, const struct done *done)
{
	pthread_mutex_lock(&output);
	print_identity("done", end, fd);
	print_kernel(fd);
	printf(",\"begin\":%lu,\"end\":%lu,\"written\":%lu,\"writes\":%lu,\"in_write_ns\":%lu,"
	       "\"blocked_ns\":%lu,\"read\":%lu,\"reads\":%lu,\"in_read_ns\":%lu,\"slept_ns\":%lu,"
	       "\"eof\":%s,\"error\":\"%s\",\"marks\":[",
	       done->begin, done->end, done->written, done->writes, done->in_write, done->blocked,
	       done->read, done->reads, done->in_read, done->slept, done->eof ? "true" : "false",
	       done->error ? strerrorname_np(done->error) : "");
	for (unsigned int i = 0; i < done->marks; i++)
		printf("%s%lu", i ? "," : "", done->mark[i]);
	printf("],\"stalls\":[");
	for (unsigned int i = 0; i < done->stalls; i++)
		printf("%s[\"%s\",%lu,%lu]", i ? "," : "", done->stall[i].write ? "write" : "read",
		       done->stall[i].at, done->stall[i].ns);
	printf("]}\n");
	fflush(stdout);
	pthread_mutex_unlock(&output);
}

static void print_opened(const struct end *end)
{
	pthread_mutex_lock(&output);
	print_identity("open", end, end->fd);
	if (end->next >= 0) {
		printf("}\n");
		print_identity("next", end, end->next);
	}
	printf("}\n");
	fflush(stdout);
	pthread_mutex_unlock(&output);
}

static void say(const char *what)
{
	pthread_mutex_lock(&output);
	printf("{\"what\":\"%s\",\"at\":%lu}\n", what, plan_now());
	fflush(stdout);
	pthread_mutex_unlock(&output);
}

/* ---- connections ---- */

static void *run_end(void *arg)
{
	struct end *end = arg;
	struct done *done = NULL;

	for (unsigned int turn = 0; turn < opt.again && !told_to_end; turn++) {
		if (turn) {
			end->fd = dial(&opt.target[end->number % opt.targets]);
			if (end->fd < 0)
				break;
			print_opened(end);
		}
		free(done);
		done = calloc(1, sizeof(*done));
		if (!done)
			die("memory");
		plan_run(&plans[end->number % n_plans], end->fd, end->next, done);
		print_done(end, end->fd, done);
		if (end->next >= 0)
			shutdown(end->next, SHUT_WR);
		if (turn + 1 < opt.again)
			close(end->fd);
		else
			shutdown(end->fd, SHUT_WR);
	}
	free(done);
	return NULL;
}

/* The descriptor stays open until the program ends: a signal's handler may shut it down. */
static void start_end(int fd)
{
	struct end *end = &ends[n_ends];
	pthread_attr_t attr;

	end->number = n_ends;
	end->fd = fd;
	end->next = opt.next.len ? dial(&opt.next) : -1;
	if (opt.next.len && end->next < 0)
		die("next");
	print_opened(end);
	n_ends++;
	if (!opt.serve)
		return;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	if (pthread_create(&end->thread, &attr, run_end, end))
		die("thread");
	end->started = true;
	pthread_attr_destroy(&attr);
}

static void serve(void)
{
	int fd = make_socket(&opt.target[0]), one = 1;

	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&opt.target[0].address, opt.target[0].len) ||
	    listen(fd, BACKLOG))
		die("listen");
	say("ready");
	while (!told_to_end && n_ends < opt.n) {
		struct pollfd p[] = { { .fd = fd, .events = POLLIN },
				      { .fd = stop_fd, .events = POLLIN } };
		int accepted = -1;

		if (poll(p, 2, -1) < 0 || p[1].revents)
			continue;
		accepted = accept4(fd, NULL, NULL, SOCK_CLOEXEC);
		if (accepted >= 0 && opt.late_acks &&
		    setsockopt(accepted, IPPROTO_TCP, TCP_QUICKACK, &(int){ 0 }, sizeof(int)))
			die("TCP_QUICKACK");
		if (accepted >= 0)
			start_end(accepted);
		else if (errno != EINTR && errno != ECONNABORTED)
			die("accept");
	}
	close(fd);
}

static void call(void)
{
	char line[64];
	pthread_attr_t attr;

	while (!told_to_end && n_ends < opt.n) {
		int fd = dial(&opt.target[n_ends % opt.targets]);

		if (fd < 0)
			die("connect");
		start_end(fd);
	}
	pthread_barrier_init(&barrier, NULL, n_ends);
	for (unsigned int i = 0; i < n_plans; i++)
		plans[i].barrier = &barrier;
	say("ready");
	if (opt.hold && read(STDIN_FILENO, line, sizeof(line)) <= 0)
		return;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (unsigned int i = 0; i < n_ends && !told_to_end; i++) {
		if (pthread_create(&ends[i].thread, &attr, run_end, &ends[i]))
			die("thread");
		ends[i].started = true;
	}
	pthread_attr_destroy(&attr);
}

/* ---- main ---- */

static void on_signal(int number)
{
	uint64_t one = 1;
	int error = errno;

	(void)number;
	told_to_end = 1;
	if (write(stop_fd, &one, sizeof(one)) < 0)
		_exit(1);
	for (unsigned int i = 0; i < n_ends; i++) {
		shutdown(ends[i].fd, SHUT_RDWR);
		if (ends[i].next >= 0)
			shutdown(ends[i].next, SHUT_RDWR);
	}
	errno = error;
}

static unsigned int number(const char *word, unsigned int most)
{
	char *end;
	unsigned long n = strtoul(word, &end, 10);

	if (*end || end == word || n > most)
		refuse("number", word);
	return n;
}

/* ADDRESS,PORT */
static struct target parse_pair(char *word)
{
	char *comma = strchr(word, ',');

	if (!comma)
		refuse("no port", word);
	*comma = '\0';
	return parse_target(word, comma + 1);
}

static void add_plan(const char *text)
{
	struct plan *plan = &plans[n_plans++];
	const char *wrong = plan_parse(plan, text);

	if (wrong)
		refuse(wrong, text);
	plan->stop_fd = stop_fd;
	plan->stall_ns = stall_ns;
}

static void parse_option(int c)
{
	switch (c) {
	case 'c':
		opt.cc = optarg;
		break;
	case 'n':
		opt.n = number(optarg, CONNECTIONS_MAX);
		break;
	case 's':
		opt.sndbuf = number(optarg, 1 << 30);
		break;
	case 'r':
		opt.rcvbuf = number(optarg, 1 << 30);
		break;
	case 'd':
		opt.nodelay = true;
		break;
	case 't':
		stall_ns = number(optarg, 100000) * 1000000ull;
		break;
	case 'x':
		opt.next = parse_pair(optarg);
		break;
	case 'l':
		if (opt.targets == TARGETS_MAX)
			refuse("too many", optarg);
		opt.target[opt.targets++] = parse_pair(optarg);
		break;
	case 'a':
		opt.again = number(optarg, 1000000);
		break;
	case 'p':
		if (opt.plans == PLANS_MAX - 1)
			refuse("too many", optarg);
		opt.plan[opt.plans++] = optarg;
		break;
	case 'h':
		opt.hold = true;
		break;
	case 'b':
		opt.pace = number(optarg, 1 << 30);
		break;
	case 'q':
		opt.late_acks = true;
		break;
	default:
		exit(2);
	}
}

static void parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "cc", 1, NULL, 'c' },     { "n", 1, NULL, 'n' },       { "sndbuf", 1, NULL, 's' },
		{ "rcvbuf", 1, NULL, 'r' }, { "nodelay", 0, NULL, 'd' }, { "stall", 1, NULL, 't' },
		{ "next", 1, NULL, 'x' },   { "again", 1, NULL, 'a' },   { "hold", 0, NULL, 'h' },
		{ "also", 1, NULL, 'l' },   { "other", 1, NULL, 'p' },
		{ "pace", 1, NULL, 'b' },
		{ "late-acks", 0, NULL, 'q' }, { NULL, 0, NULL, 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		parse_option(c);
	if (argc - optind != 4)
		refuse("words", "serve|call ADDRESS PORT PLAN");
	opt.serve = !strcmp(argv[optind], "serve");
	if (!opt.serve && strcmp(argv[optind], "call"))
		refuse("neither serve nor call", argv[optind]);
	opt.target[0] = parse_target(argv[optind + 1], argv[optind + 2]);
	add_plan(argv[optind + 3]);
	for (unsigned int i = 0; i < opt.plans; i++)
		add_plan(opt.plan[i]);
}

int main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_signal };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_TIMERSLACK, 1);
	stop_fd = eventfd(0, EFD_CLOEXEC);
	if (stop_fd < 0)
		die("eventfd");
	parse(argc, argv);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	if (opt.serve)
		serve();
	else
		call();
	for (unsigned int i = 0; i < n_ends; i++)
		if (ends[i].started)
			pthread_join(ends[i].thread, NULL);
	say("end");
	return 0;
}
