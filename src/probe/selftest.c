/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that each bound hook fires: traffic of our own over loopback, TCP and UDP, IPv4 and IPv6,
 * while the kernel counts the runs of each program. A function may be in BTF and yet be inlined
 * everywhere; then the next hook of the ladder is tried.
 */
#include <arpa/inet.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "clock/clock.h"
#include "probe/watch_internal.h"

#define ROUNDS 4
#define PATIENCE_MS 1000

static socklen_t loopback(int family, struct sockaddr_storage *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (family == AF_INET) {
		struct sockaddr_in *in = (struct sockaddr_in *)addr;

		in->sin_family = AF_INET;
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;

	in6->sin6_family = AF_INET6;
	in6->sin6_addr = in6addr_loopback;
	return sizeof(*in6);
}

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

static int bound_socket(int family, int type, struct sockaddr_storage *addr, socklen_t *len)
{
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	*len = loopback(family, addr);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)addr, *len) ||
	    getsockname(fd, (struct sockaddr *)addr, len)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int connected(int family, int type, struct sockaddr_storage *addr, socklen_t len)
{
	int fd = socket(family, type | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0 || connect(fd, (struct sockaddr *)addr, len))
		err = -errno;
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

static int accepted(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	close(listener);
	return fd < 0 ? -errno : fd;
}

int watch_pair(int family, int type, struct watch_pair *pair)
{
	struct sockaddr_storage addr;
	socklen_t len;
	int fd = bound_socket(family, type, &addr, &len), tx;

	if (fd < 0)
		return fd;
	tx = type == SOCK_STREAM && listen(fd, 1) ? -errno : connected(family, type, &addr, len);
	if (tx < 0) {
		close(fd);
		return tx;
	}
	if (type == SOCK_STREAM)
		fd = accepted(fd);
	if (fd < 0) {
		close(tx);
		return fd;
	}
	pair->tx = tx;
	pair->rx = fd;
	pair->port = ntohs(family == AF_INET ? ((struct sockaddr_in *)&addr)->sin_port :
			   ((struct sockaddr_in6 *)&addr)->sin6_port);
	return 0;
}

static int traffic(int family, int type)
{
	struct watch_pair pair;
	int err = watch_pair(family, type, &pair);

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
	struct bpf_prog_info info = {};
	__u32 len = sizeof(info);
	struct bpf_program *p = program ? watch_program(probe, program) : NULL;

	if (!p || bpf_program__fd(p) < 0 ||
	    bpf_obj_get_info_by_fd(bpf_program__fd(p), &info, &len))
		return 0;
	return info.run_cnt;
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
