/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <inttypes.h>
#include <linux/net_tstamp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/sort.h"
#include "host/ethtool.h"
#include "host/facts_source.h"
#include "host/iface.h"

#define IFACES_SHOWN_MAX 64     /* shown at most: container hosts have thousands of similar ones */
#define IRQS_MAX         256    /* interrupts of one interface, at most */
#define QUEUES_MAX       256

/*
 * Adds the sums over all processors, since boot, of two columns of softnet_stat: packets dropped
 * because the backlog was full, and how often polling stopped with work left
 * (Documentation/admin-guide/sysctl/net.rst, netdev_budget).
 */
void fact_softnet(const struct fact_source *source, const char *key, const char *arg)
{
	uint64_t dropped = 0, squeezed = 0, n[3];
	char *text, *rest, *line, name[HOST_FACT_KEY_MAX];
	int err;

	err = host_read_all(&text, 1 << 20, "%s/%s", source->root->proc, arg);
	if (err < 0)
		return;
	for (rest = text; (line = host_next_line(&rest));) {
		if (sscanf(line, "%" SCNx64 " %" SCNx64 " %" SCNx64, &n[0], &n[1], &n[2]) != 3)
			continue;
		dropped += n[1];
		squeezed += n[2];
	}
	free(text);
	snprintf(name, sizeof(name), "%s.dropped", key);
	host_facts_add(source->facts, name, "%" PRIu64, dropped);
	snprintf(name, sizeof(name), "%s.squeezed", key);
	host_facts_add(source->facts, name, "%" PRIu64, squeezed);
}

/* The interface whose facts are being collected. */
struct nic {
	const struct fact_source *source;
	const struct host_iface *iface;
	const char *key;
	int fd;                 /* socket for ethtool */
	char sys[HOST_PATH_MAX / 2]; /* folder of the interface below /sys */
};

static void __attribute__((format(printf, 3, 4)))
nic_add(const struct nic *nic, const char *name, const char *fmt, ...)
{
	char key[HOST_FACT_KEY_MAX], value[HOST_FACT_VALUE_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(value, sizeof(value), fmt, args);
	va_end(args);
	snprintf(key, sizeof(key), "%s.%s.%s", nic->key, nic->iface->name, name);
	host_facts_add(nic->source->facts, key, "%s", value);
}

static void nic_file(const struct nic *nic, const char *name, const char *file)
{
	char key[HOST_FACT_KEY_MAX], path[HOST_PATH_MAX];

	snprintf(key, sizeof(key), "%s.%s.%s", nic->key, nic->iface->name, name);
	snprintf(path, sizeof(path), "%s/%s", nic->sys, file);
	fact_sys(nic->source, key, path);
}

static void nic_link(const struct nic *nic)
{
	const struct host_iface *iface = nic->iface;
	char driver[32];

	if (iface->kind[0])
		nic_add(nic, "kind", "%s", iface->kind);
	if (!ethtool_driver(nic->fd, iface->name, driver, sizeof(driver)) && driver[0])
		nic_add(nic, "driver", "%s", driver);
	nic_add(nic, "state", "%s", iface->up ? "up" : "down");
	nic_add(nic, "mtu", "%" PRIu32, iface->mtu);
	nic_add(nic, "rx_queues", "%" PRIu32, iface->rx_queues);
	nic_add(nic, "tx_queues", "%" PRIu32, iface->tx_queues);
	nic_add(nic, "txqueuelen", "%" PRIu32, iface->txqlen);
	if (iface->leaf[0])
		nic_add(nic, "qdisc", "%s, leaves %s", iface->qdisc, iface->leaf);
	else if (iface->qdisc[0])
		nic_add(nic, "qdisc", "%s", iface->qdisc);
}

static void nic_coalesce(const struct nic *nic)
{
	struct ethtool_coalesce c = { .cmd = ETHTOOL_GCOALESCE };

	if (ethtool_ask(nic->fd, nic->iface->name, &c))
		return;
	nic_add(nic, "coalesce.adaptive_rx", "%s", c.use_adaptive_rx_coalesce ? "on" : "off");
	nic_add(nic, "coalesce.adaptive_tx", "%s", c.use_adaptive_tx_coalesce ? "on" : "off");
	nic_add(nic, "coalesce.rx_usecs", "%" PRIu32, c.rx_coalesce_usecs);
	nic_add(nic, "coalesce.rx_frames", "%" PRIu32, c.rx_max_coalesced_frames);
	nic_add(nic, "coalesce.tx_usecs", "%" PRIu32, c.tx_coalesce_usecs);
	nic_add(nic, "coalesce.tx_frames", "%" PRIu32, c.tx_max_coalesced_frames);
}

static void nic_rings(const struct nic *nic)
{
	struct ethtool_ringparam r = { .cmd = ETHTOOL_GRINGPARAM };

	if (ethtool_ask(nic->fd, nic->iface->name, &r))
		return;
	nic_add(nic, "ring.rx", "%" PRIu32, r.rx_pending);
	nic_add(nic, "ring.rx_max", "%" PRIu32, r.rx_max_pending);
	nic_add(nic, "ring.tx", "%" PRIu32, r.tx_pending);
	nic_add(nic, "ring.tx_max", "%" PRIu32, r.tx_max_pending);
}

static void nic_features(const struct nic *nic)
{
	struct strbuf names = STRBUF_INIT(HOST_FACT_VALUE_MAX - 1);
	struct ethtool_eee eee = { .cmd = ETHTOOL_GEEE };

	if (!ethtool_features(nic->fd, nic->iface->name, &names))
		nic_add(nic, "offloads", "%s", strbuf_str(&names));
	strbuf_release(&names);
	if (!ethtool_ask(nic->fd, nic->iface->name, &eee))
		nic_add(nic, "eee", "%s", eee.eee_active ? "active" :
			eee.eee_enabled ? "enabled" : "off");
}

static void nic_timestamping(const struct nic *nic)
{
	static const struct {
		uint32_t bit;
		const char *name;
	} bits[] = {
		{ SOF_TIMESTAMPING_RX_HARDWARE, "rx-hardware" },
		{ SOF_TIMESTAMPING_TX_HARDWARE, "tx-hardware" },
		{ SOF_TIMESTAMPING_RX_SOFTWARE, "rx-software" },
		{ SOF_TIMESTAMPING_TX_SOFTWARE, "tx-software" },
	};
	struct ethtool_ts_info info = { .cmd = ETHTOOL_GET_TS_INFO };
	char text[128] = "";
	size_t n = 0;

	if (ethtool_ask(nic->fd, nic->iface->name, &info))
		return;
	for (size_t i = 0; i < ARRAY_LEN(bits); i++)
		if (info.so_timestamping & bits[i].bit)
			n += snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "",
				      bits[i].name);
	nic_add(nic, "timestamping", "%s", n ? text : "none");
}

