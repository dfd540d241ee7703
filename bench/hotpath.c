/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures what recording costs natively, per stage, with the control in the same run;
 * hotpath.bpf.c says how. Prints a table; exit code 1 when a limit is missed. With `by`: what --by
 * adds; with `sample`: what a packet costs that isn't measured. With --quick: one short pass whose
 * times are printed and not judged; exit code 1 when a figure makes no sense.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "bench/hotpath.h"
#include "probe/common/kernel.h"
#include "probe/packet/pkt_internal.h"
#ifdef HOTPATH_BY
#include "bench/hotpath_by.skel.h"
#else
#include "bench/hotpath.skel.h" /* needs bpf/abi.h */
#endif
#include "tests/guest/loopback.h"

#define MESSAGES (BENCH_RUNS * CHAIN_PACKET_MAX + 500)
#define QUICK_RUNS 40 /* runs of each chain, with --quick */
#define QUICK_MESSAGES (QUICK_RUNS * CHAIN_PACKET_MAX + 100)
#define CONTROL_RATIO 1.8
/* Instructions of the control's two programs, as committed; it may not grow slower unnoticed. */
#define CONTROL_INSNS 127
#define CONTROL_READ_INSNS 151
#define PASSES 5
#define SLOT_BIT(slot) (1U << (slot))

enum selection { WITHOUT_LINK, WITHOUT_SCHEDULER, EVERYTHING, SELECTIONS };

static const uint32_t selections[SELECTIONS] = {
	[WITHOUT_LINK] = SLOT_BIT(SLOT_SOCKET) | SLOT_BIT(SLOT_ENQUEUED) | SLOT_BIT(SLOT_READ),
	[WITHOUT_SCHEDULER] = SLOT_BIT(SLOT_LINK) | SLOT_BIT(SLOT_SOCKET) |
			      SLOT_BIT(SLOT_ENQUEUED) | SLOT_BIT(SLOT_READ),
	[EVERYTHING] = ~SLOT_BIT(SLOT_IP),
};

static int passes_wanted = PASSES, messages = MESSAGES;
static unsigned int runs_wanted = BENCH_RUNS / 2;
static bool quick;

struct outcome {
	double ns[CHAINS]; /* time of one turn, with the empty loop */
	uint32_t insns_link, insns_transport, insns_enqueued, insns_copied, insns_returned;
	uint32_t insns_control, insns_control_read;
};

static uint64_t now(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	return (*(const __u64 *)a > *(const __u64 *)b) - (*(const __u64 *)a < *(const __u64 *)b);
}

static uint32_t insns(const struct bpf_program *p)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);

	if (bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &size))
		return 0;
	return info.xlated_prog_len / 8;
}

/* Rows for a group of each CPU, and room beside them. */
static int group_settings(struct hotpath_bpf *b, uint32_t by)
{
	const uint32_t sets = 256;

	b->rodata->by = by;
	b->rodata->fast_path = FAST_PATH_NONE; /* as with any option */
	if (!by)
		return 0;
	b->rodata->row_sets = sets;
	b->rodata->uses_link_traits = 1;
	b->rodata->trait_mask[TRAIT_IFINDEX] = (1 << 14) - 1;
	b->rodata->trait_mask[TRAIT_CPU] = (1 << 10) - 1;
	b->rodata->trait_mask[TRAIT_RXQ] = (1 << 8) - 1;
	b->rodata->trait_shift[TRAIT_CPU] = 14;
	b->rodata->trait_shift[TRAIT_RXQ] = 24;
	if (bpf_map__set_max_entries(b->maps.groups, GROUP_SETS) ||
	    bpf_map__set_max_entries(b->maps.row_keys, sets) ||
	    bpf_map__set_max_entries(b->maps.group_rows, sets * ROW_WAYS))
		return -EINVAL;
	return 0;
}

