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
#include "probe/connection/diag_conns.h"
#include "probe/connection/diag_state.h"

#define BUFFER_SIZE (64 << 10)  /* the kernel sends dumps in datagrams of up to 32 KiB */
#define TIMEOUT_S   5
#define SPARE_FILES 16          /* descriptors that stay free for other uses */
#define LEFT_NAMED  32          /* maximum of namespaces named as unavailable */
/*
 * Pause between searches for namespaces or owners: SEARCH_PAUSE_NS or, if longer, SEARCH_PAUSES
 * times the last search's CPU time.
 */
#define SEARCH_PAUSE_NS NS_PER_S
#define SEARCH_PAUSES   200

struct diag_netns {
	struct diag_ns ns;
	int fd;
	bool seen;              /* the last listing found the namespace */
};

struct conns_diag {
	struct conn_delta delta;
	struct diag_conns conns;
	struct diag_netns_list VEC_OF(struct diag_netns *) netns;
	struct strbuf missing;  /* values not measured, as lines "name: why"; not reported yet */
	struct diag_left VEC_OF(uint64_t) left; /* inodes of namespaces that cannot be dumped */
	bool left_more;         /* the line for all namespaces beyond LEFT_NAMED was written */
	uint64_t started;
	uint64_t next_list, next_owners;
	uint64_t credit;        /* connections that may be read: quotas since a read last dumped */
	bool looked;            /* connections were read since the last conns_diag_looked() */
	uint32_t seq;
	void *buffer;
};

static uint64_t diag_next_time(uint64_t before)
{
	const uint64_t pause = SEARCH_PAUSES * (clock_thread_cpu() - before);

	return clock_now() + (pause > SEARCH_PAUSE_NS ? pause : SEARCH_PAUSE_NS);
}

/* ---- dumps ---- */

struct diag_visit {
	struct conns_diag *diag;
	struct diag_ns *ns;
	uint32_t sample_us;
};

static int diag_visit_socket(void *ctx, const struct diag_sock *sock)
{
	struct diag_visit *v = ctx;

	diag_conns_update(&v->diag->conns, v->ns, sock, v->sample_us);
	return 0;
}

static int diag_dump_netns(struct conns_diag *d, struct diag_netns *netns, uint32_t sample_us)
{
	const struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
	struct diag_visit visit = { d, &netns->ns, sample_us };
	struct diag_request request;
	ssize_t n;
	int err = 0;

	diag_ns_begin(&netns->ns, clock_now());
	diag_ask(&request, ++d->seq);
	if (sendto(netns->fd, &request, sizeof(request), 0, (const struct sockaddr *)&kernel,
		   sizeof(kernel)) < 0)
		return -errno;
	while (!err) {
		netns->ns.time = clock_now();
		n = recv(netns->fd, d->buffer, BUFFER_SIZE, MSG_TRUNC);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || n > BUFFER_SIZE)
			return n < 0 ? -errno : -EMSGSIZE;
		err = diag_read(d->buffer, (size_t)n, d->seq, diag_visit_socket, &visit);
	}
	if (err < 0)
		return err;
	netns->ns.complete = true;
	return 0;
}

/*
 * Dumps all namespaces. Sets *again if connections are missing for the first time: as one dump may
 * skip some, another must decide.
 */
static int diag_dump_all(struct conns_diag *d, uint32_t sample_us, bool *again)
{
	int err = 0;

	vec_for_each(&d->netns, netns)
		err = err ?: diag_dump_netns(d, *netns, sample_us);
	if (!err)
		*again = diag_conns_settle(&d->conns);
	return err;
}

/* ---- namespaces ---- */

static struct diag_netns *diag_find_netns(struct conns_diag *d, uint64_t inode)
{
	vec_for_each(&d->netns, netns)
		if ((*netns)->ns.inode == inode)
			return *netns;
	return NULL;
}

