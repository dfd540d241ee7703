/* SPDX-License-Identifier: Apache-2.0 */
/* Resolves names, with a limit of time and a descriptor that ends the wait. */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/parse.h"
#include "clock/clock.h"
#include "net/address.h"

#define WHY_MAX 1024
#define SLOW_NS NS_PER_S

/* A question shared by the resolver's thread and the caller; the last user frees it. */
struct question {
	int holders; /* atomic count of users */
	int done_fd;
	char host[256], port[16];
	bool datagram;
	int ret;
	struct net_address addresses[NET_ADDRESSES_MAX];
	struct strbuf why;
};

static void resolve_let_go(struct question *q)
{
	if (__atomic_sub_fetch(&q->holders, 1, __ATOMIC_ACQ_REL))
		return;
	close(q->done_fd);
	strbuf_release(&q->why);
	free(q);
}

static void *resolve_ask(void *arg)
{
	struct question *q = arg;

	q->ret = net_resolve(q->host, q->port, q->datagram, q->addresses, &q->why);
	eventfd_write(q->done_fd, 1);
	resolve_let_go(q);
	return NULL;
}

static int resolve_question_new(struct question **out, const char *host, const char *port,
				bool datagram)
{
	struct question *q = calloc(1, sizeof(*q));
	pthread_t thread;
	int err;

	if (!q)
		return -ENOMEM;
	q->holders = 2;
	q->datagram = datagram;
	strbuf_init(&q->why, WHY_MAX);
	snprintf(q->host, sizeof(q->host), "%s", host);
	snprintf(q->port, sizeof(q->port), "%s", port);
	q->done_fd = eventfd(0, EFD_CLOEXEC);
	err = q->done_fd < 0 ? -errno : -pthread_create(&thread, NULL, resolve_ask, q);
	if (err) {
		if (q->done_fd >= 0)
			close(q->done_fd);
		free(q);
		return err;
	}
	pthread_detach(thread);
	*out = q;
	return 0;
}

/* Returns 0 once answered, -EINTR if how->stop_fd is readable, or -ETIMEDOUT. */
static int resolve_wait(const struct net_resolving *how, const struct question *q)
{
	const uint64_t begin = clock_now();
	struct pollfd fds[] = {
		{ .fd = q->done_fd, .events = POLLIN }, { .fd = how->stop_fd, .events = POLLIN },
	};
	bool slow = false;

	for (;;) {
		const uint64_t passed = clock_now() - begin;
		const uint64_t until = slow ? NET_RESOLVE_NS : SLOW_NS;

		if (passed >= NET_RESOLVE_NS)
			return -ETIMEDOUT;
		if (passed >= until) {
			slow = true;
			if (how->slow)
				how->slow(q->host);
			continue;
		}
		if (poll(fds, 2, (int)((until - passed) / NS_PER_MS) + 1) < 0 && errno != EINTR)
			return -errno;
		if (fds[0].revents)
			return 0;
		if (fds[1].revents)
			return -EINTR;
	}
}

/* Returns true for an address in digits, which needs no name server. */
static bool resolve_is_number(const char *host)
{
	const struct addrinfo hints = { .ai_flags = AI_NUMERICHOST };
	struct addrinfo *list = NULL;
	int err = getaddrinfo(host, NULL, &hints, &list);

	if (list)
		freeaddrinfo(list);
	return !err;
}

int net_resolve_while(const struct net_resolving *how, const char *host, const char *port,
		      bool datagram, struct net_address out[NET_ADDRESSES_MAX],
		      struct strbuf *why)
{
	struct question *q;
	int ret;

	if (resolve_is_number(host))
		return net_resolve(host, port, datagram, out, why);
	ret = resolve_question_new(&q, host, port, datagram);
	if (ret)
		return ret;
	ret = resolve_wait(how, q);
	if (!ret) {
		ret = q->ret;
		memcpy(out, q->addresses, sizeof(q->addresses));
		strbuf_puts(why, strbuf_str(&q->why));
	} else if (ret == -ETIMEDOUT) {
		strbuf_printf(why, "%s: no name server has answered within %d s; give an address, "
			      "or see /etc/resolv.conf", host, (int)(NET_RESOLVE_NS / NS_PER_S));
	}
	resolve_let_go(q);
	return ret;
}