static void settings(struct hotpath_bpf *b, uint32_t slots)
{
	struct stat st;

	b->bss->realtime_offset = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
	b->bss->tai_offset = now(CLOCK_TAI) / 1000000000 * 1000000000 -
			     now(CLOCK_REALTIME) / 1000000000 * 1000000000;
	b->rodata->slots = slots;
	b->rodata->transport_tcp = 0; /* test_icount counts what that takes */
	b->rodata->control_tai_offset = b->bss->tai_offset;
	b->rodata->control_netns = stat("/proc/self/ns/net", &st) ? 0 : st.st_ino;
	pkt_short_cells((__u16 *)b->rodata->short_cells, (__u8 *)b->rodata->shorter_cells);
	/* as in loader.c */
	b->rodata->fast_path = kernel_can_cast() ? FAST_PATH : FAST_PATH_HELPER;
}

/* The watch programs themselves are loaded for their size and never attached. */
static void select_programs(struct hotpath_bpf *b)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, b->obj) {
		bpf_program__set_autoload(p, false);
		bpf_program__set_autoattach(p, false);
	}
	struct bpf_program *timed[] = {
		b->progs.bench_packet, b->progs.bench_read_empty, b->progs.bench_made,
		b->progs.bench_put,
		b->progs.bench_copied, b->progs.bench_returned, b->progs.bench_control_read,
		b->progs.bench_passed_copied, b->progs.bench_passed_read, b->progs.bench_link,
	};
	struct bpf_program *sized[] = {
		b->progs.link_tp,
		b->progs.tcp_socket_tp, b->progs.enqueued_tp, b->progs.tcp_copied_tp,
		b->progs.returned_tp, b->progs.control_size, b->progs.control_read_size,
	};
	for (size_t i = 0; i < sizeof(sized) / sizeof(sized[0]); i++)
		bpf_program__set_autoload(sized[i], true);
	for (size_t i = 0; i < sizeof(timed) / sizeof(timed[0]); i++) {
		bpf_program__set_autoload(timed[i], true);
		bpf_program__set_autoattach(timed[i], true);
	}
}

static int port_of(int fd)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &size))
		return -errno;
	return ntohs(address.sin_port);
}

static int exchange(struct hotpath_bpf *b, const struct loopback_pair *pair)
{
	char buf[64] = { 0 };

	for (int i = 0; i < messages; i++) {
		b->bss->read_chain = CHAIN_READ_EMPTY + i % (CHAIN_READ_MAX - CHAIN_READ_EMPTY);
		if (send(pair->sender, buf, sizeof(buf), 0) != sizeof(buf) ||
		    recv(pair->receiver, buf, sizeof(buf), MSG_WAITALL) != sizeof(buf))
			return -errno;
	}
	return 0;
}

static int collect(struct hotpath_bpf *b, struct outcome *o)
{
	for (int chain = 0; chain < CHAINS; chain++) {
		__u32 n = b->bss->runs[chain];

		if (n < runs_wanted) {
			fprintf(stderr, "hotpath: only %u runs of chain %d\n", n, chain);
			return -ENODATA;
		}
		qsort(b->bss->spent[chain], n, sizeof(__u64), by_value);
		o->ns[chain] = (double)b->bss->spent[chain][n / 2] / BENCH_LOOP;
	}
	o->insns_link = insns(b->progs.link_tp);
	o->insns_transport = insns(b->progs.tcp_socket_tp);
	o->insns_enqueued = insns(b->progs.enqueued_tp);
	o->insns_copied = insns(b->progs.tcp_copied_tp);
	o->insns_returned = insns(b->progs.returned_tp);
	o->insns_control = insns(b->progs.control_size);
	o->insns_control_read = insns(b->progs.control_read_size);
	return 0;
}

/* `by`: NOT_GROUPED, or a mask of --by's keys, in the general form of the programs. */
#define NOT_GROUPED ~0U
#define NOT_MEASURED (~0U - 1) /* in place of that: --sample, of which nothing is drawn */

