/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small epoll server and its client, each in a network namespace that the test chose. They delay
 * some requests on purpose and note exactly when: what an observer says of these can be compared.
 *
 * A first line of JSON tells the server's port and threads; nothing is sent until a line (or end of
 * file) comes on stdin. The second line is the log: see struct log. Bounded by --rounds.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "mini.h"

struct options opt = {
	.address = "127.0.0.1", .server_cpu = -1, .client_cpu = -1, .threads = 1, .connections = 4,
	.per_event = 20, .rounds = 1000, .gap_us = 2000, .burst = 1, .service_us = 20,
	.behind_us = 20,
};
struct log *mini;

static const char *const causes[CAUSE_MAX] = {
	"none", "burst", "lock", "fault", "stop", "numa", "gap",
};

void die(const char *what)
{
	fprintf(stderr, "mini: %s: %s\n", what, strerror(errno));
	kill(0, SIGKILL);
	_exit(1);
}

void must(bool ok, const char *what)
{
	if (!ok)
		die(what);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

void sleep_until(uint64_t ns)
{
	struct timespec ts = { .tv_sec = ns / NSEC_PER_SEC, .tv_nsec = ns % NSEC_PER_SEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL) == EINTR)
		;
}

void word_raise(_Atomic uint32_t *word)
{
	atomic_fetch_add(word, 1);
	syscall(SYS_futex, word, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void word_await(_Atomic uint32_t *word, uint32_t least)
{
	uint32_t seen;

	while ((seen = atomic_load(word)) < least)
		syscall(SYS_futex, word, FUTEX_WAIT, seen, NULL, NULL, 0);
}

void enter_netns(const char *netns)
{
	char path[256];
	int fd;

	if (!netns)
		return;
	snprintf(path, sizeof(path), "/run/netns/%s", netns);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd >= 0 && setns(fd, CLONE_NEWNET) == 0, path);
	close(fd);
}

void pin(int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	must(sched_setaffinity(0, sizeof(set), &set) == 0, "sched_setaffinity");
}

uint32_t own_tid(void)
{
	static _Thread_local uint32_t tid;

	if (!tid)
		tid = syscall(SYS_gettid);
	return tid;
}

void log_injected(enum cause cause, uint32_t tid, uint32_t culprit, uint64_t begin, uint64_t end)
{
	uint32_t i = atomic_fetch_add(&mini->n_injected, 1);

	must(i < LOG_MAX, "the log is full");
	mini->injected[i] = (struct injected){ cause, tid, culprit, begin, end };
}

/* ---- the result ---- */

static void print_log(void)
{
	printf("{\"served\": [");
	for (uint32_t i = 0; i < mini->n_served; i++) {
		const struct served *s = &mini->served[i];

		printf("%s[%u, %u, %u, %u, %llu, %llu, %llu, %llu, %llu, %llu, %llu, %llu]",
		       i ? ", " : "", s->conn, s->seq, s->tid, s->bad,
		       (unsigned long long)s->planned, (unsigned long long)s->sending,
		       (unsigned long long)s->sent, (unsigned long long)s->replied,
		       (unsigned long long)s->entry, (unsigned long long)s->read,
		       (unsigned long long)s->end, (unsigned long long)s->done);
	}
	printf("], \"injected\": [");
	for (uint32_t i = 0; i < mini->n_injected; i++) {
		const struct injected *in = &mini->injected[i];

		printf("%s[\"%s\", %u, %u, %llu, %llu]", i ? ", " : "", causes[in->cause], in->tid,
		       in->culprit, (unsigned long long)in->begin, (unsigned long long)in->end);
	}
	printf("]}\n");
}

static void print_ready(void)
{
	printf("{\"port\": %u, \"server_pid\": %d, \"client_pid\": %d, \"holder\": %u, "
	       "\"pager\": %u, \"tids\": [",
	       mini->port, mini->server, mini->client, mini->holder, mini->pager);
	for (unsigned int i = 0; i < opt.threads; i++)
		printf("%s%u", i ? ", " : "", mini->tids[i]);
	printf("]}\n");
	fflush(stdout);
}

/* ---- options ---- */

struct number {
	const char *name;
	unsigned int *at;
};

static const struct number numbers[] = {
	{ "threads", &opt.threads },	{ "connections", &opt.connections },
	{ "per-event", &opt.per_event },{ "rounds", &opt.rounds },
	{ "gap-us", &opt.gap_us },	{ "every", &opt.every },
	{ "burst", &opt.burst },	{ "behind", &opt.behind },
	{ "apart-us", &opt.apart_us },	{ "service-us", &opt.service_us },
	{ "behind-us", &opt.behind_us },{ "cause-us", &opt.cause_us },
	{ "server-cpu", (unsigned int *)&opt.server_cpu },
	{ "client-cpu", (unsigned int *)&opt.client_cpu },
	{ "server-nice", (unsigned int *)&opt.server_nice },
};

static enum cause cause_of(const char *word)
{
	for (enum cause i = 1; i < CAUSE_GAP; i++)
		if (!strcmp(word, causes[i]))
			return i;
	errno = EINVAL;
	die(word);
	return CAUSE_NONE;
}

static bool parse_number(const char *name, const char *text)
{
	char *end;

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
		if (strcmp(name, numbers[i].name))
			continue;
		errno = EINVAL;
		*numbers[i].at = strtol(text, &end, 10);
		must(*text && !*end, text);
		return true;
	}
	return false;
}

/* --NAME VALUE, or --before. */
static void parse(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i] + 2;

		errno = EINVAL;
		must(!strncmp(argv[i], "--", 2), argv[i]);
		if (!strcmp(name, "before")) {
			opt.before = true;
			continue;
		}
		must(i + 1 < argc, argv[i]);
		i++;
		if (!strcmp(name, "address"))
			opt.address = argv[i];
		else if (!strcmp(name, "server-netns"))
			opt.server_netns = argv[i];
		else if (!strcmp(name, "client-netns"))
			opt.client_netns = argv[i];
		else if (!strcmp(name, "cause"))
			opt.cause = cause_of(argv[i]);
		else
			must(parse_number(name, argv[i]), name);
	}
	must(opt.threads && opt.threads <= THREADS_MAX, "--threads");
	must(opt.connections && opt.connections <= CONNECTIONS_MAX, "--connections");
}

static pid_t start(void (*run)(void))
{
	pid_t pid = fork();

	must(pid >= 0, "fork");
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	run();
	_exit(0);
}

int main(int argc, char **argv)
{
	pid_t pids[2];
	char line[16];
	int status;

	parse(argc, argv);
	setpgid(0, 0);
	mini = mmap(NULL, sizeof(*mini), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	must(mini != MAP_FAILED, "mmap");
	pids[0] = start(server);
	pids[1] = start(client);
	word_await(&mini->ready, opt.threads + 1 + cause_helpers());
	print_ready();
	if (!fgets(line, sizeof(line), stdin))
		line[0] = 0;
	word_raise(&mini->go);
	must(waitpid(pids[1], &status, 0) == pids[1] && status == 0, "the client");
	word_raise(&mini->quit);
	must(waitpid(pids[0], &status, 0) == pids[0] && status == 0, "the server");
	print_log();
	return 0;
}
