/* SPDX-License-Identifier: Apache-2.0 */
#include "load/polled.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/parse.h"
#include "load/conn.h"
#include "load/dial.h"

#define COUNTERS "/proc/net/netstat"
#define COUNTER "BusyPollRxPackets"

/* ---- polling ---- */

/* Returns whether the connection can be busy-polled. Asks the kernel once per request. */
static bool has_queue(struct load_thread *t, const struct load_request *r)
{
	if (t->poll_asked != r->number + 1) {
		t->poll_asked = r->number + 1;
		t->poll_known = net_stream_has_queue(&r->conn->stream);
		t->poll_queue |= t->poll_known;
	}
	return t->poll_known;
}

struct load_conn *polled_conn(struct load_thread *t)
{
	const struct load_request *r = list_first(&t->sent, struct load_request, link);

	if (t->config->role != ROLE_LATENCY || t->poll_error || !r ||
	    r->conn->state != CONN_OPEN || !has_queue(t, r))
		return NULL;
	return r->conn;
}

int polled_look(struct load_thread *t, struct load_conn *conn)
{
	const uint64_t before = t->now, received = t->count.bytes_received;
	int n = net_wait(&t->wait, before, before, before, true), err;

	if (n)
		return n;
	t->now = t->wait.woken_ns;
	err = conn_receive(t, conn, false);
	if (err)
		dial_lost(t, conn, err);
	if (!err && t->count.bytes_received == received)
		t->wait.spun_ns += t->now - before;
	t->wait.woken_ns = t->now;
	return 0;
}

/* ---- result of busy polling ---- */

/* Finds BusyPollRxPackets in two lines of /proc/net/netstat, which hold names and values. */
static uint64_t find_counter(char *names, char *values)
{
	char *name, *value, *more_names, *more_values;
	uint64_t n;

	name = strtok_r(names, " \n", &more_names);
	value = strtok_r(values, " \n", &more_values);
	for (; name && value; name = strtok_r(NULL, " \n", &more_names),
			      value = strtok_r(NULL, " \n", &more_values))
		if (!strcmp(name, COUNTER))
			return parse_u64(value, &n) ? POLLED_UNKNOWN : n;
	return POLLED_UNKNOWN;
}

uint64_t polled_packets(void)
{
	FILE *file = fopen(COUNTERS, "re");
	char *names = NULL, *values = NULL;
	size_t room = 0, more_room = 0;
	uint64_t packets = POLLED_UNKNOWN;

	while (file && packets == POLLED_UNKNOWN && getline(&names, &room, file) > 0 &&
	       getline(&values, &more_room, file) > 0)
		packets = find_counter(names, values);
	free(names);
	free(values);
	if (file)
		fclose(file);
	return packets;
}

static const struct {
	const char *word, *why;
} reasons[] = {
	{ "not-permitted", "SO_BUSY_POLL needs CAP_NET_ADMIN, or sysctl net.core.busy_read=50" },
	{ "no-queue", "the interface has no queue that can be polled (loopback, most veth)" },
	{ "interrupts", "interrupts delivered all packets before polling could" },
	{ "no-busy-polling", "the kernel has no busy polling (CONFIG_NET_RX_BUSY_POLL)" },
	{ "unknown", "the counter BusyPollRxPackets in /proc/net/netstat cannot be read" },
};

enum reason { NOT_PERMITTED, NO_QUEUE, INTERRUPTS, NO_BUSY_POLLING, UNKNOWN };

static enum reason polled_reason(const struct load_thread *threads, uint32_t n)
{
	bool queue = false;

	for (uint32_t i = 0; i < n; i++) {
		if (threads[i].poll_error)
			return threads[i].poll_error == -EPERM ? NOT_PERMITTED : NO_BUSY_POLLING;
		queue |= threads[i].poll_queue;
	}
	return queue ? INTERRUPTS : NO_QUEUE;
}

int polled_put(const struct load_thread *threads, uint32_t n, uint64_t before,
	       struct event_sink *sink, uint64_t now)
{
	const uint64_t after = polled_packets(), packets = after > before ? after - before : 0;
	enum reason reason = polled_reason(threads, n);
	char text[24];

	if (threads->config->role != ROLE_LATENCY)
		return 0;
	if (reason == INTERRUPTS && (before == POLLED_UNKNOWN || after == POLLED_UNKNOWN))
		reason = UNKNOWN;
	/*
	 * Ignore the counter if these threads cannot have polled: it covers the network namespace,
	 * so it may include other programs' busy polling.
	 */
	if (reason != INTERRUPTS || !packets)
		return event_put_fact(sink, now, LOAD_FACT_POLLED, reasons[reason].word);
	snprintf(text, sizeof(text), "%" PRIu64, packets);
	return event_put_fact(sink, now, LOAD_FACT_POLLED, text);
}

int polled_parse(const char *value, uint64_t *packets, const char **why)
{
	*packets = 0;
	*why = NULL;
	if (!parse_u64(value, packets))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(reasons) && !*why; i++)
		if (!strcmp(value, reasons[i].word))
			*why = reasons[i].why;
	return *why ? 0 : -EBADMSG;
}
