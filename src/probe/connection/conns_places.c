/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/conns_places.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
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

/* A program, what its hook makes known, and what becomes of it without the hook. */
struct place {
	const char *program;
	enum hook_kind kind;
	const char *target;
	enum { NEEDED, WANTED, INSTEAD /* of the one before */, WHERE_IT_IS } how;
	uint32_t known;
	const char *what, *without;
	const char *also; /* a map or another form of the program, needed as well; NULL: none */
};

#define CALLS CONN_KNOWS_CALLS
#define NO_CALLS "how often and how much the application reads and writes, and the peer's " \
	"delayed acknowledgements, are unknown"
#define NO_LOSSES "fast retransmissions, probes and stalls are unknown"

/* The first of a thing's places that this kernel takes is loaded. */
static const struct place places[] = {
	{ "conn_state", HOOK_TP_BTF, "inet_sock_set_state", NEEDED, 0, "connections",
	  "inet_diag is asked for connections, which knows less of them", NULL },
	{ "conn_send", HOOK_TP_BTF, "sock_send_length", WANTED, CALLS, "calls", NO_CALLS, NULL },
	{ "conn_send_fexit", HOOK_FEXIT, "tcp_sendmsg", INSTEAD, CALLS, "calls", NO_CALLS, NULL },
	{ "conn_sendpage", HOOK_FEXIT, "tcp_sendpage", WHERE_IT_IS, 0, "calls of sendfile",
	  "what sendfile sends is in no call", NULL },
	{ "conn_recv", HOOK_TP_BTF, "sock_recv_length", WANTED, CALLS, "calls", NO_CALLS, NULL },
	{ "conn_recv_fexit", HOOK_FEXIT, "tcp_recvmsg", INSTEAD, CALLS, "calls", NO_CALLS, NULL },
	{ "conn_retransmit", HOOK_TP_BTF, "tcp_retransmit_skb", WANTED, CONN_KNOWS_LOSSES,
	  "losses", NO_LOSSES, "conn_retransmit_two" },
	{ "conn_congestion", HOOK_TP_BTF, "tcp_cong_state_set", WANTED, CONN_KNOWS_LOSSES,
	  "losses", NO_LOSSES, NULL },
	{ "conn_timer", HOOK_TP_BTF, "timer_expire_entry", WANTED, CONN_KNOWS_DELACKS,
	  "delayed ACKs", "delayed acknowledgements of this host are not counted", "timers" },
	{ "conn_ops", HOOK_SOCKOPS, "root of cgroup2", WANTED, 0, "round trips",
	  "round trips, timeouts and the peer's delayed acknowledgements are unknown", NULL },
	{ "conn_existing", HOOK_ITERATOR, "tcp", WANTED, 0, "connections from before",
	  "connections that were open before hostlat began are not followed", NULL },
	{ "conn_owner", HOOK_ITERATOR, "task_file", WANTED, 0, "owners",
	  "the application of a connection is unknown until it reads or writes", NULL },
};

/* Arguments of a tracepoint, as the kernel's types have them; 0: not known. */
static int arguments_of(const char *tracepoint)
{
	const struct btf *btf = hook_kernel_btf();
	const struct btf_type *t;
	char name[128];
	int id;

	snprintf(name, sizeof(name), "btf_trace_%s", tracepoint);
	id = btf ? btf__find_by_name_kind(btf, name, BTF_KIND_TYPEDEF) : -ENOENT;
	if (id < 0)
		return 0;
	t = btf__type_by_id(btf, btf__type_by_id(btf, (__u32)id)->type); /* a pointer */
	t = btf__type_by_id(btf, t->type);
	return btf_is_func_proto(t) ? btf_vlen(t) - 1 : 0; /* the first is the tracer's own */
}

struct selection {
	struct conns_bpf *skel;
	const struct refusals *refused;
	struct strbuf *absent;
	char why[WHY_MAX];  /* the place that was tried last is not taken */
};

static bool is_taken(struct selection *s, const struct place *place, bool needed)
{
	const struct hook hook = { .kind = place->kind, .target = place->target };
	struct bpf_program *program = bpf_object__find_program_by_name(s->skel->obj,
								       place->program);
	const char *refused = refusals_of(s->refused, place->program) ?:
			      place->also ? refusals_of(s->refused, place->also) : NULL;
	bool taken = needed && !refused && !hook_try(&hook, s->why, sizeof(s->why));

	if (needed && refused)
		snprintf(s->why, sizeof(s->why), "program %s at %s: %s", place->program,
			 place->target, refused);
	bpf_program__set_autoload(program, taken);
	return taken;
}

/* ---- where records lie ---- */

#define TABLE_CONNECTIONS 131072 /* of records in tables */
#define TABLE_KEYS (2 * TABLE_CONNECTIONS) /* a power of two; keys of records that are gone, too */

struct records {
	struct bpf_map *storage, *table, *keys /* NULL: no pass visits them */;
};

#define RECORDS_KINDS 6

