/* SPDX-License-Identifier: Apache-2.0 */
/*
 * conns [SOCKETS]: what following connections costs, in a network namespace of its own: CPU time
 * of the first pass, of a full pass over connections that did nothing and over ones that all did
 * something, of sampling and reading the hot set; memory; net time of a program per call, from the
 * kernel's statistics less their own; `ss -tin` in the same run for scale. Exit code 1 when a limit
 * is missed.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "event/memsource.h"
#include "probe/connection/conns_probe.h"

#define SOCKETS 100000
#define HOT 4000
#define CALLS 20000
#define ROUNDS 10
#define SAMPLES 21
#define EVICTED (64 << 20) /* bytes: more than caches hold */

#define FIRST_NS 2500.0
#define FULL_NS 1000.0
#define HOT_NS 500.0
#define PUSH_NS 100.0

/* A process may have only so many descriptors: some of them share the sockets. */
#define PER_WORKER 16000

struct pairs {
	int *fds; /* client, server, client, ... */
	size_t n; /* number of pairs */
};

struct worker {
	pid_t pid;
	int ask, answer; /* a struct request; a byte when it is done */
	size_t n;
};

/* `sockets` of them talk, so often; 0: end. */
struct request {
	size_t sockets, times;
};

struct workers {
	struct worker *w;
	size_t n;
};

static void die(const char *what)
{
	fprintf(stderr, "conns: %s: %s\n", what, strerror(errno));
	exit(2);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* ---- connections ---- */

static int listener(struct sockaddr_in *at, uint32_t number)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(*at);

	*at = (struct sockaddr_in){
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(0x7f000001 + number),
	};
	if (fd < 0 || bind(fd, (struct sockaddr *)at, sizeof(*at)) || listen(fd, 1024) ||
	    getsockname(fd, (struct sockaddr *)at, &size))
		die("listen");
	return fd;
}

static void connect_all(const struct pairs *p, uint32_t number)
{
	struct sockaddr_in at;
	int server = listener(&at, number);

	for (size_t i = 0; i < p->n; i += 2) {
		p->fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (p->fds[i] < 0 || connect(p->fds[i], (struct sockaddr *)&at, sizeof(at)))
			die("connect");
		p->fds[i + 1] = accept4(server, NULL, NULL, SOCK_CLOEXEC);
		if (p->fds[i + 1] < 0)
			die("accept");
	}
	close(server);
}

/* One byte each way on the first `n` sockets. */
static void talk(const struct pairs *p, size_t n, size_t times)
{
	char byte = 1;

	for (size_t i = 0; times; i += 2) {
		if (i + 1 >= n || i >= p->n) {
			i = 0;
			times--;
		}
		if (send(p->fds[i], &byte, 1, 0) != 1 || recv(p->fds[i + 1], &byte, 1, 0) != 1 ||
		    send(p->fds[i + 1], &byte, 1, 0) != 1 || recv(p->fds[i], &byte, 1, 0) != 1)
			die("talk");
	}
}

/* Until nobody asks any more. */
__attribute__((noreturn)) static void work(uint32_t number, size_t sockets, int ask, int answer)
{
	struct pairs p = { .fds = calloc(sockets, sizeof(int)), .n = sockets };
	struct request r = { sockets, 1 };

	if (!p.fds)
		die("memory");
	connect_all(&p, number);
	do {
		talk(&p, r.sockets, r.times);
	} while (write(answer, "", 1) == 1 && read(ask, &r, sizeof(r)) == sizeof(r) && r.times);
	_exit(0);
}

static void wait_for(const struct worker *w)
{
	char byte;

	if (read(w->answer, &byte, 1) != 1)
		die("a worker");
}

static void start(struct worker *w, uint32_t number, size_t sockets)
{
	int ask[2], answer[2];

	if (pipe(ask) || pipe(answer))
		die("pipe");
	w->n = sockets;
	w->pid = fork();
	if (w->pid < 0)
		die("fork");
	if (!w->pid) {
		close(ask[1]);
		close(answer[0]);
		work(number, sockets, ask[0], answer[1]);
	}
	close(ask[0]);
	close(answer[1]);
	w->ask = ask[1];
	w->answer = answer[0];
	wait_for(w);
}