struct numbers {
	uint64_t items[IRQS_MAX];
	size_t n;
};

static int keep_number(void *ctx, const char *name)
{
	struct numbers *numbers = ctx;
	uint64_t number;

	if (!parse_u64(name, &number) && numbers->n < IRQS_MAX)
		numbers->items[numbers->n++] = number;
	return 0;
}

static int compare_numbers(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return sort_order(*x, *y);
}

static int keep_action(void *ctx, const char *name)
{
	snprintf(ctx, 64, "%s", name);
	return 0;
}

/* Reads an interrupt's handler from /sys, else from /proc: the folder /proc/irq/41/virtio3-rx. */
static void irq_action(const struct nic *nic, uint64_t irq, char action[64])
{
	char folder[HOST_PATH_MAX];

	action[0] = '\0';
	if (host_read(action, 64, "%s/kernel/irq/%" PRIu64 "/actions", nic->source->root->sys,
		      irq) > 0)
		return;
	snprintf(folder, sizeof(folder), "%s/irq/%" PRIu64, nic->source->root->proc, irq);
	host_each_entry(keep_action, action, 64, "%s", folder);
}

/*
 * Adds the processors that handle the interface's interrupts, which for virtio belong to the parent
 * device. The count of different processors is added only for several queues.
 */
static void nic_irqs(const struct nic *nic)
{
	char allowed[512], effective[512], name[64], action[64];
	const struct host_root *root = nic->source->root;
	struct numbers irqs = { .n = 0 };
	uint64_t cpus[IRQS_MAX], cpu;
	size_t ncpus = 0, j;

	host_each_entry(keep_number, &irqs, IRQS_MAX, "%s/%s/device/msi_irqs", root->sys, nic->sys);
	if (!irqs.n)
		host_each_entry(keep_number, &irqs, IRQS_MAX, "%s/%s/device/../msi_irqs", root->sys,
				nic->sys);
	qsort(irqs.items, irqs.n, sizeof(irqs.items[0]), compare_numbers);
	for (size_t i = 0; i < irqs.n; i++) {
		irq_action(nic, irqs.items[i], action);
		if (!action[0] || host_read(allowed, sizeof(allowed),
					    "%s/irq/%" PRIu64 "/smp_affinity_list", root->proc,
					    irqs.items[i]) < 0)
			continue;
		if (host_read(effective, sizeof(effective),
			      "%s/irq/%" PRIu64 "/effective_affinity_list", root->proc,
			      irqs.items[i]) < 0)
			snprintf(effective, sizeof(effective), "unknown");
		snprintf(name, sizeof(name), "irq.%" PRIu64, irqs.items[i]);
		nic_add(nic, name, "%s on %s of %s", action, effective, allowed);
		if (parse_u64(effective, &cpu))
			continue;
		for (j = 0; j < ncpus && cpus[j] != cpu; j++)
			;
		cpus[j] = cpu;
		ncpus += j == ncpus;
	}
	if (nic->iface->rx_queues > 1 && ncpus)
		nic_add(nic, "irq_cpus", "%zu", ncpus);
}

