/* SPDX-License-Identifier: Apache-2.0 */
/* The server's threads and listening sockets. */
#include "load/serve.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "load/serve_conn.h"
#include "net/listen.h"

#define EVENTS_MAX 256
#define ACCEPTS_AT_ONCE 64
#define PAUSE_MS 100 /* pause after accept() failed for lack of descriptors */

struct serve_thread {
	struct serve_context context;
	pthread_t id;
	bool started;
	int timer;
	uint64_t armed_ns;
	struct epoll_event events[EVENTS_MAX];
};

struct listener {
	int fd;
	struct net_address address;
};

struct serve {
	struct serve_shared shared;
	int wake; /* eventfd that is readable when the server ends */
	struct net_tls_context *tls; /* NULL: no TLS */
	struct listener listeners[SERVE_ADDRESSES_MAX];
	uint32_t n_listeners;
	int epoll[SERVE_THREADS_MAX]; /* descriptors of epoll sets; -1: none */
	struct serve_thread *threads[SERVE_THREADS_MAX];
	uint32_t n_threads, next;
	uint64_t accepted, not_accepted, above_limit, idle, open;
	uint32_t most_conns;
	uint64_t idle_ns; /* time after which an idle connection is closed; 0: never */
};

/* epoll tags of descriptors that are no connections. */
static const char wake_tag, timer_tag;

/* ---- One thread ---- */

