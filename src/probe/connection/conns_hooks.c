/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/conns_hooks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/bug.h"
#include "probe/common/hook.h"
#include "bpf/abi_calls.h"
#include "bpf/conns.skel.h"

#define WHY_MAX 320

/*
 * A BPF program with its hook, the fields that the hook makes known, and the consequence if the
 * kernel lacks the hook.
 */
struct conns_hook {
	const char *program, *target;
	enum hook_kind kind;
	enum { WANTED, NEEDED, INSTEAD /* used if previous hooks are refused */, IF_PRESENT } how;
	uint32_t known;
	const char *what, *without;
	const char *map; /* a map that the program needs; NULL: none */
	bool below_tls;  /* the hook sees calls below TLS, which changes their size */
	/* program for kernels whose tracepoint passes fewer than `arguments`; NULL: none */
	const char *older;
	uint32_t arguments;
};

#define TRACEPOINT(name) .kind = HOOK_TP_BTF, .target = name
#define FEXIT(name) .kind = HOOK_FEXIT, .target = name
#define ITERATOR(name) .kind = HOOK_ITERATOR, .target = name
#define CALLS .known = CONN_KNOWS_CALLS, .what = "calls", \
	.without = "how often and how much the application reads and writes, and the peer's " \
		   "delayed acknowledgements, are unknown"
#define LOSSES .known = CONN_KNOWS_LOSSES, .what = "losses", \
	.without = "fast retransmissions, probes and stalls are unknown"

/*
 * Hooks of the BPF programs. Of a row and the INSTEAD rows below it, the first that this kernel
 * accepts is loaded, at its row's target. A renamed tracepoint is one more such row, with the same
 * program.
 */
static const struct conns_hook conn_hooks[] = {
	{ .program = "conn_state", TRACEPOINT("inet_sock_set_state"), .how = NEEDED,
	  .what = "connections",
	  .without = "hostlat uses inet_diag, which reports less about connections" },
	{ .program = "conn_send", TRACEPOINT("sock_send_length"), CALLS },
	{ .program = "conn_send_fexit", FEXIT("tcp_sendmsg"), .how = INSTEAD, CALLS,
	  .below_tls = true },
	{ .program = "conn_sendpage", FEXIT("tcp_sendpage"), .how = IF_PRESENT,
	  .what = "calls of sendfile",
	  .without = "bytes sent by sendfile() are not attributed to a send call" },
	{ .program = "conn_recv", TRACEPOINT("sock_recv_length"), CALLS },
	{ .program = "conn_recv_fexit", FEXIT("tcp_recvmsg"), .how = INSTEAD, CALLS,
	  .below_tls = true },
	{ .program = "conn_retransmit", TRACEPOINT("tcp_retransmit_skb"), LOSSES,
	  .older = "conn_retransmit_two", .arguments = 3 },
	{ .program = "conn_congestion", TRACEPOINT("tcp_cong_state_set"), LOSSES },
	{ .program = "conn_timer", TRACEPOINT("timer_expire_entry"), .known = CONN_KNOWS_DELACKS,
	  .what = "delayed ACKs", .map = "timers",
	  .without = "delayed acknowledgements of this host are not counted" },
	{ .program = "conn_ops", .kind = HOOK_SOCKOPS, .target = "root of cgroup2",
	  .what = "round trips",
	  .without = "round trips, timeouts and the peer's delayed acknowledgements are unknown" },
	{ .program = "conn_existing", ITERATOR("tcp"), .what = "earlier connections",
	  .without = "connections that were open before hostlat started are not followed" },
	{ .program = "conn_owner", ITERATOR("task_file"), .what = "owners",
	  .without = "the application of a connection is unknown until it reads or writes" },
	{ 0 },
};

struct conns_selection {
	struct conns_bpf *skel;
	const struct refusals *refused;
	struct strbuf *absent;
	char why[WHY_MAX];  /* reason why the last tried hook is not used */
};

static struct bpf_program *conns_hooks_program(const struct conns_selection *s, const char *name)
{
	return bpf_object__find_program_by_name(s->skel->obj, name);
}

