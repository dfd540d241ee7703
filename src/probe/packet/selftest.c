/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that each bound hook fires: sends TCP and UDP over IPv4 and IPv6 through loopback while
 * the kernel counts the runs of each program. A function may be in BTF and yet be inlined
 * everywhere; then the next hook of its stage is tried.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock/clock.h"
#include "probe/common/prog_stats.h"
#include "probe/packet/loopback_pair.h"
#include "probe/packet/pkt_internal.h"

#define ROUNDS 4
#define PATIENCE_MS 1000

/* Sleeps until data arrive, so that the kernel has to wake the reader, and reads them. */
static int receive(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char buf[64];

	if (poll(&p, 1, PATIENCE_MS) != 1)
		return -ETIMEDOUT;
	return recv(fd, buf, sizeof(buf), 0) > 0 ? 0 : -errno;
}

static int exchange(int tx, int rx)
{
	int err = 0;

	for (int i = 0; i < ROUNDS && !err; i++) {
		if (send(tx, "hostlat", 7, MSG_NOSIGNAL) != 7)
			return -errno;
		err = receive(rx);
	}
	return err;
}

static int traffic(int family, int type)
{
	struct loopback_pair pair;
	int err = loopback_pair_open(family, type, &pair);

	if (err)
		return err;
	err = exchange(pair.tx, pair.rx);
	close(pair.rx);
	if (type == SOCK_DGRAM)
		(void)!send(pair.tx, "dropped", 7, MSG_NOSIGNAL); /* is dropped, as rx is closed */
	close(pair.tx);
	return err;
}

static bool has_run(const struct bpf_program *p)
{
	uint64_t ns = 0, runs = 0;

	prog_stats_add(p, &ns, &runs);
	return runs;
}

static bool selftest_is_silent(const struct pkt_probe *probe, const struct pkt_hook *h, bool v6)
{
	const struct bpf_program *second = pkt_find_second_program(probe, h);
	bool second_is_ipv6 = h->at.kind == HOOK_FENTRY;

	if (h->proof == PROOF_NONE || (h->proof == PROOF_IPV6 && !v6))
		return false;
	if (!has_run(pkt_find_program(probe, h)))
		return true;
	return second && (v6 || !second_is_ipv6) && !has_run(second);
}

int pkt_run_selftest(struct pkt_probe *probe)
{
	int failed = 0;
	bool v4, v6;

	/* the sleep causes a context switch and a wakeup */
	clock_sleep_until(clock_system(), clock_now() + 1000000);
	v4 = !traffic(AF_INET, SOCK_STREAM) && !traffic(AF_INET, SOCK_DGRAM);
	v6 = !traffic(AF_INET6, SOCK_STREAM) && !traffic(AF_INET6, SOCK_DGRAM);
	for (int i = 0; pkt_hooks[i].at.target && (v4 || v6); i++) {
		struct hook_status *s = &probe->status[i];

		if (s->state != HOOK_BOUND || !selftest_is_silent(probe, &pkt_hooks[i], v6))
			continue;
		s->state = HOOK_FAILED;
		snprintf(s->why, sizeof(s->why),
			 "%s %s: attached, but did not fire in the self-test",
			 hook_kind_name(pkt_hooks[i].at.kind), pkt_hooks[i].at.target);
		failed++;
	}
	probe->proven = v4 || v6;
	return probe->proven ? failed : -ENETDOWN;
}