/*
 * Adds each receive queue's rps_cpus mask, such as "00000000,0000000f", if a bit is set: then
 * software steering (RPS) of the queue is on.
 */
static void nic_steering(const struct nic *nic)
{
	char mask[512], file[64], name[64];

	for (uint32_t i = 0; i < nic->iface->rx_queues && i < QUEUES_MAX; i++) {
		snprintf(file, sizeof(file), "queues/rx-%" PRIu32 "/rps_cpus", i);
		if (host_read(mask, sizeof(mask), "%s/%s/%s", nic->source->root->sys, nic->sys,
			      file) <= 0 || strspn(mask, "0,") == strlen(mask))
			continue;
		snprintf(name, sizeof(name), "rps.rx-%" PRIu32, i);
		nic_add(nic, name, "%s", mask);
	}
}

/*
 * Returns true if /sys shows this interface: it may be mounted from another namespace with an
 * interface of the same name, so index and address must match. Loopbacks are all alike.
 */
static bool sys_is_ours(const struct nic *nic)
{
	char address[HOST_ADDRESS_MAX];
	uint64_t index;

	return !host_read_u64(&index, "%s/%s/ifindex", nic->source->root->sys, nic->sys) &&
	       index == nic->iface->ifindex &&
	       host_read(address, sizeof(address), "%s/%s/address", nic->source->root->sys,
			 nic->sys) >= 0 &&
	       !strcmp(address, nic->iface->address);
}

static void nic_sysfs(const struct nic *nic)
{
	char speed[32];

	if (!sys_is_ours(nic))
		return;
	/* Adds neither speed nor numa_node if it is unknown: -1, or not readable. */
	if (host_read(speed, sizeof(speed), "%s/%s/speed", nic->source->root->sys, nic->sys) > 0 &&
	    speed[0] != '-')
		nic_add(nic, "speed_mbit", "%s", speed);
	if (host_read(speed, sizeof(speed), "%s/%s/device/numa_node", nic->source->root->sys,
		      nic->sys) > 0 && speed[0] != '-')
		nic_add(nic, "numa_node", "%s", speed);
	nic_file(nic, "gro_flush_timeout_ns", "gro_flush_timeout");
	nic_file(nic, "napi_defer_hard_irqs", "napi_defer_hard_irqs");
	nic_file(nic, "threaded", "threaded");
	nic_steering(nic);
	nic_irqs(nic);
}

void fact_interfaces(const struct fact_source *source, const char *key, const char *arg)
{
	struct nic nic = { .source = source, .key = key };
	struct host_iface_vec list;
	char count[HOST_FACT_KEY_MAX];
	int err;

	if (!source->root->live)
		return;
	snprintf(count, sizeof(count), "%s.count", key);
	nic.fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	err = nic.fd < 0 ? -errno : host_iface_list(NULL, &list);
	if (err) {
		host_facts_add_unknown(source->facts, count, "list of interfaces", err);
		goto out;
	}
	host_facts_add(source->facts, count, "%zu", list.len);
	for (size_t i = 0; i < list.len && i < IFACES_SHOWN_MAX; i++) {
		nic.iface = &list.items[i];
		snprintf(nic.sys, sizeof(nic.sys), "%s/%s", arg, nic.iface->name);
		nic_link(&nic);
		if (!nic.iface->up)
			continue;
		nic_coalesce(&nic);
		nic_rings(&nic);
		nic_features(&nic);
		nic_timestamping(&nic);
		nic_sysfs(&nic);
	}
	host_iface_vec_release(&list);
out:
	if (nic.fd >= 0)
		close(nic.fd);
}