static int diag_open_netns(struct conns_diag *d, const struct host_netns *ns)
{
	const struct timeval limit = { .tv_sec = TIMEOUT_S };
	struct diag_netns *netns;
	int fd = host_netns_socket(ns, AF_NETLINK, SOCK_DGRAM, NETLINK_SOCK_DIAG), err;
	struct rlimit files;

	if (fd < 0)
		return fd;
	/* leave some descriptors: listing namespaces and owners needs them */
	if (!getrlimit(RLIMIT_NOFILE, &files) && (rlim_t)fd + SPARE_FILES >= files.rlim_cur) {
		close(fd);
		return -EMFILE;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	netns = calloc(1, sizeof(*netns));
	err = netns ? vec_push(&d->netns, netns) : -ENOMEM;
	if (err) {
		free(netns);
		close(fd);
		return err;
	}
	netns->ns.inode = (uint32_t)ns->inode;
	netns->fd = fd;
	netns->seen = true;
	return 0;
}

/*
 * Closes the sockets of removed namespaces, which the sockets would keep alive, and ends the
 * connections of these namespaces.
 */
static void diag_close_gone(struct conns_diag *d)
{
	size_t left = 0;
	bool some = false;

	vec_for_each(&d->netns, netns)
		some |= (*netns)->ns.gone = !(*netns)->seen;
	if (!some)
		return;
	diag_conns_settle(&d->conns);
	for (size_t i = 0; i < d->netns.len; i++) {
		struct diag_netns *netns = d->netns.items[i];

		if (netns->seen) {
			d->netns.items[left++] = netns;
			continue;
		}
		close(netns->fd);
		free(netns);
	}
	d->netns.len = left;
}

/*
 * Adds a line to `missing` for each unavailable namespace once; after LEFT_NAMED (32) namespaces,
 * one line stands for all others.
 */
static void diag_note_missing(struct conns_diag *d, const struct host_netns *ns, int err)
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

/* Writes facts from the lines in `missing`, and clears these. Returns 0 or -errno. */
static int diag_put_missing(struct conns_diag *d, uint64_t time, struct event_sink *sink)
{
	int err = conn_delta_put_missing(strbuf_str(&d->missing), time, sink);

	strbuf_reset(&d->missing);
	return err;
}

/*
 * Opens new namespaces and closes removed ones. `first`: also notes if hostlat may enter no
 * namespace except its own.
 */
static int diag_list_netns(struct conns_diag *d, bool first)
{
	const bool may = host_may(NULL, CAP_SYS_ADMIN);
	struct host_netns_vec list;
	uint64_t before = clock_thread_cpu();
	int err = host_netns_list(NULL, &list);

	if (err) {
		host_netns_vec_release(&list);
		return err;
	}
	host_netns_vec_release(&d->delta.namespaces);
	d->delta.namespaces = list;
	vec_for_each(&d->netns, netns)
		(*netns)->seen = host_netns_find(&list, (*netns)->ns.inode) != NULL;
	for (size_t i = 0; i < list.len; i++) {
		const struct host_netns *ns = &list.items[i];

		if ((!may && !ns->own) || diag_find_netns(d, ns->inode))
			continue;
		err = diag_open_netns(d, ns);
		/* -ESTALE and -ESRCH: the namespace has ended meanwhile */
		if (err && err != -ESTALE && err != -ESRCH)
			diag_note_missing(d, ns, err);
	}
	diag_close_gone(d);
	if (first && !may)
		strbuf_puts(&d->missing, "connections of other network namespaces: entering them "
					 "needs CAP_SYS_ADMIN\n");
	d->next_list = diag_next_time(before);
	return d->netns.len ? 0 : err ?: -ENOENT;
}

/* ---- owners ---- */

struct diag_owned {
	uint32_t inode;
	struct diag_conn *conn;
};

struct diag_owners {
	struct diag_owned *items;    /* sorted by inode */
	size_t n;
	pid_t pid;              /* process id of the process named `comm` */
	char comm[HOST_COMM_MAX];
};

static int diag_compare_inodes(const void *a, const void *b)
{
	const struct diag_owned *x = a, *y = b;

	return x->inode < y->inode ? -1 : x->inode > y->inode;
}

static int diag_visit_owner(void *ctx, pid_t pid, uint64_t inode)
{
	struct diag_owners *o = ctx;
	const struct diag_owned key = { .inode = (uint32_t)inode };
	const struct diag_owned *found =
		inode <= UINT32_MAX
			? bsearch(&key, o->items, o->n, sizeof(key), diag_compare_inodes)
			: NULL;
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

/* Searches for unknown owners of connections, if a connection is new since the last search. */
static int diag_find_owners(struct conns_diag *d)
{
	struct diag_owners owners = { 0 };
	uint64_t before = clock_thread_cpu();
	struct diag_conn *c;
	bool some = false;
	size_t at = 0;

	owners.items = calloc(d->conns.table.n + 1, sizeof(*owners.items));
	if (!owners.items)
		return -ENOMEM;
	while ((c = conn_table_next(&d->conns.table, &at))) {
		if (c->pid || !c->inode)
			continue;
		some |= !c->asked;
		c->asked = true;
		owners.items[owners.n++] = (struct diag_owned){ c->inode, c };
	}
	if (some) {
		qsort(owners.items, owners.n, sizeof(*owners.items), diag_compare_inodes);
		host_socket_each(NULL, diag_visit_owner, &owners);
	}
	free(owners.items);
	d->next_owners = diag_next_time(before);
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
	err = diag_dump_all(d, us < 1 ? 1 : us < UINT32_MAX ? (uint32_t)us : UINT32_MAX, &again);
	pass->members = d->conns.table.n;
	pass->cpu_ns = clock_thread_cpu() - before;
	return err ? err : d->delta.err;
}

/*
 * Lists namespaces and finds owners of connections, each if its pause is over. `last`: finds owners
 * in any case, as no later call may come.
 */
static int diag_refresh(struct conns_diag *d, bool last)
{
	int err = clock_now() >= d->next_list ? diag_list_netns(d, false) : 0;

	if (!err && d->delta.sink)
		err = diag_put_missing(d, clock_now(), d->delta.sink);
	return !err && (last || clock_now() >= d->next_owners) ? diag_find_owners(d) : err;
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
	d->credit = all ? d->conns.table.n : d->credit + quota;
	if (d->credit < d->conns.table.n)
		return 0;
	d->credit = 0;
	err = diag_refresh(d, all); /* not timed: no part of the pass's cost */
	before = clock_thread_cpu();
	if (!err)
		err = diag_dump_all(d, 0, &again);
	if (!err && all && again) /* one dump may skip connections, and no later read may come */
		err = diag_dump_all(d, 0, &again);
	if (!err)
		pass->reported = diag_conns_report(&d->conns);
	d->looked |= !err;
	pass->members = d->conns.table.n;
	pass->cpu_ns = clock_thread_cpu() - before;
	return err ? err : d->delta.err;
}

bool conns_diag_looked(struct conns_diag *d)
{
	const bool looked = d->looked;

	d->looked = false;
	return looked;
}

void conns_diag_output(struct conns_diag *d, struct event_sink *sink, struct event_dict *dict)
{
	d->delta.sink = sink;
	d->delta.dict = dict;
}

bool conns_diag_block(struct conns_diag *d, struct event_block *block)
{
	return conn_delta_block(&d->delta, block);
}

void conns_diag_cover(struct conns_diag *d, enum conn_level level, bool sampled, uint64_t now)
{
	conn_cover_set(&d->delta.cover[level], sampled, now);
}

void conns_diag_gap(struct conns_diag *d, enum conn_level level, uint64_t from, uint64_t to,
		    uint64_t ns)
{
	conn_cover_gap(&d->delta.cover[level], from, to, ns);
}

void conns_diag_aim(struct conns_diag *d, enum conn_level level, double hz)
{
	d->delta.hz[level] = hz;
}

void conns_diag_members(const struct conns_diag *d, uint64_t members[LEVELS])
{
	for (int i = 0; i < LEVELS; i++)
		members[i] = i == LEVEL_HOT ? d->conns.table.n : 0;
}

void conns_diag_lost(const struct conns_diag *d, struct conns_lost *lost)
{
	*lost = (struct conns_lost){ .no_memory = d->conns.no_memory };
}

/* ---- life ---- */

/* Stores the size of the kernel's TCP_INFO, which inet_diag sends too. Returns 0 or -errno. */
static int diag_read_info_size(uint32_t *size)
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

static void diag_list_unknown(struct conns_diag *d, uint32_t size)
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
			strbuf_printf(&d->missing, "%s: not reported by inet_diag\n",
				      bits[i].what);
	strbuf_puts(&d->missing,
		    "pacing and this host's own queue, apart from the congestion window: not "
		    "reported by inet_diag\n"
		    "delayed ACKs after a timeout: inet_diag does not report single "
		    "retransmissions\n"
		    "socket options (TCP_NODELAY, buffer sizes that were set): inet_diag does not "
		    "report socket options\n"
		    "connections that begin and end between two dumps: only BPF programs see "
		    "these; of other closed connections, the activity after their last dump is "
		    "missing\n");
}

static int diag_start(struct conns_diag *d, char *why, size_t size)
{
	uint32_t info_size;
	bool again;
	int err = diag_read_info_size(&info_size);

	if (err)
		return err;
	if (!diag_has(info_size, bytes_retrans)) {
		snprintf(why, size, "this kernel's inet_diag reports too little about connections: "
			 "Linux 4.19 or later is needed");
		return -EOPNOTSUPP;
	}
	d->delta.tick_ns = 1000; /* inet_diag's chronographs are in us, not in ticks */
	diag_list_unknown(d, info_size);
	err = diag_list_netns(d, true);
	d->started = clock_now();
	if (!err)
		err = diag_dump_all(d, 0, &again) ?: diag_dump_all(d, 0, &again);
	if (err == -ENOENT || err == -EOPNOTSUPP)
		snprintf(why, size, "this kernel has no inet_diag for TCP");
	return err ? err : diag_find_owners(d);
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
	vec_init(&d->netns, HOST_NETNS_MAX);
	vec_init(&d->left, HOST_NETNS_MAX);
	diag_conns_init(&d->conns, &d->delta);
	err = conn_delta_init(&d->delta);
	d->buffer = malloc(BUFFER_SIZE);
	if (!d->buffer)
		err = -ENOMEM;
	if (!err)
		err = diag_start(d, why, size);
	if (err) {
		if (!why[0])
			snprintf(why, size, "cannot query inet_diag: %s", strerror(-err));
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
	vec_for_each(&d->netns, netns) {
		close((*netns)->fd);
		free(*netns);
	}
	vec_release(&d->netns);
	vec_release(&d->left);
	diag_conns_release(&d->conns);
	conn_delta_release(&d->delta);
	strbuf_release(&d->missing);
	free(d->buffer);
	free(d);
}

int conns_diag_describe(struct conns_diag *d, struct event_sink *sink)
{
	return diag_put_missing(d, d->started, sink);
}
