/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/conns_diag.h"

#include <errno.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/strbuf.h"
#include "clock/clock.h"
#include "host/cap.h"
#include "host/netns.h"
#include "host/pids.h"
#include "host/sockets.h"
#include "probe/connection/diag_kept.h"
#include "probe/connection/diag_state.h"

#define BUFFER_SIZE (64 << 10)  /* the kernel fills dumps up to 32 KiB a datagram */
#define TIMEOUT_S   5
#define SPARE_FILES 16          /* descriptors that no namespace gets */
#define LEFT_NAMED  32          /* namespaces that can't be asked and are named */
#define PAUSE_NS    NS_PER_S    /* the least between two searches for owners, or namespaces, */
#define PAUSES      200         /* ... and so many times what the last one has cost */

struct diag_place {
	struct diag_ns ns;
	int fd;
	bool seen;              /* it is in the list of namespaces */
};

struct conns_diag {
	struct conns_told told;
	struct diag_kept kept;
	struct diag_places VEC_OF(struct diag_place *) places;
	struct strbuf missing;  /* lines "name: why" that are not told yet */
	struct diag_left VEC_OF(uint64_t) left; /* inodes of namespaces that can't be asked */
	bool left_more;         /* it is told that there are more than are named */
	uint64_t started;
	uint64_t next_list, next_owners;
	uint64_t credit;        /* connections that may be read */
	bool looked;            /* they were, since conns_diag_looked() */
	uint32_t seq;
	void *buffer;
};

static uint64_t next_time(uint64_t before)
{
	const uint64_t pause = PAUSES * (clock_thread_cpu() - before);

	return clock_now() + (pause > PAUSE_NS ? pause : PAUSE_NS);
}

/* ---- dumps ---- */

struct visit {
	struct conns_diag *diag;
	struct diag_ns *ns;
	uint32_t sample_us;
};

static int visit_sock(void *ctx, const struct diag_sock *sock)
{
	struct visit *v = ctx;

	diag_kept_take(&v->diag->kept, v->ns, sock, v->sample_us);
	return 0;
}

static int dump(struct conns_diag *d, struct diag_place *place, uint32_t sample_us)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct visit visit = { d, &place->ns, sample_us };
	struct diag_request request;
	ssize_t n;
	int err = 0;

	diag_ns_begin(&place->ns, clock_now());
	diag_ask(&request, ++d->seq);
	if (sendto(place->fd, &request, sizeof(request), 0, (const struct sockaddr *)&kernel,
		   sizeof(kernel)) < 0)
		return -errno;
	while (!err) {
		place->ns.time = clock_now();
		n = recv(place->fd, d->buffer, BUFFER_SIZE, MSG_TRUNC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || n > BUFFER_SIZE)
			return n < 0 ? -errno : -EMSGSIZE;
		err = diag_read(d->buffer, (size_t)n, d->seq, visit_sock, &visit);
	}
	if (err < 0)
		return err;
	place->ns.complete = true;
	return 0;
}

/* `again`: there are connections that only this pass has not seen. */
static int dump_all(struct conns_diag *d, uint32_t sample_us, bool *again)
{
	int err = 0;

	vec_for_each(&d->places, place)
		err = err ?: dump(d, *place, sample_us);
	if (!err)
		*again = diag_kept_settle(&d->kept);
	return err;
}

/* ---- namespaces ---- */

static struct diag_place *place_of(struct conns_diag *d, uint64_t inode)
{
	vec_for_each(&d->places, place)
		if ((*place)->ns.inode == inode)
			return *place;
	return NULL;
}