/* Selects the hook's program if the kernel accepts the hook; else s->why has the reason. */
static bool conns_hooks_try(struct conns_selection *s, const struct conns_hook *row)
{
	const struct hook hook = { .kind = row->kind, .target = row->target };
	bool older = row->older && hook_arguments(&hook) < row->arguments;
	const char *name = older ? row->older : row->program;
	struct bpf_program *program = conns_hooks_program(s, name);
	const char *refused = refusals_of(s->refused, name) ?:
			      row->map ? refusals_of(s->refused, row->map) : NULL;

	int err;

	if (refused) {
		snprintf(s->why, sizeof(s->why), "program %s at %s: %s", name, row->target,
			 refused);
		return false;
	}
	err = hook_try(&hook, s->why, sizeof(s->why));
	if (err)
		return false;
	err = hook_select_program(program, row->kind, row->target);
	if (err)
		snprintf(s->why, sizeof(s->why), "program %s at %s: %s", name, row->target,
			 strerror(-err));
	return !err;
}

/* ---- where records lie ---- */

#define TABLE_CONNECTIONS 131072 /* maximum of connections per hash table of records */
/* keys per table, including those of removed records; a power of two */
#define TABLE_KEYS (2 * TABLE_CONNECTIONS)

struct conns_record_maps {
	struct bpf_map *storage, *table, *keys /* ring of keys; NULL: records are not iterated */;
};

#define RECORDS_KINDS 6

static void conns_hooks_list_records(const struct conns_bpf *skel,
				     struct conns_record_maps of[RECORDS_KINDS])
{
	const struct conns_record_maps all[RECORDS_KINDS] = {
		{ skel->maps.conns, skel->maps.conns_table, skel->maps.conns_keys },
		{ skel->maps.idle_conns, skel->maps.idle_conns_table, skel->maps.idle_conns_keys },
		{ skel->maps.rtts, skel->maps.rtts_table, NULL },
		{ skel->maps.warm, skel->maps.warm_table, skel->maps.warm_keys },
		{ skel->maps.hot, skel->maps.hot_table, skel->maps.hot_keys },
		{ skel->maps.logged, skel->maps.logged_table, NULL },
	};

	memcpy(of, all, sizeof(all));
}

static bool conns_hooks_can_use_storage(const struct conns_bpf *skel,
					const struct refusals *refused)
{
	static const char *const visits[] = { "conn_visit", "conn_visit_rest" };
	const struct hook hook = { .kind = HOOK_ITERATOR, .target = "bpf_sk_storage_map" };
	struct conns_record_maps of[RECORDS_KINDS];
	char why[WHY_MAX];
	bool takes = !hook_try(&hook, why, sizeof(why));

	conns_hooks_list_records(skel, of);
	for (size_t i = 0; i < RECORDS_KINDS; i++)
		takes &= !refusals_of(refused, bpf_map__name(of[i].storage));
	for (size_t i = 0; i < ARRAY_LEN(visits); i++)
		takes &= !refusals_of(refused, visits[i]);
	return takes;
}

/* A map that only one feature needs. */
struct conns_extra_map {
	struct bpf_map *map;
	const volatile bool *lacks; /* variable of the BPF programs: the map is missing */
	const char *what, *without;
};

static void conns_hooks_select_extras(struct conns_selection *s)
{
	const struct conns_extra_map extras[] = {
		{ s->skel->maps.mptcp_owners, &s->skel->rodata->lacks_mptcp_owners,
		  "owners of MPTCP connections",
		  "the application of an MPTCP connection is unknown" },
		{ s->skel->maps.timers, &s->skel->rodata->lacks_timers, NULL, NULL },
		{ s->skel->maps.listeners, &s->skel->rodata->lacks_listeners,
		  "which end opened earlier connections",
		  "connections open before hostlat started count as opened by this host" },
	};

	for (size_t i = 0; i < ARRAY_LEN(extras); i++) {
		const struct conns_extra_map *x = &extras[i];
		const char *refused = refusals_of(s->refused, bpf_map__name(x->map));

		*(volatile bool *)x->lacks = refused;
		if (!refused)
			continue;
		bpf_map__set_autocreate(x->map, false);
		if (x->what) /* NULL: the loss is reported with the program that needs the map */
			strbuf_printf(s->absent, "%s: map %s is %s; without it, %s\n",
				      x->what, bpf_map__name(x->map), refused, x->without);
	}
}

