/* SPDX-License-Identifier: Apache-2.0 */
#include "load/reach.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"
#include "load/dial.h"
#include "load/worker.h"

#define ROUND_NS (10 * NS_PER_MS)
/*
 * Limits of the time, in ns, for which all connections must stay open before the run. The time
 * follows from the slowest connection setup: if the server closes a connection at once, the close
 * arrives about as late.
 */
#define STAY_LEAST_NS (20 * NS_PER_MS)
#define IS_RUNNING "; is the server running, and is the URL right?"
#define STAY_MOST_NS (500 * NS_PER_MS)

struct reach {
	struct load_thread *threads;
	uint32_t n;
	uint32_t open, conns; /* open connections and all connections, over all threads */
	uint64_t shut;
	uint64_t slowest_ns;
};

static bool reach_stopped(int stop_fd)
{
	struct pollfd fd = { .fd = stop_fd, .events = POLLIN };

	return stop_fd >= 0 && poll(&fd, 1, 0) > 0;
}

/* ---- reasons of failures ---- */

/*
 * Returns the number of open connections, without connections that were reopened because the server
 * had closed them without a reply.
 */
static uint32_t reach_staying(const struct reach *reach)
{
	uint32_t n = 0;

	for (const struct load_thread *t = reach->threads; t < reach->threads + reach->n; t++) {
		for (uint32_t i = 0; i < t->n_conns; i++)
			n += t->conns[i].state == CONN_OPEN && !t->conns[i].shut;
	}
	return n;
}

static void add_causes(const struct reach *reach, struct causes *causes)
{
	*causes = (struct causes){ 0 };
	for (uint32_t i = 0; i < reach->n; i++)
		causes_add(causes, &reach->threads[i].causes);
}

static void reach_put_target(const struct load_target *target, struct strbuf *why)
{
	if (target->target.unix_socket)
		strbuf_puts(why, target->target.host);
	else
		strbuf_printf(why, "%s port %s", target->host, target->port);
	strbuf_puts(why, ": ");
}

static void reach_explain_shut(const struct reach *reach, struct strbuf *why)
{
	const uint32_t stay = reach_staying(reach);
	const struct load_cause *top;
	struct causes causes;

	add_causes(reach, &causes);
	top = causes_top(&causes, CAUSE_CONNECTION);
	if (stay)
		strbuf_printf(why, "%u of %u connections stay open; the server closes the other "
				   "connections",
			      stay, reach->conns);
	else if (top && !strcmp(top->name, CAUSE_GARBLED))
		strbuf_puts(why, "the server sends unsolicited bytes that violate the protocol");
	else
		strbuf_puts(why, "the server accepts connections and closes them without a reply");
	if (top && *top->text)
		strbuf_printf(why, strcmp(top->name, CAUSE_GARBLED) ? ": '%s'" : ": %s",
			      top->text);
	if (stay)
		strbuf_printf(why, " (use --connections %u, or raise the server's limit)", stay);
}

/* Returns the size of net.ipv4.ip_local_port_range in this network namespace; 0: unknown. */
static unsigned int local_ports(void)
{
	FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
	unsigned int low = 0, high = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%5u %5u", &low, &high) != 2 || high < low)
		high = low = 0;
	fclose(file);
	return high ? high - low + 1 : 0;
}

static void reach_explain_ports(const struct reach *reach, const struct load_thread *t,
				struct strbuf *why)
{
	const uint32_t sources = sources_count(t->sources);
	const unsigned int ports = local_ports();

	strbuf_printf(why, "no local port is left after %u of %u connections", reach->open,
		      reach->conns);
	if (ports)
		strbuf_printf(why, " (net.ipv4.ip_local_port_range has %u%s)", ports,
			      sources ? " for each address of --bind" : "");
	strbuf_printf(why, "; use fewer --connections, %s--bind, or widen the range",
		      sources ? "more addresses of " : "several addresses of this host by ");
}

static void reach_explain_backlog(const struct reach *reach, uint64_t timeout_ns,
				  struct strbuf *why)
{
	strbuf_printf(why, "only %u of %u connections could be opened within %.3g s, and the "
		      "server did not answer the other attempts: its backlog may be full; use "
		      "fewer --connections", reach->open, reach->conns,
		      (double)timeout_ns / NS_PER_S);
}

/* Names each address of a target with its error. */
static void reach_explain_addresses(const struct load_target *target, struct strbuf *why)
{
	for (uint32_t i = 0; i < target->n_addresses; i++) {
		strbuf_puts(why, i ? ", " : "");
		net_address_text(&target->addresses[i], why);
		strbuf_printf(why, ": %s", strerror(-target->errors[i]));
	}
	strbuf_puts(why, IS_RUNNING);
}

static void reach_explain_refusal(const struct load_target *target, const char *refusal,
				  struct strbuf *why)
{
	if (target->protocol->session)
		strbuf_printf(why, "the server does not speak HTTP/2: %s", refusal);
	else if (target->target.resp3 &&
		 (!strncmp(refusal, "NOPROTO", 7) || strstr(refusal, "unknown command")))
		strbuf_printf(why, "the server does not speak RESP3, which begins with Redis 6 "
				   "(remove ?protocol=3 to measure with RESP2): %s", refusal);
	else
		strbuf_printf(why, "the server refuses the user%s: %s",
			      target->target.database ? ", the password or the database" :
							" or the password", refusal);
}

static void reach_explain(const struct reach *reach, const struct load_thread *t, int err,
			  struct strbuf *why)
{
	const struct load_conn *c = t->dial_failed;
	const bool tls = c && c->stream.tls && *net_tls_error(c->stream.tls);