static int add_place(struct conns_diag *d, const struct host_netns *ns)
{
	const struct timeval limit = { .tv_sec = TIMEOUT_S };
	struct diag_place *place;
	int fd = host_netns_socket(ns, AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG), err;
	struct rlimit files;

	if (fd < 0)
		return fd;
	/* Lists of namespaces and owners need descriptors, too. */
	if (!getrlimit(RLIMIT_NOFILE, &files) && (rlim_t)fd + SPARE_FILES >= files.rlim_cur) {
		close(fd);
		return -EMFILE;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	place = calloc(1, sizeof(*place));
	err = place ? vec_push(&d->places, place) : -ENOMEM;
	if (err) {
		free(place);
		close(fd);
		return err;
	}
	place->ns.inode = (uint32_t)ns->inode;
	place->fd = fd;
	place->seen = true;
	return 0;
}

/* Our socket would keep it: what was in it has ended. */
static void leave_places(struct conns_diag *d)
{
	size_t left = 0;
	bool some = false;

	vec_for_each(&d->places, place)
		some |= (*place)->ns.gone = !(*place)->seen;
	if (!some)
		return;
	diag_kept_settle(&d->kept);
	for (size_t i = 0; i < d->places.len; i++) {
		struct diag_place *place = d->places.items[i];

		if (place->seen) {
			d->places.items[left++] = place;
			continue;
		}
		close(place->fd);
		free(place);
	}
	d->places.len = left;
}

/* Once of each namespace; of all after the first LEFT_NAMED, one line. */
static void say_missing(struct conns_diag *d, const struct host_netns *ns, int err)
{
	const char *advice = err == -EMFILE ? " (raise the limit with ulimit -n)" : "";

	vec_for_each(&d->left, inode)
		if (*inode == ns->inode)
			return;
	if (vec_push(&d->left, ns->inode) || d->left.len > LEFT_NAMED) {
		if (!d->left_more)
			strbuf_printf(&d->missing, "connections in more namespaces: %s%s\n",
				      strerror(-err), advice);
		d->left_more = true;
		return;
	}
	strbuf_printf(&d->missing, "connections in namespace %s: %s%s\n", ns->name,
		      strerror(-err), advice);
}

/* What the last listing has found missing. */
static int put_missing(struct conns_diag *d, uint64_t time, struct event_sink *sink)
{
	int err = conns_missing_put(strbuf_str(&d->missing), time, sink);

	strbuf_reset(&d->missing);
	return err;
}

/* `first`: it is told that others than the own one can't be entered. */
static int list_places(struct conns_diag *d, bool first)
{
	const bool may = host_may(NULL, CAP_SYS_ADMIN);
	struct host_netns_vec list;
	uint64_t before = clock_thread_cpu();
	int err = host_netns_list(NULL, &list);

	if (err) {
		host_netns_vec_release(&list);
		return err;
	}
	host_netns_vec_release(&d->told.namespaces);
	d->told.namespaces = list;
	vec_for_each(&d->places, place)
		(*place)->seen = host_netns_find(&list, (*place)->ns.inode) != NULL;
	for (size_t i = 0; i < list.len; i++) {
		const struct host_netns *ns = &list.items[i];

		if ((!may && !ns->own) || place_of(d, ns->inode))
			continue;
		err = add_place(d, ns);
		if (err && err != -ESTALE && err != -ESRCH) /* it has ended meanwhile */
			say_missing(d, ns, err);
	}
	leave_places(d);
	if (first && !may)
		strbuf_puts(&d->missing, "connections of other network namespaces: entering them "
					 "needs CAP_SYS_ADMIN\n");
	d->next_list = next_time(before);
	return d->places.len ? 0 : err ?: -ENOENT;
}

/* ---- owners ---- */

struct owned {
	uint32_t inode;
	struct diag_conn *conn;
};

struct owners {
	struct owned *items;    /* by inode */
	size_t n;
	pid_t pid;              /* whose name `comm` is */
	char comm[HOST_COMM_MAX];
};

static int compare_inodes(const void *a, const void *b)
{
	const struct owned *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static int visit_owner(void *ctx, pid_t pid, uint64_t inode)
{
	struct owners *o = ctx;
	const struct owned key = { .inode = (uint32_t)inode };
	const struct owned *found = inode <= UINT32_MAX ?
				    bsearch(&key, o->items, o->n, sizeof(key), compare_inodes) :
				    NULL;
	struct diag_conn *c = found ? found->conn : NULL;

	if (!c || c->pid)
		return 0;
	if (o->pid != pid && host_pid_comm(NULL, pid, o->comm, sizeof(o->comm)))
		return 0;
	o->pid = pid;
	c->pid = (uint32_t)pid;
	memset(c->comm, 0, sizeof(c->comm));
	memcpy(c->comm, o->comm, strnlen(o->comm, sizeof(c->comm) - 1));
	return 0;
}

/* Connections whose owner is not known; those that nobody seems to have are asked for no more. */
static int find_owners(struct conns_diag *d)
{
	struct owners owners = { 0 };
	uint64_t before = clock_thread_cpu();
	struct diag_conn *c;
	bool some = false;
	size_t at = 0;

	owners.items = calloc(d->kept.table.n + 1, sizeof(*owners.items));
	if (!owners.items)
		return -ENOMEM;
	while ((c = conn_table_next(&d->kept.table, &at))) {
		if (c->pid || !c->inode)
			continue;
		some |= !c->asked;
		c->asked = true;
		owners.items[owners.n++] = (struct owned){ c->inode, c };
	}
	if (some) {
		qsort(owners.items, owners.n, sizeof(*owners.items), compare_inodes);
		host_socket_each(NULL, visit_owner, &owners);
	}
	free(owners.items);
	d->next_owners = next_time(before);
	return 0;
}

/* ---- passes ---- */

int conns_diag_sample(struct conns_diag *d, enum conn_level level, double sample_ns,
		      struct conns_pass *pass)
{
	const double us = sample_ns / 1000;
	uint64_t before = clock_thread_cpu();
	bool again;
	int err;

	*pass = (struct conns_pass){ .ended = true };
	if (level != LEVEL_HOT)
		return 0;
	err = dump_all(d, us < 1 ? 1 : us < UINT32_MAX ? (uint32_t)us : UINT32_MAX, &again);
	pass->members = d->kept.table.n;
	pass->cpu_ns = clock_thread_cpu() - before;
	return err ? err : d->told.err;
}

/* `last`: there may be no other time to find owners. */
static int look_around(struct conns_diag *d, bool last)
{
	int err = clock_now() >= d->next_list ? list_places(d, false) : 0;

	if (!err && d->told.sink)
		err = put_missing(d, clock_now(), d->told.sink);
	return !err && (last || clock_now() >= d->next_owners) ? find_owners(d) : err;
}

int conns_diag_read(struct conns_diag *d, enum conn_level level, uint64_t quota,
		    struct conns_pass *pass)
{
	const bool all = quota == UINT64_MAX;
	uint64_t before;
	bool again;
	int err;

	*pass = (struct conns_pass){ .ended = true };
	if (level != LEVEL_HOT)
		return 0;
	d->credit = all ? d->kept.table.n : d->credit + quota;
	if (d->credit < d->kept.table.n)
		return 0;
	d->credit = 0;
	err = look_around(d, all); /* it is no part of what a reading costs */
	before = clock_thread_cpu();
	if (!err)
		err = dump_all(d, 0, &again);
	if (!err && all && again) /* there may be no other pass */
		err = dump_all(d, 0, &again);
	if (!err)
		pass->told = diag_kept_tell(&d->kept);
	d->looked |= !err;
	pass->members = d->kept.table.n;
	pass->cpu_ns = clock_thread_cpu() - before;
	return err ? err : d->told.err;
}

bool conns_diag_looked(struct conns_diag *d)
{
	const bool looked = d->looked;

	d->looked = false;
	return looked;
}

void conns_diag_output(struct conns_diag *d, struct event_sink *sink, struct event_dict *dict)
{
	d->told.sink = sink;
	d->told.dict = dict;
}

bool conns_diag_block(struct conns_diag *d, struct event_block *block)
{
	return conns_told_block(&d->told, block);
}

void conns_diag_cover(struct conns_diag *d, enum conn_level level, bool sampled, uint64_t now)
{
	conn_cover_set(&d->told.cover[level], sampled, now);
}

void conns_diag_gap(struct conns_diag *d, enum conn_level level, uint64_t from, uint64_t to,
		    uint64_t ns)
{
	conn_cover_gap(&d->told.cover[level], from, to, ns);
}

void conns_diag_aim(struct conns_diag *d, enum conn_level level, double hz)
{
	d->told.hz[level] = hz;
}

void conns_diag_members(const struct conns_diag *d, uint64_t members[LEVELS])
{
	for (int i = 0; i < LEVELS; i++)
		members[i] = i == LEVEL_HOT ? d->kept.table.n : 0;
}

void conns_diag_lost(const struct conns_diag *d, struct conns_lost *lost)
{
	*lost = (struct conns_lost){ .no_memory = d->kept.no_memory };
}

/* ---- life ---- */

/* How much this kernel tells of a connection: as much as of any socket. */
static int info_size(uint32_t *size)
{
	struct diag_info info;
	socklen_t len = sizeof(info);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len))
		err = -errno;
	close(fd);
	*size = len;
	return err;
}