static int conns_hooks_skip_table(const struct conns_record_maps *of)
{
	return bpf_map__set_autocreate(of->table, false) ?:
	       of->keys ? bpf_map__set_autocreate(of->keys, false) : 0;
}

static int conns_hooks_size_table(const struct conns_record_maps *of)
{
	return bpf_map__set_autocreate(of->storage, false) ?:
	       bpf_map__set_max_entries(of->table, TABLE_CONNECTIONS) ?:
	       of->keys ? bpf_map__set_max_entries(of->keys, TABLE_KEYS) : 0;
}

/* Puts records into socket storage, or into tables if the kernel refuses storage or iterators. */
static int conns_hooks_select_records(struct conns_selection *s, char *why, size_t size)
{
	static const struct conns_hook walk = { .program = "conn_walk", .kind = HOOK_RUN,
					   .target = "passes over tables" };
	bool storage = conns_hooks_can_use_storage(s->skel, s->refused);
	struct conns_record_maps of[RECORDS_KINDS];
	int err = 0;

	conns_hooks_list_records(s->skel, of);
	s->skel->rodata->in_tables = !storage;
	s->skel->rodata->key_ring_mask = TABLE_KEYS - 1;
	bpf_program__set_autoload(s->skel->progs.conn_visit, storage);
	bpf_program__set_autoload(s->skel->progs.conn_visit_rest, storage);
	bpf_program__set_autoload(s->skel->progs.conn_walk, false);
	for (size_t i = 0; i < RECORDS_KINDS && !err; i++) {
		err = storage ? conns_hooks_skip_table(&of[i]) : conns_hooks_size_table(&of[i]);
	}
	if (!storage && !conns_hooks_try(s, &walk)) {
		snprintf(why, size, "this kernel offers no way to read connection records: neither "
			 "an iterator over bpf_sk_storage_map nor a program that user space runs "
			 "(%s)", s->why);
		return -ENOENT;
	}
	return err;
}

bool conns_hooks_permitted(void)
{
	return host_may(NULL, CAP_SYS_ADMIN) ||
	       (host_may(NULL, CAP_BPF) && host_may(NULL, CAP_PERFMON) &&
		host_may(NULL, CAP_NET_ADMIN));
}

/*
 * Selects the program of a hook in conn_hooks[], or else of the first of its INSTEAD alternatives
 * that the kernel accepts. Returns the selected hook; or NULL, and in s->why the reason why the
 * first hook is not used.
 */
static const struct conns_hook *conns_hooks_pick(struct conns_selection *s,
						 const struct conns_hook *row)
{
	char first[WHY_MAX];

	if (conns_hooks_try(s, row))
		return row;
	snprintf(first, sizeof(first), "%s", s->why);
	for (row++; row->program && row->how == INSTEAD; row++)
		if (conns_hooks_try(s, row))
			return row;
	snprintf(s->why, sizeof(s->why), "%s", first);
	return NULL;
}

/* Selects all programs. A counter is known if each hook that feeds the counter is loaded. */
static int conns_hooks_select_all(struct conns_selection *s, struct conn_delta *delta, char *why,
				  size_t size)
{
	uint32_t missing = 0;

	for (const struct conns_hook *row = conn_hooks; row->program; row++) {
		bpf_program__set_autoload(conns_hooks_program(s, row->program), false);
		if (row->older)
			bpf_program__set_autoload(conns_hooks_program(s, row->older), false);
	}
	for (const struct conns_hook *row = conn_hooks; row->program; row++) {
		const struct conns_hook *picked;

		if (row->how == INSTEAD ||
		    (row->how == IF_PRESENT && hook_btf_id(row->kind, row->target) <= 0))
			continue;
		picked = conns_hooks_pick(s, row);
		delta->known |= row->known;
		if (picked) {
			delta->calls_below_tls |= picked->below_tls;
			continue;
		}
		if (row->how == NEEDED && !conns_hooks_permitted())
			return -EPERM;
		if (row->how == NEEDED) {
			snprintf(why, size, "cannot follow connections: %s", s->why);
			return -ENOENT;
		}
		missing |= row->known;
		strbuf_printf(s->absent, "%s: %s; without it, %s\n", row->what, s->why,
			      row->without);
	}
	delta->known |= CONN_COUNTS_ALL;
	delta->known &= ~missing;
	return 0;
}