/* Sets the timer, which also clears its expiration count. UINT64_MAX: disarms it. */
static void serve_arm_timer(struct serve_thread *t, uint64_t at_ns)
{
	struct itimerspec when = { 0 };

	if (at_ns == t->armed_ns)
		return;
	t->armed_ns = at_ns;
	if (at_ns != UINT64_MAX) {
		when.it_value.tv_sec = (time_t)(at_ns / NS_PER_S);
		when.it_value.tv_nsec = (long)(at_ns % NS_PER_S);
	}
	timerfd_settime(t->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Waits for events once and handles them. Returns false when the server ends or after an error. */
static bool serve_turn(struct serve_thread *t)
{
	int n = epoll_wait(t->context.epoll, t->events, t->context.one_shot ? 1 : EVENTS_MAX, -1);
	bool on = true;

	for (int i = 0; i < n; i++) {
		void *tag = t->events[i].data.ptr;

		if (tag == &wake_tag)
			on = false;
		else if (tag != &timer_tag)
			serve_conn_event(&t->context, tag, t->events[i].events);
	}
	if (!t->context.one_shot)
		serve_arm_timer(t, serve_conn_due(&t->context));
	serve_conn_sweep(&t->context);
	return on && (n >= 0 || errno == EINTR);
}

static void *serve_thread_main(void *arg)
{
	struct serve_thread *t = arg;

	while (serve_turn(t))
		;
	return NULL;
}

static int serve_watch(int epoll, int fd, const char *tag)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = (void *)(uintptr_t)tag };

	return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static int serve_thread_new(struct serve *s, const struct serve_config *config, int epoll,
			    uint64_t seed)
{
	struct serve_thread *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	s->threads[s->n_threads++] = t;
	t->armed_ns = UINT64_MAX;
	t->timer = -1;
	err = serve_context_init(&t->context, &s->shared, epoll,
				 config->spin && config->workers > 1, seed);
	if (err || config->spin)
		return err;
	t->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	return t->timer < 0 ? -errno : serve_watch(epoll, t->timer, &timer_tag);
}

static void serve_thread_free(struct serve_thread *t)
{
	if (!t)
		return;
	if (t->timer >= 0)
		close(t->timer);
	serve_context_release(&t->context);
	free(t);
}

/* ---- Making ---- */

static int listen_error(int err, const char *text, struct strbuf *why)
{
	switch (err) {
	case -EADDRINUSE:
		strbuf_printf(why, "%s: another program listens on this address; stop that "
			      "program, or choose another port (0: any free port)", text);
		break;
	case -EADDRNOTAVAIL:
		strbuf_printf(why, "%s: this host does not have that address", text);
		break;
	case -EACCES:
		strbuf_printf(why,
			      "%s: not permitted; ports below 1024 and folders of other users need "
			      "root",
			      text);
		break;
	default:
		strbuf_printf(why, "%s: %s", text, strerror(-err));
	}
	return err;
}

static int add_listener(struct serve *s, const char *text, struct strbuf *why)
{
	const struct serve_protocol *p = s->shared.protocol;
	struct listener *l = &s->listeners[s->n_listeners];
	bool datagram;

	if (net_listen_parse(text, &l->address)) {
		strbuf_printf(why, "'%s' is not an address: use %s", text, NET_LISTEN_TAKES);
		return -EINVAL;
	}
	datagram = l->address.type == SOCK_DGRAM;
	if (datagram ? !p->datagram : !p->stream) {
		strbuf_printf(why, "%s: %s works over %s only", text, p->name,
			      datagram ? "TCP and Unix sockets" : "UDP (udp:127.0.0.1:9000)");
		return -EINVAL;
	}
	l->fd = net_listen(&l->address);
	if (l->fd < 0)
		return listen_error(l->fd, text, why);
	s->n_listeners++;
	return 0;
}

static int add_epoll(struct serve *s, uint32_t i)
{
	s->epoll[i] = epoll_create1(EPOLL_CLOEXEC);
	return s->epoll[i] < 0 ? -errno : serve_watch(s->epoll[i], s->wake, &wake_tag);
}

/* Spinning workers share an epoll set; other threads have one each, with their own connections. */
static int add_threads(struct serve *s, const struct serve_config *config)
{
	uint32_t n = config->spin ? config->workers : config->threads;
	int err = 0;

	BUG_ON(!n || n > SERVE_THREADS_MAX);
	for (uint32_t i = 0; i < n && !err; i++) {
		uint32_t set = config->spin ? 0 : i;

		if (set == i)
			err = add_epoll(s, i);
		if (!err)
			err = serve_thread_new(s, config, s->epoll[set], config->seed + i);
	}
	return err;
}

/* Adds datagram sockets. Each is handled like a connection that never ends. */
static int add_datagrams(struct serve *s)
{
	int err = 0;

	for (uint32_t i = 0; i < s->n_listeners && !err; i++) {
		struct net_stream stream = { .datagram = true };

		if (s->listeners[i].address.type != SOCK_DGRAM)
			continue;
		stream.fd = s->listeners[i].fd;
		err = serve_conn_new(&s->threads[s->next++ % s->n_threads]->context, &stream);
		if (!err)
			s->listeners[i].fd = -1;
	}
	return err;
}

static int serve_init_shared(struct serve_shared *shared, const struct serve_config *config)
{
	const struct serve_protocol *p = &serve_protocols[config->protocol];

	shared->protocol = p;
	shared->service = config->service;
	shared->stall = config->stall;
	shared->spin = config->spin;
	shared->amplify = config->amplify;
	/*
	 * Reply at once if no request can have a service time: only requests of SYNTHETIC and R2P2
	 * can ask for one.
	 */
	shared->at_once = !config->spin && !config->service.kind && !config->stall.length_ns &&
			  config->protocol != SERVE_SYNTHETIC && config->protocol != SERVE_R2P2;
	shared->settings.reply_size = config->reply_size;
	snprintf(shared->settings.page, sizeof(shared->settings.page),
		 "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %u\r\n\r\n",
		 config->reply_size);
	rng_init(&shared->rng, config->seed);
	list_init(&shared->conns);
	pthread_mutex_init(&shared->lock, NULL);
	return serve_queue_init(&shared->queue, config->workers, &config->stall);
}

static int add_tls(struct serve *s, const struct serve_config *config, struct strbuf *why)
{
	const struct net_tls_config tls = {
		.server = true, .cert_file = config->tls_cert, .key_file = config->tls_key,
	};

	return config->tls_cert ? net_tls_context_new(&s->tls, &tls, why) : 0;
}

int serve_new(struct serve **out, const struct serve_config *config, struct strbuf *why)
{
	struct serve *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	memset(s->epoll, -1, sizeof(s->epoll));
	s->most_conns = config->most_conns;
	s->idle_ns = config->idle_ns;
	err = serve_init_shared(&s->shared, config);
	s->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!err && s->wake < 0)
		err = -errno;
	for (uint32_t i = 0; i < config->n_addresses && !err; i++)
		err = add_listener(s, config->addresses[i], why);
	if (!err)
		err = add_tls(s, config, why);
	if (!err)
		err = add_threads(s, config);
	if (!err)
		err = add_datagrams(s);
	if (err && !why->len)
		strbuf_printf(why, "cannot serve: %s", strerror(-err));
	if (err)
		serve_free(s);
	else
		*out = s;
	return err;
}

void serve_addresses(const struct serve *s, struct strbuf *out)
{
	for (uint32_t i = 0; i < s->n_listeners; i++) {
		if (i)
			strbuf_putc(out, ' ');
		net_listen_text(&s->listeners[i].address, out);
	}
}

/* ---- Accepting ---- */

/* Accepts a connection. Returns 0, -EAGAIN if there is none, or another error. */
static int accept_one(struct serve *s, int fd)
{
	struct net_stream stream = { .fd = net_accept(fd) };
	int err = 0;

	if (stream.fd < 0)
		return stream.fd;
	if (serve_conn_count(&s->shared) >= s->most_conns) {
		s->above_limit++;
		close(stream.fd);
		return 0;
	}
	if (s->tls)
		err = net_tls_new(&stream.tls, s->tls, "", NULL) ?:
		      net_stream_handshake_begin(&stream);
	if (!err)
		err = serve_conn_new(&s->threads[s->next++ % s->n_threads]->context, &stream);
	if (err) {
		net_tls_free(stream.tls);
		net_stream_close(&stream);
	} else {
		s->accepted++;
	}
	return err;
}