static void list_missing(struct conns_diag *d, uint32_t size)
{
	static const struct {
		uint32_t bit;
		const char *what;
	} bits[] = {
		{ CONN_KNOWS_TIMES, "times and states" },
		{ CONN_KNOWS_CALLS, "calls" },
		{ CONN_KNOWS_RTT, "single round trips" },
		{ CONN_KNOWS_LOSSES, "fast retransmissions, loss probes and stalls" },
		{ CONN_KNOWS_RTO, "timeouts" },
		{ CONN_KNOWS_DELACKS, "delayed ACKs" },
		{ CONN_KNOWS_PEER_DELACKS, "the peer's delayed ACKs" },
		{ CONN_KNOWS_SPURIOUS, "spurious retransmissions" },
		{ CONN_KNOWS_RCV_WND, "the receive window" },
	};
	const uint32_t known = diag_known(size, true);

	for (size_t i = 0; i < ARRAY_LEN(bits); i++)
		if (!(known & bits[i].bit))
			strbuf_printf(&d->missing, "%s: inet_diag does not tell\n", bits[i].what);
	strbuf_puts(&d->missing,
		    "socket options (TCP_NODELAY, buffer sizes that were set): inet_diag does not "
		    "tell\n"
		    "connections that end before they are looked at: only BPF programs see them; "
		    "what others did after they were seen last is not told\n");
}