static int measure(uint32_t slots, uint32_t by, struct outcome *o)
{
	struct loopback_pair pair = { -1, -1 };
	struct hotpath_bpf *b = hotpath_bpf__open();
	int err;

	if (!b)
		return -errno;
	err = loopback_open(&pair, SOCK_STREAM, 0);
	if (err)
		goto out;
	settings(b, slots);
	if (by == NOT_MEASURED) {
		b->rodata->sampling = 1;
		b->rodata->can_cast = kernel_can_cast();
		b->data->sample_below = 0;
	} else if (by != NOT_GROUPED) {
		err = group_settings(b, by);
	}
	select_programs(b);
	b->rodata->bench_port = port_of(pair.receiver);
	err = err ? err : bpf_map__set_max_entries(b->maps.cpus, libbpf_num_possible_cpus());
	err = err ? err : hotpath_bpf__load(b);
	err = err ? err : hotpath_bpf__attach(b);
	err = err ? err : exchange(b, &pair);
	err = err ? err : collect(b, o);
out:
	if (pair.sender >= 0) {
		close(pair.sender);
		close(pair.receiver);
	}
	hotpath_bpf__destroy(b);
	return err;
}

/* The kernel stamps packets only while some socket asks for it. */
static int ask_for_stamps(void)
{
	int flags = 1 << 3 /* SOF_TIMESTAMPING_RX_SOFTWARE */, fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags)))
		return -errno;
	usleep(50000);
	return 0;
}

/* A read is two recordings, of the oldest and of the youngest byte's age; the control's is one. */
static bool print(const char *stage, double ns, double limit, double control, uint32_t recordings,
		  uint32_t programs)
{
	double ratio = control / (ns / recordings);
	bool fine = quick ? control > 0 && programs :
		    ns <= limit && ratio >= CONTROL_RATIO;

	printf("%-32s %6.1f %6.0f %8.1f %6.2f %6u  %s\n", stage, ns, limit, control, ratio,
	       programs, !fine ? "MISSED" : quick ? "not judged" : "ok");
	return fine;
}

static void detail(const char *what, double ns, uint32_t programs)
{
	printf("%-32s %6.1f %29u\n", what, ns, programs);
}

static bool near(const char *what, uint32_t insns, uint32_t reference)
{
	bool fine = insns * 10 >= reference * 9 && insns * 10 <= reference * 11;

	printf("control's %s: %u insns, reference %u: %s\n", what, insns, reference,
	       fine ? "ok" : "NOT WITHIN 10 %");
	return fine;
}

/* The table's rows, in ns; each a difference of chains of one pass. */
struct figures {
	double link, transport, enqueued, read, copied, read_scheduler;
	double control_link, control_transport, control_enqueued, control_read, empty;
};

static struct figures figures_of(const struct outcome *o)
{
	const double *all = o[WITHOUT_SCHEDULER].ns, *bare = o[WITHOUT_LINK].ns;
	const double *scheduler = o[EVERYTHING].ns;
	double empty = all[CHAIN_EMPTY], transport = bare[CHAIN_TRANSPORT] - bare[CHAIN_LINK];
	double row = all[CHAIN_TRANSPORT] - all[CHAIN_LINK] - transport;

	return (struct figures){
		.link = all[CHAIN_LINK] - empty + row, /* `socket` records it */
		.transport = transport,
		.enqueued = all[CHAIN_PUT] - all[CHAIN_MADE],
		.read = all[CHAIN_RETURNED] - all[CHAIN_PUT],
		.copied = all[CHAIN_COPIED] - all[CHAIN_PUT],
		.read_scheduler = scheduler[CHAIN_RETURNED] - scheduler[CHAIN_PUT],
		.control_link = all[CHAIN_CONTROL_IP] - empty,
		.control_transport = all[CHAIN_CONTROL_TRANSPORT] - empty,
		.control_enqueued = all[CHAIN_CONTROL_ENQUEUED] - empty,
		.control_read = all[CHAIN_CONTROL_READ] - all[CHAIN_READ_EMPTY],
		.empty = empty,
	};
}

/* The median of the passes, figure by figure. */
static struct figures middle(const struct figures *passes)
{
	struct figures m;
	double *to = (double *)&m;

	for (size_t i = 0; i < sizeof(m) / sizeof(double); i++) {
		double v[PASSES];

		for (int p = 0; p < passes_wanted; p++) {
			int at = p;

			while (at && v[at - 1] > ((const double *)&passes[p])[i]) {
				v[at] = v[at - 1];
				at--;
			}
			v[at] = ((const double *)&passes[p])[i];
		}
		to[i] = v[passes_wanted / 2];
	}
	return m;
}