static void ask(const struct worker *w, size_t sockets, size_t times)
{
	const struct request r = { sockets, times };

	if (write(w->ask, &r, sizeof(r)) != sizeof(r))
		die("a worker");
	if (times)
		wait_for(w);
}

static void all_talk(const struct workers *all, size_t n)
{
	for (size_t i = 0; i < all->n && n; i++) {
		size_t of = n < all->w[i].n ? n : all->w[i].n;

		ask(&all->w[i], of, 1);
		n -= of;
	}
}

static void stop_all(const struct workers *all)
{
	for (size_t i = 0; i < all->n; i++) {
		ask(&all->w[i], 0, 0);
		waitpid(all->w[i].pid, NULL, 0);
	}
}

/* ---- measurements ---- */

static bool missed;

static void row(const char *what, double value, const char *unit, double limit)
{
	bool bad = limit > 0 && value > limit;

	printf("%-52s %10.1f %-4s", what, value, unit);
	if (limit > 0)
		printf(" (at most %.0f)%s", limit, bad ? "  MISSED" : "");
	printf("\n");
	missed |= bad;
}

static void read_all(struct conns_probe *probe, struct event_memsource *queue,
		     enum conn_level level, struct conns_pass *pass)
{
	struct event_block block;

	if (conns_probe_read(probe, level, UINT64_MAX, pass))
		die("read");
	while (conns_probe_block(probe, &block))
		;
	while (event_source_next(event_memsource_source(queue), &block) > 0)
		;
}

static int less(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Each comes long after the one before: between them others use the caches. */
static void samples(struct conns_probe *probe)
{
	static char other[EVICTED];
	double each[SAMPLES];
	struct conns_pass pass;

	for (int i = 0; i < SAMPLES; i++) {
		memset(other, i, sizeof(other));
		if (conns_probe_sample(probe, LEVEL_WARM, 1e6, &pass))
			die("sample");
		each[i] = (double)pass.cpu_ns / pass.members;
	}
	qsort(each, SAMPLES, sizeof(*each), less);
	row("active ones: a sample, each, caches used by others", each[SAMPLES / 2], "ns",
	    HOT_NS);
	for (int i = 0; i < SAMPLES; i++) {
		if (conns_probe_sample(probe, LEVEL_WARM, 1e6, &pass))
			die("sample");
		each[i] = (double)pass.cpu_ns / pass.members;
	}
	qsort(each, SAMPLES, sizeof(*each), less);
	row("  one after the other", each[SAMPLES / 2], "ns", HOT_NS);
}

static void passes(struct conns_probe *probe, const struct workers *all, size_t sockets)
{
	struct event_memsource *queue;
	struct event_dict *dict = event_dict_new();
	struct conns_pass pass;

	if (event_memsource_new(&queue, 256 << 20) || !dict)
		die("memory");
	conns_probe_output(probe, event_memsource_sink(queue), dict);
	read_all(probe, queue, LEVEL_REST, &pass);
	read_all(probe, queue, LEVEL_REST, &pass);
	row("full pass, nothing happened, per socket", (double)pass.cpu_ns / pass.members, "ns",
	    FULL_NS);
	all_talk(all, sockets);
	read_all(probe, queue, LEVEL_REST, &pass);
	row("full pass, all did something, per socket: first time",
	    (double)pass.cpu_ns / pass.members, "ns", 0);
	row("  connections told", pass.reported, "", 0);
	all_talk(all, sockets);
	read_all(probe, queue, LEVEL_REST, &pass);
	row("  again", (double)pass.cpu_ns / pass.members, "ns", 0);
	row("  connections told", pass.reported, "", 0);
	row("memory of told ones in user space, per socket",
	    (double)conns_probe_memory(probe) / pass.members, "B", 0);
	sleep(2);
	read_all(probe, queue, LEVEL_REST, &pass); /* all cool down */
	all_talk(all, HOT);
	samples(probe);
	read_all(probe, queue, LEVEL_WARM, &pass);
	row("active ones: read, each", (double)pass.cpu_ns / pass.members, "ns", 0);
	row("  connections told", pass.reported, "", 0);
	event_dict_free(dict);
	event_memsource_free(queue);
}

/* ---- programs ---- */

/* Returns the least ns that the kernel's statistics report for a program that does nothing. */
static double floor_ns(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "hostlat_empty", "Dual BSD/GPL", code,
			       2, NULL);
	char packet[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = 1000);
	double least = 1e9;

	if (fd < 0)
		die("floor");
	for (int i = 0; i < 20; i++) {
		struct bpf_prog_info a = { 0 }, b = { 0 };
		__u32 size = sizeof(a);

		bpf_obj_get_info_by_fd(fd, &a, &size);
		bpf_prog_test_run_opts(fd, &run);
		size = sizeof(b);
		bpf_obj_get_info_by_fd(fd, &b, &size);
		if (b.run_cnt > a.run_cnt &&
		    (double)(b.run_time_ns - a.run_time_ns) / (b.run_cnt - a.run_cnt) < least)
			least = (double)(b.run_time_ns - a.run_time_ns) / (b.run_cnt - a.run_cnt);
	}
	close(fd);
	return least;
}