static int start(struct conns_diag *d, char *why, size_t size)
{
	uint32_t told;
	bool again;
	int err = info_size(&told);

	if (!err && !diag_has(told, bytes_retrans)) {
		snprintf(why, size, "inet_diag of this kernel tells too little of connections: "
			 "Linux 4.19 is needed");
		return -EOPNOTSUPP;
	}
	d->told.tick_ns = 1000; /* as struct conn_now has it */
	list_missing(d, told);
	if (!err)
		err = list_places(d, true);
	d->started = clock_now();
	if (!err)
		err = dump_all(d, 0, &again) ?: dump_all(d, 0, &again);
	if (err == -ENOENT || err == -EOPNOTSUPP)
		snprintf(why, size, "this kernel has no inet_diag for TCP");
	return err ? err : find_owners(d);
}

int conns_diag_open(struct conns_diag **out, char *why, size_t size)
{
	struct conns_diag *d = calloc(1, sizeof(*d));
	int err;

	*out = NULL;
	why[0] = '\0';
	if (!d)
		return -ENOMEM;
	strbuf_init(&d->missing, 65536);
	vec_init(&d->places, HOST_NETNS_MAX);
	vec_init(&d->left, HOST_NETNS_MAX);
	diag_kept_init(&d->kept, &d->told);
	err = conns_told_init(&d->told);
	d->buffer = malloc(BUFFER_SIZE);
	if (!d->buffer)
		err = -ENOMEM;
	if (!err)
		err = start(d, why, size);
	if (err) {
		if (!why[0])
			snprintf(why, size, "inet_diag can't be asked: %s", strerror(-err));
		conns_diag_free(d);
		return err;
	}
	*out = d;
	return 0;
}

void conns_diag_free(struct conns_diag *d)
{
	if (!d)
		return;
	vec_for_each(&d->places, place) {
		close((*place)->fd);
		free(*place);
	}
	vec_release(&d->places);
	vec_release(&d->left);
	diag_kept_release(&d->kept);
	conns_told_release(&d->told);
	strbuf_release(&d->missing);
	free(d->buffer);
	free(d);
}

int conns_diag_describe(struct conns_diag *d, struct event_sink *sink)
{
	return put_missing(d, d->started, sink);
}
