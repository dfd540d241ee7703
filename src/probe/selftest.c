/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that each bound hook fires: traffic of our own over loopback, TCP and UDP, IPv4 and IPv6,
 * while the kernel counts the runs of each program. A function may be in BTF and yet be inlined
 * everywhere; then the next hook of the ladder is tried.
 */
#include <bpf/libbpf.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock/clock.h"
#include "probe/pair.h"
#include "probe/prog_stats.h"
#include "probe/watch_internal.h"

#define ROUNDS 4
#define PATIENCE_MS 1000

/* Waits for a datagram or data, so that the reader has to be woken, and takes it. */
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
	int err = loopback_pair(family, type, &pair);

	if (err)
		return err;
	err = exchange(pair.tx, pair.rx);
	close(pair.rx);
	if (type == SOCK_DGRAM)
		(void)!send(pair.tx, "dropped", 7, MSG_NOSIGNAL); /* nobody listens: a drop */
	close(pair.tx);
	return err;
}

static uint64_t runs_of(const struct watch_probe *probe, const char *program)
{
	const struct bpf_program *p = program ? watch_program(probe, program) : NULL;
	uint64_t ns = 0, runs = 0;

	if (p)
		prog_stats_add(p, &ns, &runs);
	return runs;
}

static bool silent(struct watch_probe *probe, int i, bool v6)
{
	bool v6_only = hooks[i].also_program && hooks[i].kind == HOOK_FENTRY;

	if (!v6 && !strcmp(hooks[i].target, "udpv6_sendmsg"))
		return false;

	/* much later than the task's exit; only a card's packets and interrupts; only others' */
	if (!strcmp(hooks[i].target, "sched_process_free") ||
	    !strcmp(hooks[i].target, "napi_gro_receive_entry") ||
	    !strcmp(hooks[i].target, "napi_gro_frags_entry") ||
	    !strcmp(hooks[i].target, "irq_handler_entry") ||
	    !strcmp(hooks[i].target, "FORWARD"))
		return false;
	if (!runs_of(probe, hooks[i].program))
		return true;
	if (!hooks[i].also_program || (v6_only && !v6))
		return false;
	return !runs_of(probe, hooks[i].also_program);
}

int watch_selftest(struct watch_probe *probe)
{
	int failed = 0;
	bool v4, v6;

	/* a context switch and a waking */
	clock_sleep_until(clock_system(), clock_mono_ns(clock_system()) + 1000000);
	v4 = !traffic(AF_INET, SOCK_STREAM) && !traffic(AF_INET, SOCK_DGRAM);
	v6 = !traffic(AF_INET6, SOCK_STREAM) && !traffic(AF_INET6, SOCK_DGRAM);
	for (int i = 0; hooks[i].target && (v4 || v6); i++) {
		struct hook_status *s = &probe->status[i];

		if (s->state != HOOK_BOUND || !silent(probe, i, v6))
			continue;
		s->state = HOOK_FAILED;
		snprintf(s->why, sizeof(s->why),
			 "%s %s: attached, but did not fire in the self-test",
			 hook_kind_name(hooks[i].kind), hooks[i].target);
		failed++;
	}
	probe->proven = v4 || v6;
	return probe->proven ? failed : -ENETDOWN;
}
