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
#include "probe/packet/cost.h"
#include "probe/packet/deltas.h"
#include "probe/packet/hook_select.h"
#include "probe/packet/messages.h"
#include "probe/packet/netns_attach.h"
#include "probe/packet/pkt_internal.h"

/* Opens a socket with software receive stamps: while it exists, the kernel stamps all packets. */
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
 * Returns 0; -EPERM if the process lacks the capabilities to load BPF programs; or -ENOTSUP if the
 * process has them, but the kernel refuses all hooks.
 */
static int check_privileges(char *why, size_t size)
{
	char reason[WHY_MAX];

	if (host_may(NULL, CAP_SYS_ADMIN) ||
	    (host_may(NULL, CAP_BPF) && host_may(NULL, CAP_PERFMON)))
		return hook_none(why, size) ? -ENOTSUP : 0;
	if (hook_try(&pkt_hooks[0].at, reason, sizeof(reason)) != -EPERM)
		return 0;
	snprintf(why, size, "loading BPF programs needs CAP_BPF and CAP_PERFMON, and CAP_NET_ADMIN "
		 "for netfilter hooks: run hostlat as root, or grant these capabilities");
	return -EPERM;
}

int pkt_probe_open(struct pkt_probe **out, const struct pkt_probe_config *config, char *why,
		     size_t size)
{
	struct pkt_probe *probe = calloc(1, sizeof(*probe));
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
	if (!probe->row_before || pkt_netns_open(probe) || pkt_snapshot_open(probe) ||
	    pkt_labels_open(probe) || pkt_cost_open(probe))
		goto out;
	err = check_privileges(why, size);
	if (err)
		goto out;
	descriptors_raise(); /* raises the limit: a network namespace needs up to six */
	err = clock_follow_open(&probe->follow, clock_system());
	if (err)
		goto out;
	if (needs_stamps(config->origin)) {
		probe->stamp_fd = err = hold_stamping();
		if (err < 0)
			goto out;
		probe->stamps_from_ns = clock_now() + STAMPING_STARTS_NS;
	}
	err = pkt_function_find(probe, why, size);
	if (!err)
		err = pkt_load(probe, why, size);
	if (!err)
		err = pkt_marks_open(probe, why, size);
	if (!err)
		err = pkt_messages_open(probe, why, size);
	if (!err)
		pkt_snapshot_begin(probe);
out:
	if (err) {
		if (!why[0])
			snprintf(why, size, "%s", strerror(-err));
		pkt_probe_free(probe);
		probe = NULL;
	}
	*out = probe;
	return err;
}

void pkt_probe_free(struct pkt_probe *probe)
{
	if (!probe)
		return;
	pkt_messages_free(probe);
	pkt_marks_close(probe);
	pkt_unload(probe);
	pkt_cost_free(probe);
	clock_follow_free(probe->follow);
	if (probe->stamp_fd >= 0)
		close(probe->stamp_fd);
	pkt_labels_free(probe);
	pkt_snapshot_free(probe);
	pkt_netns_free(probe);
	free(probe->row_before);
	free(probe);
}

bool pkt_probe_proven(const struct pkt_probe *probe)
{
	return probe->proven;
}

uint64_t pkt_probe_memory(const struct pkt_probe *probe)
{
	return probe->memory;
}

int pkt_probe_clock_fd(const struct pkt_probe *probe)
{
	return clock_follow_fd(probe->follow);
}

int pkt_probe_snapshot(struct pkt_probe *probe, struct event_sink *sink,
			 struct event_dict *dict, uint32_t flags)
{
	int err = pkt_snapshot_put(probe, sink, dict, flags);

	if (probe->detached)
		pkt_detach(probe);
	return err;
}
