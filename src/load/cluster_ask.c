/* SPDX-License-Identifier: Apache-2.0 */
#include "load/cluster_ask.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "clock/clock.h"
#include "load/reach.h"

#define QUESTION "*2\r\n$7\r\nCLUSTER\r\n$5\r\nSLOTS\r\n"
/* The largest cluster with 16384 ranges, each with several replicas, needs less. */
#define REPLY_MAX (32UL << 20)
#define READ_BYTES (64UL << 10)

struct asking {
	const struct cluster_ask *how;
	struct cluster *cluster;
	struct net_stream stream;
	uint64_t until_ns;
	struct strbuf reply;
	struct strbuf words; /* a sentence, or the server's */
	char *buffer;        /* READ_BYTES bytes */
};

/* Waits for events of the socket. Returns 0, -ETIMEDOUT or -EINTR. */
static int asking_wait(const struct asking *a, short events)
{
	struct pollfd fds[] = {
		{ .fd = a->stream.fd, .events = events },
		{ .fd = a->how->stop_fd, .events = POLLIN },
	};
	const uint64_t now = clock_now();
	int n;

	if (now >= a->until_ns)
		return -ETIMEDOUT;
	n = poll(fds, 2, (int)((a->until_ns - now) / NS_PER_MS) + 1);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	return fds[1].revents ? -EINTR : 0;
}

static int asking_handshake(struct asking *a)
{
	int ret = net_stream_handshake_begin(&a->stream);

	while (!ret) {
		ret = net_stream_handshake(&a->stream);
		if (!ret)
			ret = asking_wait(a, POLLIN);
	}
	return ret > 0 ? 0 : ret;
}

static int asking_connect(struct asking *a, const struct net_address *to)
{
	const struct cluster_ask *how = a->how;
	int err = net_stream_open(&a->stream, to, sources_at(how->sources, to->addr.ss_family, 0));

	if (!err)
		err = asking_wait(a, POLLOUT);
	if (!err && clock_now() >= a->until_ns)
		err = -ETIMEDOUT;
	if (!err)
		err = net_stream_connected(&a->stream);
	return !err && a->stream.tls ? asking_handshake(a) : err;
}

static int asking_write(struct asking *a, const char *data, size_t size)
{
	while (size) {
		ssize_t n = net_stream_write(&a->stream, data, size);

		if (n == -EAGAIN)
			n = asking_wait(a, POLLOUT);
		if (n < 0)
			return (int)n;
		data += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Reads what has arrived. Returns 0, or -errno; -ECONNRESET: the server closed. */
static int asking_read(struct asking *a)
{
	struct net_rx_stamp unused;
	bool drained = false;

	while (!drained) {
		ssize_t n = net_stream_read(&a->stream, a->buffer, READ_BYTES, &unused, &drained);

		if (n == -EAGAIN)
			return asking_wait(a, POLLIN);
		if (n <= 0)
			return n ? (int)n : -ECONNRESET;
		strbuf_add(&a->reply, a->buffer, (size_t)n);
	}
	return a->reply.error;
}

static int asking_talk(struct asking *a)
{
	const struct load_target *target = a->how->target;
	int ret = asking_write(a, target->greeting, target->greeting_size);

	if (!ret)
		ret = asking_write(a, QUESTION, sizeof(QUESTION) - 1);
	while (!ret) {
		ret = asking_read(a);
		if (!ret)
			ret = cluster_read_slots(a->cluster, target->greeting_replies, target->host,
						 strbuf_str(&a->reply), a->reply.len, &a->words);
	}
	return ret > 0 ? 0 : ret;
}

/* Whether another address may answer instead: this one could not be reached. */
static bool asking_may_go_on(const struct asking *a, int err)
{
	return err && err != -EINTR && err != -ENOMEM && !a->words.len;
}

static void asking_explain(const struct asking *a, int err, struct strbuf *why)
{
	const struct load_target *target = a->how->target;
	const char *words = strbuf_str(&a->words);
	const bool tls = a->stream.tls && *net_tls_error(a->stream.tls);

	strbuf_printf(why, "%s port %s: ", target->host, target->port);
	if (err == -EREMOTEIO && (strstr(words, "luster support disabled") ||
				  strstr(words, "unknown command")))
		strbuf_printf(why, "the server is not a node of a cluster: '%s' (remove cluster=1 "
				   "to measure this server alone)", words);
	else if (err == -EREMOTEIO)
		strbuf_printf(why, "the server refuses CLUSTER SLOTS: '%s'", words);
	else if (*words)
		strbuf_puts(why, words);
	else if (tls)
		strbuf_printf(why, "TLS: %s%s", net_tls_error(a->stream.tls),
			      err == -EKEYREJECTED ? REACH_UNTRUSTED : "");
	else if (err == -ETIMEDOUT)
		strbuf_puts(why, "no reply to CLUSTER SLOTS within --timeout; is the server "
				 "running, and is the URL right?");
	else if (err == -ECONNRESET)
		strbuf_puts(why, "the server closed the connection without a reply to CLUSTER "
				 "SLOTS");
	else
		strbuf_printf(why, "%s; is the server running, and is the URL right?",
			      strerror(-err));
}

static int asking_check(const struct asking *a, struct strbuf *why)
{
	const struct load_target *target = a->how->target;
	unsigned int from, to;

	if (!cluster_find_unserved(a->cluster, &from, &to))
		return 0;
	strbuf_printf(why, "%s port %s: no node of the cluster serves slot%s %u", target->host,
		      target->port, from == to ? "" : "s", from);
	if (from != to)
		strbuf_printf(why, " to %u", to);
	strbuf_puts(why, "; give all slots to masters (redis-cli --cluster check, --cluster fix) "
			 "and wait for cluster_state:ok");
	return -ENOTCONN;
}

static int asking_run(struct asking *a, struct strbuf *why)
{
	const struct load_target *target = a->how->target;
	int err = -ENOTCONN;

	for (uint32_t i = 0; i < target->n_addresses; i++) {
		a->until_ns = clock_now() + a->how->timeout_ns;
		strbuf_reset(&a->reply);
		err = asking_connect(a, &target->addresses[i]);
		if (!err)
			err = asking_talk(a);
		net_stream_close(&a->stream);
		if (!asking_may_go_on(a, err))
			break;
	}
	if (err && err != -EINTR && err != -ENOMEM)
		asking_explain(a, err, why);
	return err ? err : asking_check(a, why);
}

int cluster_ask(struct cluster **out, const struct cluster_ask *how, struct strbuf *why)
{
	struct asking a = {
		.how = how, .stream = { .fd = -1 }, .reply = STRBUF_INIT(REPLY_MAX),
		.words = STRBUF_INIT(1024),
	};
	int err = 0;

	a.cluster = malloc(sizeof(*a.cluster));
	a.buffer = malloc(READ_BYTES);
	if (!a.cluster || !a.buffer)
		err = -ENOMEM;
	if (!err && how->tls)
		err = net_tls_new(&a.stream.tls, how->tls, how->sni ?: how->target->target.host,
				  NULL);
	if (!err)
		err = asking_run(&a, why);
	net_tls_free(a.stream.tls);
	strbuf_release(&a.reply);
	strbuf_release(&a.words);
	free(a.buffer);
	if (err)
		free(a.cluster);
	else
		*out = a.cluster;
	return err;
}