/* Measures a busy pair, and pairs in turns whose memory is not in the cache. */
static void programs(struct conns_probe *probe, const struct workers *all, size_t sockets)
{
	static const char *const names[USE_MAX] = {
		"send call", "receive call", "round trip", "timer", "state", "rare",
	};
	uint64_t ns[USE_MAX], runs[USE_MAX], ns0[USE_MAX], runs0[USE_MAX];
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME);
	double floor = floor_ns(), best[USE_MAX] = { 0 };
	char what[80];

	for (int round = 0; round < ROUNDS; round++) {
		conns_probe_stats(probe, ns0, runs0);
		ask(&all->w[0], sockets, CALLS / sockets);
		conns_probe_stats(probe, ns, runs);
		for (int u = 0; u < USE_MAX; u++) {
			double mean = runs[u] - runs0[u] < CALLS / 2 ? 0 :
				(double)(ns[u] - ns0[u]) / (runs[u] - runs0[u]) - floor;

			best[u] = !best[u] || mean < best[u] ? mean : best[u];
		}
	}
	close(stats);
	for (int u = 0; u < USE_MAX; u++) {
		snprintf(what, sizeof(what), "program at a %s, %zu sockets, net of %.0f", names[u],
			 sockets, floor);
		if (best[u])
			row(what, best[u], "ns", sockets == 2 ? PUSH_NS : 0);
	}
}

static void scale(size_t sockets)
{
	struct rusage before, after;
	double ns;

	getrusage(RUSAGE_CHILDREN, &before);
	if (system("ss -tin > /dev/null"))
		return;
	getrusage(RUSAGE_CHILDREN, &after);
	ns = (double)(after.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_utime.tv_sec -
		      before.ru_stime.tv_sec) * 1e9 +
	     (double)(after.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_utime.tv_usec -
		      before.ru_stime.tv_usec) * 1e3;
	row("ss -tin, per socket", ns / sockets, "ns", 0);
}

int main(int argc, char **argv)
{
	size_t sockets = (argc > 1 ? strtoul(argv[1], NULL, 10) : SOCKETS) & ~1UL;
	struct rlimit files = { PER_WORKER + 100, PER_WORKER + 100 };
	struct workers all = { .n = (sockets + PER_WORKER - 1) / PER_WORKER };
	struct conns_probe *probe;
	uint64_t before;
	char why[256];

	if (unshare(CLONE_NEWNET) || setrlimit(RLIMIT_NOFILE, &files) ||
	    system("ip link set lo up; sysctl -q net.ipv4.ip_local_port_range='1024 65000'"))
		die("a network namespace");
	all.w = calloc(all.n, sizeof(*all.w));
	if (!all.w)
		die("memory");
	for (size_t i = 0, left = sockets; i < all.n; left -= all.w[i++].n)
		start(&all.w[i], (uint32_t)i, left < PER_WORKER ? left : PER_WORKER);
	printf("%zu sockets\n", sockets);
	before = cpu_ns();
	if (conns_probe_open(&probe, &(struct conns_log){ .on = false }, why, sizeof(why))) {
		fprintf(stderr, "conns: %s\n", why);
		return 2;
	}
	row("start: loading, and the first pass, per socket",
	    (double)(cpu_ns() - before) / sockets, "ns", 0);
	row("  of it the first pass", (double)conns_probe_first_ns(probe) / sockets, "ns",
	    FIRST_NS);
	scale(sockets);
	passes(probe, &all, sockets);
	programs(probe, &all, 2);
	programs(probe, &all, HOT);
	conns_probe_free(probe);
	stop_all(&all);
	return missed;
}