static int report(const struct outcome *o, const struct figures *f)
{
	const struct outcome *w = &o[WITHOUT_SCHEDULER], *e = &o[EVERYTHING];
	bool fine = true;

	printf("%-32s %6s %6s %8s %6s %6s\n", "ns, net of the empty loop", "ours", "limit",
	       "control", "ratio", "insns");
	fine &= print("link (its row included)", f->link, 50, f->control_link, 1, w->insns_link);
	fine &= print("socket", f->transport, 50, f->control_transport, 1, w->insns_transport);
	fine &= print("enqueued", f->enqueued, 50, f->control_enqueued, 1, w->insns_enqueued);
	fine &= print("read, exactly once, both ages", f->read, 110, f->control_read, 2,
		      w->insns_copied + w->insns_returned);
	detail("  of it, at the copy", f->copied, w->insns_copied);
	detail("read, with the scheduler's share", f->read_scheduler,
	       e->insns_copied + e->insns_returned);
	fine &= near("recording", w->insns_control, CONTROL_INSNS);
	fine &= near("TCP read", w->insns_control_read, CONTROL_READ_INSNS);
	printf("an empty turn: %.1f ns; medians of %d runs of %d turns, and of %d passes\n",
	       f->empty, quick ? QUICK_RUNS : BENCH_RUNS, BENCH_LOOP, passes_wanted);
	return fine ? 0 : 1;
}

/* ---- the cost of --by ---- */

#define KEY_LIMIT 25

static const struct {
	const char *name;
	uint32_t by, keys;
} divisions[] = {
	{ "none, general form", 0, 0 },
	{ "cgroup", 1 << GROUP_CGROUP, 1 },
	{ "netns", 1 << GROUP_NETNS, 1 },
	{ "ifindex", 1 << GROUP_IFINDEX, 1 },
	{ "port", 1 << GROUP_PORT, 1 },
	{ "cpu", 1 << GROUP_CPU, 1 },
	{ "rxq", 1 << GROUP_RXQ, 1 },
	{ "comm", 1 << GROUP_COMM, 1 },
	{ "all seven", 0xfe, 7 },
};

#define DIVISIONS (sizeof(divisions) / sizeof(divisions[0]))

/* `link` and `socket` at once: where a packet's group is found. */
enum { WAY_UP, PUT, READ_IT, PARTS };

static void parts_of(const struct outcome *o, double parts[PARTS])
{
	parts[WAY_UP] = o->ns[CHAIN_TRANSPORT] - o->ns[CHAIN_EMPTY];
	parts[PUT] = o->ns[CHAIN_PUT] - o->ns[CHAIN_MADE];
	parts[READ_IT] = o->ns[CHAIN_RETURNED] - o->ns[CHAIN_PUT];
}

static double middle_of(double *v, int n)
{
	for (int i = 1; i < n; i++)
		for (int at = i; at && v[at - 1] > v[at]; at--) {
			double higher = v[at - 1];

			v[at - 1] = v[at];
			v[at] = higher;
		}
	return v[n / 2];
}

/* `link` and `socket` are two recordings. */
static const int recordings[PARTS] = { 2, 1, 1 };

/* The first key brings the tables with it; each other one what it takes to be known. */
static int report_by(double passes[DIVISIONS][PARTS][PASSES])
{
	double ns[DIVISIONS][PARTS], most = 0;

	printf("%-24s %16s %10s %10s   more for each recording\n", "ns, net of an empty turn",
	       "link+socket", "enqueued", "read");
	for (size_t i = 0; i < DIVISIONS; i++) {
		printf("%-24s", divisions[i].name);
		for (int part = 0; part < PARTS; part++) {
			ns[i][part] = middle_of(passes[i][part], PASSES);
			printf(" %*.1f", part ? 10 : 16, ns[i][part]);
		}
		for (int part = 0; part < PARTS && i; part++) {
			double more = (ns[i][part] - ns[0][part]) / recordings[part];

			printf("%s%+.1f", part ? "  " : "   ", more);
			if (divisions[i].keys == 1 && more > most)
				most = more;
		}
		printf("\n");
	}
	printf("a key takes %.1f ns of a recording at most, limit %d: %s\n", most, KEY_LIMIT,
	       most <= KEY_LIMIT ? "ok" : "MISSED");
	return most > KEY_LIMIT;
}