int conns_hooks_select(struct conns_bpf *skel, const struct refusals *refused,
		       struct conn_delta *delta, struct strbuf *absent, char *why, size_t size)
{
	struct conns_selection s = { .skel = skel, .refused = refused, .absent = absent };
	int err;

	strbuf_reset(absent);
	delta->known = 0;
	delta->calls_below_tls = false;
	err = conns_hooks_select_all(&s, delta, why, size);
	conns_hooks_select_extras(&s);
	return err ? err : conns_hooks_select_records(&s, why, size);
}

/* ---- for doctor ---- */

struct conns_trial {
	const char *name;
	int err;
	const char *takes;
	const char *found; /* description of the hook if the kernel accepts it; else the reason */
};

static void conns_hooks_add_trial(struct cap_vec *caps, const struct conns_trial *t)
{
	if (!t->err)
		cap_add(caps, "conns", t->name, CAP_YES, NULL, "%s", t->found);
	else if (!conns_hooks_permitted())
		cap_add(caps, "conns", t->name, CAP_UNKNOWN,
			"CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN: run as root (sudo)",
			"not permitted to try");
	else
		cap_add(caps, "conns", t->name, CAP_NO, t->takes, "%s",
			*t->found ? t->found : strerror(-t->err));
}

static int conns_hooks_add_cap(struct cap_vec *caps, const struct conns_hook *row,
			       const char *takes)
{
	const struct hook hook = { .kind = row->kind, .target = row->target };
	char text[WHY_MAX];
	struct conns_trial t = { .name = row->what, .takes = takes, .found = text };

	t.err = hook_try(&hook, text, sizeof(text));
	if (!t.err)
		snprintf(text, sizeof(text), "%s %s", hook_kind_name(row->kind), row->target);
	conns_hooks_add_trial(caps, &t);
	if (t.err && takes)
		cap_without(caps, row->without);
	return t.err;
}

/* Adds each hook to `caps`. A hook with an alternative is needed only if that is refused. */
static void conns_hooks_add_caps(struct cap_vec *caps)
{
	int err = 0;

	for (const struct conns_hook *p = conn_hooks; p->program; p++) {
		if (p->how == IF_PRESENT && hook_btf_id(p->kind, p->target) < 0)
			continue;
		err = conns_hooks_add_cap(caps, p, p->how == INSTEAD && !err ? NULL :
					  "a kernel that permits one of its hooks");
	}
}

/* Loads all programs as `conns` does at its start; attaches none. Returns 0 or -errno. */
static int conns_hooks_load_all(bool *in_tables, char *why, size_t size)
{
	struct strbuf absent = STRBUF_INIT(4096);
	struct refusals refused = { 0 };
	struct conn_delta delta = { 0 };
	struct conns_bpf *skel = NULL;
	int err;

	do {
		conns_bpf__destroy(skel);
		skel = conns_bpf__open();
		err = skel ? conns_hooks_select(skel, &refused, &delta, &absent, why, size) :
			     -errno;
		if (!err)
			*in_tables = skel->rodata->in_tables;
		if (!err)
			err = refusals_load(&refused, skel->skeleton);
	} while (err == -EAGAIN);
	conns_bpf__destroy(skel);
	strbuf_release(&absent);
	return err;
}

void conns_caps(struct cap_vec *caps)
{
	static const struct conns_hook storage = {
		.what = "records beside sockets", .kind = HOOK_ITERATOR,
		.target = "bpf_sk_storage_map",
		.without = "connection records are in hash tables, whose lookups take longer",
	};
	bool in_tables = false;
	char why[WHY_MAX] = "";
	struct conns_trial all = {
		.name = "all programs", .found = why,
		.takes = "Linux 6.1 with BTF; the rows above show what is missing",
	};

	conns_hooks_add_caps(caps);
	conns_hooks_add_cap(caps, &storage, "a kernel that permits it");
	all.err = conns_hooks_load_all(&in_tables, why, sizeof(why));
	if (!all.err)
		snprintf(why, sizeof(why), "loaded, with records %s",
			 in_tables ? "in tables" : "beside sockets");
	conns_hooks_add_trial(caps, &all);
}