static void list_records(const struct conns_bpf *skel, struct records of[RECORDS_KINDS])
{
	const struct records all[RECORDS_KINDS] = {
		{ skel->maps.kept, skel->maps.kept_table, skel->maps.kept_keys },
		{ skel->maps.quiet, skel->maps.quiet_table, skel->maps.quiet_keys },
		{ skel->maps.rtts, skel->maps.rtts_table, NULL },
		{ skel->maps.warm, skel->maps.warm_table, skel->maps.warm_keys },
		{ skel->maps.hot, skel->maps.hot_table, skel->maps.hot_keys },
		{ skel->maps.logged, skel->maps.logged_table, NULL },
	};

	memcpy(of, all, sizeof(all));
}

static bool takes_storage(const struct conns_bpf *skel, const struct refusals *refused)
{
	static const char *const visits[] = { "conn_visit", "conn_visit_rest" };
	const struct hook hook = { .kind = HOOK_ITERATOR, .target = "bpf_sk_storage_map" };
	struct records of[RECORDS_KINDS];
	char why[WHY_MAX];
	bool takes = !hook_try(&hook, why, sizeof(why));

	list_records(skel, of);
	for (size_t i = 0; i < RECORDS_KINDS; i++)
		takes &= !refusals_of(refused, bpf_map__name(of[i].storage));
	for (size_t i = 0; i < ARRAY_LEN(visits); i++)
		takes &= !refusals_of(refused, visits[i]);
	return takes;
}

/* Maps that a thing needs, and the rest does not. */
struct extra {
	struct bpf_map *map;
	const volatile bool *lacks; /* what the programs are told */
	const char *what, *without;
};

static void select_extras(struct selection *s)
{
	const struct extra extras[] = {
		{ s->skel->maps.above, &s->skel->rodata->lacks_above, "owners of MPTCP connections",
		  "an MPTCP connection has no application" },
		{ s->skel->maps.timers, &s->skel->rodata->lacks_timers, NULL, NULL },
		{ s->skel->maps.listeners, &s->skel->rodata->lacks_listeners,
		  "who began connections from before",
		  "a connection that was open before counts as begun by this host" },
	};

	for (size_t i = 0; i < ARRAY_LEN(extras); i++) {
		const struct extra *x = &extras[i];
		const char *refused = refusals_of(s->refused, bpf_map__name(x->map));

		*(volatile bool *)x->lacks = refused;
		if (!refused)
			continue;
		bpf_map__set_autocreate(x->map, false);
		if (x->what) /* else a program that needs it has said so */
			strbuf_printf(s->absent, "%s: map %s is %s; without it, %s\n",
				      x->what, bpf_map__name(x->map), refused, x->without);
	}
}

static int leave_table(const struct records *of)
{
	return bpf_map__set_autocreate(of->table, false) ?:
	       of->keys ? bpf_map__set_autocreate(of->keys, false) : 0;
}

static int make_table(const struct records *of)
{
	return bpf_map__set_autocreate(of->storage, false) ?:
	       bpf_map__set_max_entries(of->table, TABLE_CONNECTIONS) ?:
	       of->keys ? bpf_map__set_max_entries(of->keys, TABLE_KEYS) : 0;
}

/* Beside sockets, or in tables where this kernel refuses what that needs. */
static int select_records(struct selection *s, char *why, size_t size)
{
	static const struct place walk = { .program = "conn_walk", .kind = HOOK_RUN,
					   .target = "passes over tables" };
	bool storage = takes_storage(s->skel, s->refused);
	struct records of[RECORDS_KINDS];
	int err = 0;

	list_records(s->skel, of);
	s->skel->rodata->in_tables = !storage;
	s->skel->rodata->key_ring_mask = TABLE_KEYS - 1;
	bpf_program__set_autoload(s->skel->progs.conn_visit, storage);
	bpf_program__set_autoload(s->skel->progs.conn_visit_rest, storage);
	for (size_t i = 0; i < RECORDS_KINDS && !err; i++) {
		err = storage ? leave_table(&of[i]) : make_table(&of[i]);
	}
	if (!is_taken(s, &walk, !storage) && !storage) {
		snprintf(why, size, "this kernel lets nobody visit what is kept of connections: "
			 "neither by an iterator over bpf_sk_storage_map nor by a program that is "
			 "run (%s)", s->why);
		return -ENOENT;
	}
	return err;
}

bool conns_places_permitted(void)
{
	return host_may(NULL, CAP_SYS_ADMIN) ||
	       (host_may(NULL, CAP_BPF) && host_may(NULL, CAP_PERFMON) &&
		host_may(NULL, CAP_NET_ADMIN));
}

/* Until 6.15 the tracepoint has two arguments. */
static void select_retransmit(struct conns_bpf *skel, const struct conns_told *told)
{
	bool two = arguments_of("tcp_retransmit_skb") != 3 && told->known & CONN_KNOWS_LOSSES;

	bpf_program__set_autoload(skel->progs.conn_retransmit_two, two);
	if (two)
		bpf_program__set_autoload(skel->progs.conn_retransmit, false);
}

