/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends at planned times, whatever has been answered. A round is one request; a bad round is
 * opt.burst requests at once on one connection and, a little later, one each on some others.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mini.h"

#define LIMIT_NS (10 * NSEC_PER_SEC)

static struct pollfd connections[CONNECTIONS_MAX];
static uint32_t seqs[CONNECTIONS_MAX];
static uint32_t answered;

static void dial(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	int one = 1;

	word_await(&mini->listening, 1);
	addr.sin_port = htons(mini->port);
	must(inet_pton(AF_INET, opt.address, &addr.sin_addr) == 1, "address");
	for (unsigned int i = 0; i < opt.connections; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		must(fd >= 0 && connect(fd, (void *)&addr, sizeof(addr)) == 0, "connect");
		must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0, "nodelay");
		connections[i] = (struct pollfd){ .fd = fd, .events = POLLIN };
	}
}

static void take(int fd)
{
	struct request reply;
	ssize_t got;

	while ((got = recv(fd, &reply, sizeof(reply), MSG_DONTWAIT)) == sizeof(reply)) {
		mini->served[reply.number].replied = now_ns();
		answered++;
	}
	must(got < 0 && errno == EAGAIN, "a whole reply");
}

/* Takes replies until then, or with `all` until there is none to come. */
static void drain(uint64_t until, bool all)
{
	uint64_t now;

	while ((now = now_ns()) < until && !(all && answered == mini->n_served)) {
		struct timespec left = {
			.tv_sec = (until - now) / NSEC_PER_SEC,
			.tv_nsec = (until - now) % NSEC_PER_SEC,
		};

		if (ppoll(connections, opt.connections, &left, NULL) <= 0)
			continue;
		for (unsigned int i = 0; i < opt.connections; i++)
			if (connections[i].revents)
				take(connections[i].fd);
	}
}

static void ask(uint32_t conn, uint64_t planned, bool bad, struct request request)
{
	struct served *s = &mini->served[mini->n_served];

	must(mini->n_served < LOG_MAX, "the log is full");
	request.conn = conn;
	request.seq = seqs[conn]++;
	request.number = mini->n_served++;
	s->conn = conn;
	s->seq = request.seq;
	s->bad = bad;
	s->planned = planned;
	s->sending = now_ns();
	must(send(connections[conn].fd, &request, sizeof(request), MSG_NOSIGNAL) ==
	     sizeof(request), "send");
	s->sent = now_ns();
}

static void bad_round(uint64_t planned)
{
	struct request request = { .service_us = opt.service_us };
	struct request behind = { .service_us = opt.behind_us };
	uint64_t begin = now_ns(), end;

	if (opt.cause == CAUSE_STOP) {
		must(kill(mini->server, SIGSTOP) == 0, "SIGSTOP");
		sleep_until(begin + opt.apart_us * 1000ull);
	} else if (!opt.before) {
		request.now_us = opt.cause_us;
	}
	for (unsigned int i = 0; i < opt.burst; i++) {
		ask(0, planned, true, request);
		request.now_us = 0;
	}
	drain(begin + opt.apart_us * 1000ull, false);
	for (unsigned int i = 1; i <= opt.behind; i++)
		ask(i % opt.connections, planned, true, behind);
	if (opt.cause != CAUSE_STOP)
		return;
	sleep_until(begin + opt.cause_us * 1000ull);
	end = now_ns();
	must(kill(mini->server, SIGCONT) == 0, "SIGCONT");
	log_injected(CAUSE_STOP, 0, own_tid(), begin, end);
}

void client(void)
{
	struct request request = { .service_us = opt.service_us };
	uint64_t at;

	prctl(PR_SET_NAME, "client");
	prctl(PR_SET_TIMERSLACK, 1);
	enter_netns(opt.client_netns);
	pin(opt.client_cpu);
	mini->client = getpid();
	dial();
	word_raise(&mini->ready);
	word_await(&mini->go, 1);
	at = now_ns();
	for (unsigned int i = 1; i <= opt.rounds; i++) {
		at += opt.gap_us * 1000ull;
		drain(at, false);
		request.next_us = opt.before && opt.every && (i + 1) % opt.every == 0 ?
				  opt.cause_us : 0;
		if (opt.every && i % opt.every == 0)
			bad_round(at);
		else
			ask(i % opt.connections, at, false, request);
	}
	drain(now_ns() + LIMIT_NS, true);
	must(answered == mini->n_served, "all replies");
}
