// SPDX-License-Identifier: Apache-2.0
/*
 * What recording costs natively, per stage, with the control in the same run; hotpath.bpf.c says
 * how. Prints a table; exit code 1 when a limit is missed.
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
#include "probe/watch_internal.h"
#include "bench/hotpath.skel.h" /* needs bpf/abi.h */
#include "tests/guest/loopback.h"

#define MESSAGES (BENCH_RUNS * CHAIN_PACKET_MAX + 500)
#define CONTROL_RATIO 1.8
/* Instructions of the control's two programs, as committed; it may not grow slower unnoticed. */
#define CONTROL_INSNS 160
#define CONTROL_READ_INSNS 240
#define SLOT_BIT(slot) (1U << (slot))

enum selection { WITHOUT_LINK, WITHOUT_SCHEDULER, EVERYTHING, SELECTIONS };

static const uint32_t selections[SELECTIONS] = {
	[WITHOUT_LINK] = SLOT_BIT(SLOT_TRANSPORT) | SLOT_BIT(SLOT_ENQUEUED) | SLOT_BIT(SLOT_READ),
	[WITHOUT_SCHEDULER] = SLOT_BIT(SLOT_LINK) | SLOT_BIT(SLOT_TRANSPORT) |
			      SLOT_BIT(SLOT_ENQUEUED) | SLOT_BIT(SLOT_READ),
	[EVERYTHING] = ~SLOT_BIT(SLOT_IP),
};