/* What all of its places give is known. */
static int select_places(struct selection *s, struct conns_told *told, char *why, size_t size)
{
	uint32_t missing = 0;

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		const struct place *place = &places[i];
		bool wanted = place->how != WHERE_IT_IS ||
			      hook_btf_id(place->kind, place->target) > 0;
		bool taken = is_taken(s, place, wanted);

		if (!wanted)
			continue;
		if (i + 1 < ARRAY_LEN(places) && places[i + 1].how == INSTEAD) {
			char first[WHY_MAX];
			bool instead;

			snprintf(first, sizeof(first), "%s", s->why);
			instead = is_taken(s, &places[++i], !taken);
			snprintf(s->why, sizeof(s->why), "%s", first);
			told->calls_below_tls |= instead; /* the only ones with another */
			taken |= instead;
		}
		if (!taken && place->how == NEEDED && !conns_places_permitted())
			return -EPERM;
		if (!taken && place->how == NEEDED) {
			snprintf(why, size, "connections can't be followed: %s", s->why);
			return -ENOENT;
		}
		told->known |= place->known;
		if (taken)
			continue;
		missing |= place->known;
		strbuf_printf(s->absent, "%s: %s; without it, %s\n", place->what, s->why,
			      place->without);
	}
	told->known |= CONN_COUNTS_ALL;
	told->known &= ~missing;
	select_retransmit(s->skel, told);
	return 0;
}

int conns_places_select(struct conns_bpf *skel, const struct refusals *refused,
			struct conns_told *told, struct strbuf *absent, char *why, size_t size)
{
	struct selection s = { .skel = skel, .refused = refused, .absent = absent };
	int err;

	strbuf_reset(absent);
	told->known = 0;
	told->calls_below_tls = false;
	err = select_places(&s, told, why, size);
	select_extras(&s);
	return err ? err : select_records(&s, why, size);
}

/* ---- for doctor ---- */

struct trial {
	const char *name;
	int err;
	const char *takes;
	const char *found; /* if it is there; else why not */
};

static void add_trial(struct cap_vec *caps, const struct trial *t)
{
	if (!t->err)
		cap_add(caps, "conns", t->name, CAP_YES, NULL, "%s", t->found);
	else if (!conns_places_permitted())
		cap_add(caps, "conns", t->name, CAP_UNKNOWN,
			"CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN: run as root (sudo)",
			"not permitted to try");
	else
		cap_add(caps, "conns", t->name, CAP_NO, t->takes, "%s",
			*t->found ? t->found : strerror(-t->err));
}

static int add_hook(struct cap_vec *caps, const struct place *place, const char *takes)
{
	const struct hook hook = { .kind = place->kind, .target = place->target };
	char text[WHY_MAX];
	struct trial t = { .name = place->what, .takes = takes, .found = text };

	t.err = hook_try(&hook, text, sizeof(text));
	if (!t.err)
		snprintf(text, sizeof(text), "%s %s", hook_kind_name(place->kind), place->target);
	add_trial(caps, &t);
	if (t.err && takes)
		cap_without(caps, place->without);
	return t.err;
}

/* Of two that see the same, one is enough. */
static void add_places(struct cap_vec *caps)
{
	int err = 0;

	for (size_t i = 0; i < ARRAY_LEN(places); i++) {
		const struct place *p = &places[i];

		if (p->how == WHERE_IT_IS && hook_btf_id(p->kind, p->target) < 0)
			continue;
		err = add_hook(caps, p, p->how == INSTEAD && !err ? NULL :
			       "a kernel that permits one of its hooks");
	}
}

/* As it is loaded when `conns` starts; nothing is attached. */
static int load_all(bool *in_tables, char *why, size_t size)
{
	struct strbuf absent = STRBUF_INIT(4096);
	struct refusals refused = { 0 };
	struct conns_told told = { 0 };
	struct conns_bpf *skel = NULL;
	int err;

	do {
		conns_bpf__destroy(skel);
		skel = conns_bpf__open();
		err = skel ? conns_places_select(skel, &refused, &told, &absent, why, size) :
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
	bool in_tables = false;
	char why[WHY_MAX] = "";
	struct trial all = { .name = "all programs", .found = why,
			     .takes = "Linux 6.1 with BTF; what is missing stands above" };

	add_places(caps);
	add_hook(caps, &(struct place){ .what = "records beside sockets", .kind = HOOK_ITERATOR,
		 .target = "bpf_sk_storage_map",
		 .without = "records lie in tables, where a look-up takes longer" },
		 "a kernel that permits it");
	all.err = load_all(&in_tables, why, sizeof(why));
	if (!all.err)
		snprintf(why, sizeof(why), "loaded, with records %s",
			 in_tables ? "in tables" : "beside sockets");
	add_trial(caps, &all);
}