	if (!c) {
		strbuf_puts(why, strerror(-err));
		return;
	}
	reach_put_target(c->target, why);
	if (*t->greeting_refusal)
		reach_explain_refusal(c->target, t->greeting_refusal, why);
	else if (err == -EADDRNOTAVAIL && !c->target->target.unix_socket)
		reach_explain_ports(reach, t, why);
	else if (err == -ETIMEDOUT && t->dial_state == CONN_GREETING)
		strbuf_puts(why, "the server did not answer the first bytes of the connection "
			    "within --timeout; is the URL right?");
	else if (err == -ETIMEDOUT && t->dial_state == CONN_TLS)
		strbuf_puts(why, "the server did not complete the TLS handshake within --timeout; "
			    "does the server speak TLS?");
	else if (err == -ETIMEDOUT && reach->open)
		reach_explain_backlog(reach, t->config->timeout_ns, why);
	else if (tls)
		strbuf_printf(why, "TLS: %s%s", net_tls_error(c->stream.tls),
			      err == -EKEYREJECTED ? REACH_UNTRUSTED : "");
	else if (c->target->n_addresses > 1)
		reach_explain_addresses(c->target, why);
	else if (c->target->target.cluster)
		strbuf_printf(why, "%s; the cluster gives this address to its clients: is it valid "
				   "on this host (cluster-announce-ip)?", strerror(-err));
	else
		strbuf_printf(why, "%s" IS_RUNNING, strerror(-err));
}

/* ---- connections ---- */

static struct load_thread *round_of_all(struct reach *reach)
{
	struct load_thread *failed = NULL;

	reach->open = reach->conns = 0;
	reach->shut = 0;
	for (struct load_thread *t = reach->threads; t < reach->threads + reach->n; t++) {
		if (worker_serve(t, ROUND_NS / reach->n) && !failed)
			failed = t;
		reach->open += t->n_open;
		reach->conns += t->n_conns;
		reach->shut += t->shut;
		if (t->slowest_dial_ns > reach->slowest_ns)
			reach->slowest_ns = t->slowest_dial_ns;
	}
	return failed;
}

static uint64_t stay_ns(const struct reach *reach)
{
	const uint64_t ns = 2 * reach->slowest_ns;

	return ns < STAY_LEAST_NS ? STAY_LEAST_NS : ns > STAY_MOST_NS ? STAY_MOST_NS : ns;
}

static bool all_without_network(const struct reach *reach)
{
	for (const struct load_thread *t = reach->threads; t < reach->threads + reach->n; t++) {
		for (uint32_t i = 0; i < t->n_conns; i++) {
			if (!t->conns[i].target->protocol->no_network)
				return false;
		}
	}
	return true;
}

int reach_connect(struct load_thread *threads, uint32_t n, int stop_fd, struct strbuf *why)
{
	struct reach reach = { .threads = threads, .n = n };
	const uint64_t timeout_ns = threads->config->timeout_ns;
	uint64_t begin = clock_now(), stable_since = 0, progress = begin, shut = 0, now;
	const struct load_thread *failed;
	uint32_t most = 0;

	for (uint32_t i = 0; i < n; i++) {
		threads[i].phase = PHASE_CONNECT;
		dial_begin(&threads[i]);
	}
	for (;;) {
		failed = round_of_all(&reach);
		if (failed) {
			reach_explain(&reach, failed, failed->dial_error, why);
			return failed->dial_error;
		}
		if (reach_stopped(stop_fd))
			return -EINTR;
		now = clock_now();
		if (reach.open < reach.conns || reach.shut != shut)
			stable_since = 0;
		else if (!stable_since)
			stable_since = now;
		shut = reach.shut;
		if (stable_since &&
		    (now - stable_since >= stay_ns(&reach) || all_without_network(&reach)))
			return 0;
		if (reach.open > most) {
			most = reach.open;
			progress = now;
		}
		if (shut && !stable_since && now - progress >= timeout_ns) {
			reach_put_target(threads->conns->target, why);
			reach_explain_shut(&reach, why);
			return -ECONNABORTED;
		}
	}
}

/* ---- keys ---- */

static void reach_explain_not_stored(const struct load_thread *t, int err, struct strbuf *why)
{
	const struct load_cause *top = causes_top(&t->causes, CAUSE_REQUEST);

	if (err != -EREMOTEIO) {
		strbuf_puts(why, strerror(-err));
		return;
	}
	if (top && !strcmp(top->name, CAUSE_TIMEOUT))
		strbuf_puts(why, "the server did not store the keys within --timeout");
	else
		strbuf_puts(why, "the server refused to store the keys");
	if (top && *top->text)
		strbuf_printf(why, ": '%s'", top->text);
}

int reach_preload(struct load_thread *threads, uint32_t n, int stop_fd, struct strbuf *why)
{
	const struct reach reach = { .threads = threads, .n = n };
	int ret;

	for (struct load_thread *t = threads; t < threads + n; t++) {
		t->phase = PHASE_PRELOAD;
		do {
			ret = worker_prepare(t, ROUND_NS);
			if (!ret && reach_stopped(stop_fd))
				return -EINTR;
		} while (!ret);
		if (ret < 0 && t->dial_failed)
			reach_explain(&reach, t, ret, why);
		else if (ret < 0)
			reach_explain_not_stored(t, ret, why);
		if (ret < 0)
			return ret;
	}
	return 0;
}
