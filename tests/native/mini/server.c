/* SPDX-License-Identifier: Apache-2.0 */
/* Reads one request with each receive call, serves it, answers. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mini.h"

static int epoll_fd;
static _Thread_local uint32_t next_us;	/* cause before the next read */

static void serve(int fd, struct request *request, uint64_t entry, uint64_t read)
{
	struct served *s = &mini->served[request->number];

	s->tid = own_tid();
	s->entry = entry;
	s->read = read;
	if (request->now_us)
		cause_now(request->now_us);
	spin(request->service_us * 1000ull);
	next_us = request->next_us;
	s->end = now_ns();
	must(send(fd, request, sizeof(*request), MSG_NOSIGNAL) == sizeof(*request), "send");
	s->done = now_ns();
}

static bool read_one(int fd)
{
	struct request request;
	uint64_t entry, read;
	ssize_t got;

	entry = now_ns();
	got = recv(fd, &request, sizeof(request), MSG_DONTWAIT);
	read = now_ns();
	if (got < 0 && errno == EAGAIN)
		return false;
	must(got == 0 || got == sizeof(request), "recv");
	if (got)
		serve(fd, &request, entry, read);
	return got;
}

static void watch_it(int op, int fd)
{
	uint32_t once = opt.threads > 1 ? (uint32_t)EPOLLONESHOT : 0;
	struct epoll_event event = { .events = EPOLLIN | once, .data.fd = fd };

	must(epoll_ctl(epoll_fd, op, fd, &event) == 0, "epoll_ctl");
}

static void *loop(void *which)
{
	struct epoll_event events[CONNECTIONS_MAX];

	prctl(PR_SET_NAME, "server");
	prctl(PR_SET_TIMERSLACK, 1);
	pin(opt.server_cpu);
	must(setpriority(PRIO_PROCESS, own_tid(), opt.server_nice) == 0, "setpriority");
	mini->tids[(uintptr_t)which] = own_tid();
	word_raise(&mini->ready);
	for (;;) {
		/* With more threads than one each takes one connection at a time. */
		int n = epoll_wait(epoll_fd, events, opt.threads > 1 ? 1 : CONNECTIONS_MAX, -1);

		if (next_us)
			cause_now(next_us);
		next_us = 0;
		for (int i = 0; i < n; i++) {
			for (unsigned int k = 0; k < opt.per_event; k++)
				if (!read_one(events[i].data.fd))
					break;
			if (opt.threads > 1)
				watch_it(EPOLL_CTL_MOD, events[i].data.fd);
		}
	}
	return NULL;
}

static int listen_on(void)
{
	struct sockaddr_in addr = { .sin_family = AF_INET };
	socklen_t len = sizeof(addr);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(inet_pton(AF_INET, opt.address, &addr.sin_addr) == 1, "address");
	must(fd >= 0 && bind(fd, (void *)&addr, sizeof(addr)) == 0, "bind");
	must(listen(fd, CONNECTIONS_MAX) == 0, "listen");
	must(getsockname(fd, (void *)&addr, &len) == 0, "getsockname");
	mini->port = ntohs(addr.sin_port);
	word_raise(&mini->listening);
	return fd;
}

void server(void)
{
	int one = 1, listener;
	pthread_t thread;

	prctl(PR_SET_NAME, "main");
	enter_netns(opt.server_netns);
	mini->server = getpid();
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	must(epoll_fd >= 0, "epoll_create1");
	causes_begin();
	listener = listen_on();
	for (unsigned int i = 0; i < opt.connections; i++) {
		int fd = accept(listener, NULL, NULL);

		must(fd >= 0, "accept");
		must(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) == 0, "nodelay");
		watch_it(EPOLL_CTL_ADD, fd);
	}
	for (uintptr_t i = 0; i < opt.threads; i++)
		must(pthread_create(&thread, NULL, loop, (void *)i) == 0, "pthread_create");
	word_await(&mini->quit, 1);
}