struct outcome {
	double ns[CHAINS]; /* of one turn, the empty loop's included */
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

static void settings(struct hotpath_bpf *b, uint32_t slots)
{
	struct stat st;

	b->bss->epoch = 1;
	b->bss->row_next = ROW_FIRST;
	b->bss->realtime_offset = now(CLOCK_REALTIME) - now(CLOCK_MONOTONIC);
	b->bss->tai_offset = now(CLOCK_TAI) / 1000000000 * 1000000000 -
			     now(CLOCK_REALTIME) / 1000000000 * 1000000000;
	b->rodata->row_pool = ROW_FIRST + ROW_KEYS;
	b->rodata->slots = slots;
	b->rodata->control_tai_offset = b->bss->tai_offset;
	b->rodata->control_netns = stat("/proc/self/ns/net", &st) ? 0 : st.st_ino;
	watch_bucket_tables((__u8 *)b->rodata->bucket_fine, (__u8 *)b->rodata->bucket_coarse,
			    (__u16 *)b->rodata->bucket_edge);
}

/* The watch programs themselves are loaded for their size and never attached. */
static void select_programs(struct hotpath_bpf *b)
{
	struct bpf_program *p;

	bpf_object__for_each_program(p, b->obj) {
		bpf_program__set_autoload(p, false);
		bpf_program__set_autoattach(p, false);
	}
	struct bpf_program *sized[] = {
		b->progs.bench_packet, b->progs.bench_read, b->progs.link_tp,
		b->progs.tcp_transport_tp, b->progs.enqueued_tp, b->progs.tcp_copied_tp,
		b->progs.returned_tp, b->progs.control_size, b->progs.control_read_size,
	};
	for (size_t i = 0; i < sizeof(sized) / sizeof(sized[0]); i++)
		bpf_program__set_autoload(sized[i], true);
	bpf_program__set_autoattach(b->progs.bench_packet, true);
	bpf_program__set_autoattach(b->progs.bench_read, true);
}

static int port_of(int fd)
{
	struct sockaddr_in address;
	socklen_t size = sizeof(address);

	return getsockname(fd, (struct sockaddr *)&address, &size) ? -errno : ntohs(address.sin_port);
}

static int exchange(const struct loopback_pair *pair)
{
	char buf[64] = { 0 };

	for (int i = 0; i < MESSAGES; i++)
		if (send(pair->sender, buf, sizeof(buf), 0) != sizeof(buf) ||
		    recv(pair->receiver, buf, sizeof(buf), MSG_WAITALL) != sizeof(buf))
			return -errno;
	return 0;
}

static int collect(struct hotpath_bpf *b, struct outcome *o)
{
	for (int chain = 0; chain < CHAINS; chain++) {
		__u32 n = b->bss->runs[chain];

		if (n < BENCH_RUNS / 2) {
			fprintf(stderr, "hotpath: only %u runs of chain %d\n", n, chain);
			return -ENODATA;
		}
		qsort(b->bss->spent[chain], n, sizeof(__u64), by_value);
		o->ns[chain] = (double)b->bss->spent[chain][n / 2] / BENCH_LOOP;
	}
	o->insns_link = insns(b->progs.link_tp);
	o->insns_transport = insns(b->progs.tcp_transport_tp);
	o->insns_enqueued = insns(b->progs.enqueued_tp);
	o->insns_copied = insns(b->progs.tcp_copied_tp);
	o->insns_returned = insns(b->progs.returned_tp);
	o->insns_control = insns(b->progs.control_size);
	o->insns_control_read = insns(b->progs.control_read_size);
	return 0;
}

static int measure(uint32_t slots, struct outcome *o)
{
	struct loopback_pair pair = { -1, -1 };
	struct hotpath_bpf *b = hotpath_bpf__open();
	size_t cpu_size = sizeof(struct cpu_state) + (ROW_FIRST + ROW_KEYS) * sizeof(struct row);
	int err;

	if (!b)
		return -errno;
	err = loopback_open(&pair, SOCK_STREAM, 0);
	if (err)
		goto out;
	settings(b, slots);
	select_programs(b);
	b->rodata->bench_port = port_of(pair.receiver);
	err = bpf_map__set_value_size(b->maps.cpus, cpu_size);
	err = err ? err : bpf_map__set_max_entries(b->maps.cpus, libbpf_num_possible_cpus());
	err = err ? err : hotpath_bpf__load(b);
	err = err ? err : hotpath_bpf__attach(b);
	err = err ? err : exchange(&pair);
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

static bool print(const char *stage, double ns, double limit, double control, uint32_t programs)
{
	bool fine = (!limit || ns <= limit) && control / ns >= CONTROL_RATIO;

	printf("%-32s %7.1f ns", stage, ns);
	if (limit)
		printf("  limit %3.0f", limit);
	else
		printf("           ");
	printf("  control %6.1f ns  ratio %4.2f  %5u insns  %s\n", control, control / ns, programs,
	       !limit ? "" : fine ? "ok" : "MISSED");
	return !limit || fine;
}

static bool near(const char *what, uint32_t insns, uint32_t reference)
{
	bool fine = insns * 10 >= reference * 9 && insns * 10 <= reference * 11;

	printf("control's %s: %u insns, reference %u: %s\n", what, insns, reference,
	       fine ? "ok" : "NOT WITHIN 10 %");
	return fine;
}

static int report(const struct outcome *o)
{
	const double *all = o[WITHOUT_SCHEDULER].ns, *bare = o[WITHOUT_LINK].ns;
	const struct outcome *w = &o[WITHOUT_SCHEDULER];
	double empty = all[CHAIN_EMPTY], row = all[CHAIN_TRANSPORT] - all[CHAIN_LINK] -
					       (bare[CHAIN_TRANSPORT] - bare[CHAIN_LINK]);
	double read = all[CHAIN_RETURNED] - all[CHAIN_PUT];
	const double *sched = o[EVERYTHING].ns;
	double control_read = all[CHAIN_CONTROL_READ] - all[CHAIN_READ_EMPTY];
	bool fine = true;

	fine &= print("link (its row included)", all[CHAIN_LINK] - empty + row, 50,
		      all[CHAIN_CONTROL_IP] - empty, w->insns_link);
	fine &= print("transport", bare[CHAIN_TRANSPORT] - bare[CHAIN_LINK], 50,
		      all[CHAIN_CONTROL_TRANSPORT] - empty, w->insns_transport);
	fine &= print("enqueued", all[CHAIN_ENQUEUED] - all[CHAIN_TRANSPORT], 50,
		      all[CHAIN_CONTROL_ENQUEUED] - empty, w->insns_enqueued);
	fine &= print("read, exactly once, both ages", read, 110, control_read,
		      w->insns_copied + w->insns_returned);
	print("  of it, at the copy", all[CHAIN_COPIED] - all[CHAIN_PUT], 0, control_read,
	      w->insns_copied);
	print("read, with the scheduler's share", sched[CHAIN_RETURNED] - sched[CHAIN_PUT], 0,
	      control_read, o[EVERYTHING].insns_copied + o[EVERYTHING].insns_returned);
	fine &= near("recording", w->insns_control, CONTROL_INSNS);
	fine &= near("TCP read", w->insns_control_read, CONTROL_READ_INSNS);
	printf("an empty turn of the loop: %.1f ns; medians of %d runs of %d turns\n", empty,
	       BENCH_RUNS, BENCH_LOOP);
	return fine ? 0 : 1;
}

int main(void)
{
	struct outcome o[SELECTIONS] = { 0 };
	int err = geteuid() ? -EPERM : ask_for_stamps();

	for (int i = 0; i < SELECTIONS && !err; i++)
		err = measure(selections[i], &o[i]);
	if (!err)
		return report(o);
	if (err == -EPERM && geteuid()) {
		puts("SKIP: needs root");
		return 77;
	}
	fprintf(stderr, "hotpath: %s\n", strerror(-err));
	return 2;
}
