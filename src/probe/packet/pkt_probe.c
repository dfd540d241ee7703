/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/packet/pkt_probe.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/capability.h>
#include <linux/net_tstamp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/descriptors.h"
#include "clock/clock.h"
#include "host/cap.h"
#include "probe/packet/pkt_internal.h"

/* Any socket that asks for software receive stamps makes the kernel stamp all packets. */
static int hold_stamping(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int flags = SOF_TIMESTAMPING_RX_SOFTWARE;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &flags, sizeof(flags))) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static bool needs_stamps(uint32_t origin)
{
	return origin == ORIGIN_NONE || origin == ORIGIN_STACK || origin == ORIGIN_DELIVER;
}

/*
 * Of a process that lacks capabilities: whether it can load what every kernel with BPF permits. A
 * process that has them is refused by the kernel, hook by hook or at all, and is told so.
 */
static int check_privileges(char *why, size_t size)
{
	char reason[WHY_MAX];

	if (host_may(NULL, CAP_SYS_ADMIN) ||
	    (host_may(NULL, CAP_BPF) && host_may(NULL, CAP_PERFMON)))
		return hook_none(why, size) ? -ENOTSUP : 0;
	if (hook_try(&hooks[0], reason, sizeof(reason)) != -EPERM)
		return 0;
	snprintf(why, size, "loading BPF programs needs CAP_BPF and CAP_PERFMON, and CAP_NET_ADMIN "
		 "for netfilter hooks: run as root, or grant them");
	return -EPERM;
}

int watch_probe_open(struct watch_probe **out, const struct watch_probe_config *config, char *why,
		     size_t size)
{
	struct watch_probe *probe = calloc(1, sizeof(*probe));
	int err = -ENOMEM;

	why[0] = '\0';
	if (!probe)
		return err;
	probe->config = *config;
	probe->stamp_fd = -1;
	probe->ncpus = libbpf_num_possible_cpus();
	if (config->ifname)
		snprintf(probe->ifname, sizeof(probe->ifname), "%s", config->ifname);
	probe->row_before = calloc(ROWS, sizeof(*probe->row_before));
	if (!probe->row_before || watch_cover_open(probe) || watch_snapshot_open(probe) ||
	    watch_labels_open(probe) || watch_cost_open(probe))
		goto out;
	err = check_privileges(why, size);
	if (err)
		goto out;
	descriptors_raise(); /* a namespace takes up to six */
	err = clock_follow_open(&probe->follow, clock_system());
	if (err)
		goto out;
	if (needs_stamps(config->origin)) {
		probe->stamp_fd = err = hold_stamping();
		if (err < 0)
			goto out;
		probe->stamps_from_ns = clock_now() + STAMPING_STARTS_NS;
	}
	err = watch_function_find(probe, why, size);
	if (!err)
		err = watch_load(probe, why, size);
	if (!err)
		err = watch_marks_open(probe, why, size);
	if (!err)
		err = watch_told_open(probe, why, size);
	if (!err)
		watch_baseline(probe);
out:
	if (err) {
		if (!why[0])
			snprintf(why, size, "%s", strerror(-err));
		watch_probe_free(probe);
		probe = NULL;
	}
	*out = probe;
	return err;
}

void watch_probe_free(struct watch_probe *probe)
{
	if (!probe)
		return;
	watch_told_free(probe);
	watch_marks_close(probe);
	watch_unload(probe);
	watch_cost_free(probe);
	clock_follow_free(probe->follow);
	if (probe->stamp_fd >= 0)
		close(probe->stamp_fd);
	watch_labels_free(probe);
	watch_snapshot_free(probe);
	watch_cover_free(probe);
	free(probe->row_before);
	free(probe);
}

bool watch_probe_proven(const struct watch_probe *probe)
{
	return probe->proven;
}

uint64_t watch_probe_memory(const struct watch_probe *probe)
{
	return probe->memory;
}

int watch_probe_clock_fd(const struct watch_probe *probe)
{
	return clock_follow_fd(probe->follow);
}

int watch_probe_clock(struct watch_probe *probe, struct event_sink *sink)
{
	return watch_clock(probe, sink);
}

int watch_probe_describe(struct watch_probe *probe, struct event_sink *sink,
			 struct event_dict *dict)
{
	return watch_describe(probe, sink, dict);
}

int watch_probe_messages(struct watch_probe *probe, struct event_writer *writer)
{
	return watch_told_pull(probe, writer);
}

uint64_t watch_probe_messages_lost(const struct watch_probe *probe)
{
	return watch_told_lost(probe);
}

int watch_probe_snapshot(struct watch_probe *probe, struct event_sink *sink,
			 struct event_dict *dict, uint32_t flags)
{
	int err = watch_snapshot(probe, sink, dict, flags);

	if (probe->detached)
		watch_detach(probe);
	return err;
}