static int by_groups(void)
{
	static double passes[DIVISIONS][PARTS][PASSES];
	double parts[PARTS];
	struct outcome o;

	for (int pass = 0; pass < PASSES; pass++)
		for (size_t i = 0; i < DIVISIONS; i++) {
			int err = measure(selections[WITHOUT_SCHEDULER], divisions[i].by, &o);

			if (err)
				return err;
			parts_of(&o, parts);
			for (int part = 0; part < PARTS; part++)
				passes[i][part][pass] = parts[part];
		}
	return report_by(passes);
}

/* ---- unmeasured packets ---- */

#define PASSED_LIMIT 6
enum { PASSED_LINK, PASSED_TRANSPORT, PASSED_ENQUEUED, PASSED_READ, PASSED };

static void passed_parts(const struct outcome *o, double parts[PASSED])
{
	parts[PASSED_LINK] = o->ns[CHAIN_PASSED_LINK] - o->ns[CHAIN_LINK_EMPTY];
	parts[PASSED_TRANSPORT] = o->ns[CHAIN_PASSED_TRANSPORT] - o->ns[CHAIN_EMPTY];
	parts[PASSED_ENQUEUED] = o->ns[CHAIN_PASSED_ENQUEUED] - o->ns[CHAIN_PASSED_TRANSPORT];
	parts[PASSED_READ] = o->ns[CHAIN_PASSED_READ] - o->ns[CHAIN_READ_EMPTY];
}

static int not_measured(void)
{
	static const char *const names[PASSED] = {
		"link", "socket", "enqueued", "read, two programs",
	};
	static double passes[PASSED][PASSES];
	double parts[PASSED], sum = 0;
	struct outcome o;

	for (int pass = 0; pass < PASSES; pass++) {
		int err = measure(selections[WITHOUT_SCHEDULER], NOT_MEASURED, &o);

		if (err)
			return err;
		passed_parts(&o, parts);
		for (int i = 0; i < PASSED; i++)
			passes[i][pass] = parts[i];
	}
	printf("%-24s %16s\n", "not measured", "ns, net of an empty turn");
	for (int i = 0; i < PASSED; i++) {
		double ns = middle_of(passes[i], PASSES);

		sum += ns;
		printf("%-24s %16.1f\n", names[i], ns);
	}
	printf("%.1f ns for each of %d stages, limit %d: %s\n", sum / PASSED, PASSED, PASSED_LIMIT,
	       sum <= PASSED * PASSED_LIMIT ? "ok" : "MISSED");
	return sum > PASSED * PASSED_LIMIT;
}

int main(int argc, char **argv)
{
	struct outcome o[SELECTIONS] = { 0 };
	struct figures passes[PASSES];
	int err = geteuid() ? -EPERM : ask_for_stamps();

	if (argc > 1 && !strcmp(argv[1], "--quick")) {
		quick = true;
		passes_wanted = 1;
		messages = QUICK_MESSAGES;
		runs_wanted = QUICK_RUNS / 2;
		argc--;
	}

#ifndef HOTPATH_BY
	if (argc > 1 && !strcmp(argv[1], "by")) {
		fputs("hotpath: for --by run hotpath-by\n", stderr);
		return 1;
	}
#endif
	if (!err && argc > 1) {
		err = strcmp(argv[1], "sample") ? by_groups() : not_measured();
		if (err >= 0)
			return err;
	}
	for (int pass = 0; pass < passes_wanted && !err; pass++) {
		for (int i = 0; i < SELECTIONS && !err; i++)
			err = measure(selections[i], NOT_GROUPED, &o[i]);
		passes[pass] = figures_of(o);
	}
	if (!err) {
		struct figures f = middle(passes);

		return report(o, &f);
	}
	if (err == -EPERM && geteuid()) {
		puts("SKIP: needs root");
		return 77;
	}
	fprintf(stderr, "hotpath: %s\n", strerror(-err));
	return 2;
}