/* Accepts waiting connections. Returns how long to pause after an error, in ms; 0: none. */
static int accept_some(struct serve *s, int fd)
{
	for (int i = 0; i < ACCEPTS_AT_ONCE; i++) {
		int err = accept_one(s, fd);

		if (err == -EAGAIN)
			return 0;
		if (err == -EMFILE || err == -ENFILE || err == -ENOMEM || err == -ENOBUFS) {
			s->not_accepted++;
			return PAUSE_MS;
		}
	}
	return 0;
}

/* Returns the interval, in ms, for checking idle connections, at most idle_ns / 8; -1: never. */
static int look_ms(const struct serve *s)
{
	const uint64_t ms = s->idle_ns / 8 / NS_PER_MS;

	if (!s->idle_ns)
		return -1;
	return ms < 1 ? 1 : ms > 60000 ? 60000 : (int)ms;
}

static int accept_all(struct serve *s, int stop_fd)
{
	struct pollfd fds[SERVE_ADDRESSES_MAX + 1] = { { .fd = stop_fd, .events = POLLIN } };
	const int look = look_ms(s);
	int pause = 0;

	for (uint32_t i = 0; i < s->n_listeners; i++)
		fds[i + 1] = (struct pollfd){ .fd = s->listeners[i].fd, .events = POLLIN };
	for (;;) {
		int n = poll(fds, pause ? 1 : s->n_listeners + 1, pause ? pause : look);

		if (s->idle_ns)
			s->idle += serve_conn_end_idle(&s->shared, s->idle_ns);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n > 0 && fds[0].revents)
			return 0;
		if (pause) {
			pause = 0;
			continue;
		}
		for (uint32_t i = 1; n > 0 && i <= s->n_listeners && !pause; i++) {
			if (fds[i].revents)
				pause = accept_some(s, fds[i].fd);
		}
	}
}

static void end_threads(struct serve *s)
{
	__atomic_store_n(&s->shared.stop, true, __ATOMIC_RELAXED);
	eventfd_write(s->wake, 1);
	for (uint32_t i = 0; i < s->n_threads; i++) {
		if (s->threads[i]->started)
			pthread_join(s->threads[i]->id, NULL);
		s->threads[i]->started = false;
	}
	s->open = serve_conn_close_all(&s->shared);
}

int serve_run(struct serve *s, int stop_fd)
{
	int err = 0;

	for (uint32_t i = 0; i < s->n_threads && !err; i++) {
		err = -pthread_create(&s->threads[i]->id, NULL, serve_thread_main, s->threads[i]);
		s->threads[i]->started = !err;
	}
	if (!err)
		err = accept_all(s, stop_fd);
	end_threads(s);
	return err;
}

/* ---- The end of the server ---- */

static void serve_add_counts(struct serve_counts *to, const struct serve_counts *from)
{
	to->requests += from->requests;
	to->replies += from->replies;
	to->received += from->received;
	to->sent += from->sent;
	to->busy_ns += from->busy_ns;
	to->closed += from->closed;
	to->reset += from->reset;
	to->garbled += from->garbled;
	to->refused += from->refused;
	to->unsent += from->unsent;
	to->amplifying += from->amplifying;
}

int serve_totals(struct serve *s, struct serve_totals *out)
{
	int err = 0;

	*out = (struct serve_totals){
		.accepted = s->accepted, .not_accepted = s->not_accepted,
		.above_limit = s->above_limit, .idle = s->idle, .open = s->open,
	};
	hist_init(&out->lag, s->threads[0]->context.lag.schema);
	hist_init(&out->latency, s->threads[0]->context.latency.schema);
	for (uint32_t i = 0; i < s->n_threads && !err; i++) {
		const struct serve_context *x = &s->threads[i]->context;

		serve_add_counts(&out->counts, &x->counts);
		out->waiting += x->agenda.heap.len;
		err = hist_merge(&out->lag, &x->lag) ?: hist_merge(&out->latency, &x->latency);
	}
	return err;
}

void serve_free(struct serve *s)
{
	if (!s)
		return;
	serve_conn_close_all(&s->shared);
	for (uint32_t i = 0; i < s->n_threads; i++)
		serve_thread_free(s->threads[i]);
	for (uint32_t i = 0; i < SERVE_THREADS_MAX; i++) {
		if (s->epoll[i] >= 0)
			close(s->epoll[i]);
	}
	for (uint32_t i = 0; i < s->n_listeners; i++)
		net_listen_close(s->listeners[i].fd, &s->listeners[i].address);
	if (s->wake >= 0)
		close(s->wake);
	net_tls_context_free(s->tls);
	serve_queue_release(&s->shared.queue);
	pthread_mutex_destroy(&s->shared.lock);
	free(s);
}
