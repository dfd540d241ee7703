/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/live_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/strbuf.h"
#include "host/cgroup.h"
#include "host/iface.h"
#include "host/netns.h"
#include "host/task.h"

#define BIT(stage) (1ULL << (stage))

static int live_check_netns(struct pkt_probe_config *o)
{
	struct host_netns_vec list = {};
	const struct host_netns *ns = NULL;

	if (!o->netns)
		return 0;
	if (!host_netns_list(NULL, &list))
		ns = host_netns_lookup(NULL, &list, o->netns);
	if (ns)
		o->netns_inode = ns->inode;
	else
		log_error("--netns %s: no such network namespace (`ip netns` and `lsns -t net` "
			  "list them)", o->netns);
	host_netns_vec_release(&list);
	return ns ? 0 : -ENOENT;
}

/*
 * Returns the number of network namespaces in which packets of interface `name` arrive through a
 * lower interface, and appends the lower interfaces' names to `below`.
 */
static int live_check_count_uppers(const struct host_netns_vec *list, const char *name,
				   struct strbuf *below)
{
	int n = 0;

	for (size_t i = 0; i < list->len; i++) {
		struct host_iface_vec ifaces = {};

		if (host_iface_index(&list->items[i], name) > 0 &&
		    !host_iface_list(&list->items[i], &ifaces))
			n += host_iface_comes_by(&ifaces, name, below);
		host_iface_vec_release(&ifaces);
	}
	return n;
}

/*
 * Refuses an upper interface such as a bond: BPF programs see the lower interface that received the
 * packet. Only warns if the interface is an upper one in some network namespaces, but not in all.
 */
static int live_check_lowest(const char *name, const struct host_netns_vec *list, int found)
{
	struct strbuf below = STRBUF_INIT(4096);
	int n = live_check_count_uppers(list, name, &below), err = 0;
	const char *names = below.len ? strbuf_str(&below) : "the lower interface, which is in "
							     "another network namespace";

	if (n == found) {
		log_error("--ifname %s: hostlat measures packets at the interface below it: "
			  "use %s", name, names);
		err = -EOPNOTSUPP;
	} else if (n) {
		log_warning("--ifname %s misses packets: in %d of %d network namespaces, hostlat "
			    "measures them at the interface below it: %s", name, n, found,
			    names);
	}
	strbuf_release(&below);
	return err;
}

/* Refuses an alternative name: BPF programs compare the interface's primary name. */
static int live_check_name(const char *name, const struct host_netns *ns)
{
	const int index = host_iface_index(ns, name);
	char own[IFNAMSIZ];

	if (index <= 0 || host_iface_name(ns, (uint32_t)index, own) || !strcmp(own, name))
		return 0;
	log_error("--ifname %s is an alternative name of %s: use --ifname %s", name, own,
		  own);
	return -EINVAL;
}

static int live_check_iface(const struct pkt_probe_config *o)
{
	const struct host_netns *first = NULL;
	struct host_netns_vec list = {};
	size_t unknown = 0;
	int found = 0, err = 0;

	if (!o->ifname)
		return 0;
	if (!host_netns_list(NULL, &list))
		found = host_iface_exists(&list, o->ifname, &first, &unknown);
	if (found > 0)
		err = live_check_name(o->ifname, first);
	if (found > 0 && !err && (o->stages & INGRESS_STAGES))
		err = live_check_lowest(o->ifname, &list, found);
	host_netns_vec_release(&list);
	if (found > 0)
		return err;
	log_error("--ifname %s: no interface of this name in any network namespace%s", o->ifname,
		  unknown ? " that this process can enter" : "");
	return -ENODEV;
}

/* Inode of the initial pid namespace, whose pids BPF programs see; include/linux/proc_ns.h. */
#define PROC_PID_INIT_INO 0xeffffffcU

static int live_check_pid(const struct pkt_probe_config *o)
{
	struct host_task task;
	struct stat ns;

	if (!o->pid)
		return 0;
	if (!stat("/proc/self/ns/pid", &ns) && ns.st_ino != PROC_PID_INIT_INO) {
		log_error("--pid: hostlat runs in a pid namespace of its own, whose pids are not "
			  "the kernel's (run hostlat on the host, or use --port or --netns)");
		return -EXDEV;
	}
	if (!host_task_get(NULL, o->pid, &task)) {
		if (task.tgid == task.pid)
			return 0;
		log_error("--pid %d is thread %d of process %d: use --pid %d", task.pid,
			  task.pid, task.tgid, task.tgid);
		return -EINVAL;
	}
	log_error("--pid %" PRIu64 ": there is no such process", o->pid);
	return -ESRCH;
}

static uint32_t iface_depth(const char *path)
{
	uint32_t n = 0;

	for (; *path; path++)
		n += *path == '/' && path[1];
	return n;
}

/* Id of the root of cgroup2, from which the whole hierarchy is visible; include/linux/kernfs.h. */
#define CGROUP_ROOT_ID 1

/* Finds id and depth of a group (`path` below `mount`); the kernel compares groups by depth. */
static int live_check_find_cgroup(const char *mount, const char *path,
				  struct pkt_probe_config *config)
{
	char name[2 * HOST_PATH_MAX];
	uint64_t root;
	struct stat st;

	snprintf(name, sizeof(name), "%s%s", mount, path);
	if (stat(name, &st) || !S_ISDIR(st.st_mode) ||
	    host_cgroup2_id(NULL, *path ? path : "/", &config->cgroup_id))
		return -ENOENT;
	if (host_cgroup2_id(NULL, "/", &root) || root != CGROUP_ROOT_ID)
		return -EXDEV;
	if (host_cgroup2_path(NULL, config->cgroup_id, name, sizeof(name)))
		return -EPERM;
	config->cgroup_level = iface_depth(name);
	return 0;
}

/* Resolves --cgroup, given as a path of /proc/PID/cgroup or as a folder of the mounted cgroup2. */
static int live_check_cgroup(struct pkt_probe_config *o)
{
	char mount[HOST_PATH_MAX];
	const char *path = o->cgroup;
	size_t len;
	int err;

	if (!path)
		return 0;
	if (host_cgroup2_mount(NULL, mount, sizeof(mount))) {
		log_error("--cgroup: cgroup2 is not mounted here");
		return -ENOENT;
	}
	len = strlen(mount);
	if (!strncmp(path, mount, len) && (path[len] == '/' || !path[len]))
		path += len;
	err = *path == '/' || !*path ? live_check_find_cgroup(mount, path, o) : -ENOENT;
	if (err == -EXDEV)
		log_error("--cgroup: hostlat runs in a cgroup namespace of its own, where paths "
			  "are not the kernel's (run hostlat on the host)");
	else if (err == -EPERM)
		log_error("--cgroup needs CAP_DAC_READ_SEARCH, to look up the control group by its "
			  "id");
	else if (err)
		log_error("--cgroup %s: no such control group in cgroup2 (a path such as "
			  "/system.slice/nginx.service; `systemd-cgls` lists them)",
			  o->cgroup);
	return err;
}

static int live_check_origin(const struct pkt_probe_config *o)
{
	if (o->origin == ORIGIN_NONE || (o->stages & INGRESS_STAGES))
		return 0;
	log_error("--origin applies to received packets: --stages must include an ingress stage");
	return -EINVAL;
}

/*
 * Refuses --probe with options that need a packet's socket: a probed function sees packets, but not
 * their sockets. Checks the value of --probe as well.
 */
static int live_check_probe(const struct pkt_probe_config *o)
{
	const char *with = o->pid ? "--pid" : o->cgroup ? "--cgroup" : o->by ? "--by" :
			   o->origin == ORIGIN_DELIVER ? "--origin deliver" : NULL;

	if (o->probe && o->max_overhead > 0) {
		log_error("--probe cannot be combined with --max-overhead: the cost of a probe is "
			  "unknown");
		return -EINVAL;
	}

	if (!o->probe)
		return 0;
	if (with)
		log_error("--probe cannot be combined with %s: a probed function does not know the "
			  "packet's socket", with);
	else if (!(o->stages & INGRESS_STAGES))
		log_error("--probe measures received packets: --stages must include an ingress "
			  "stage");
	else if (!*o->probe || strlen(o->probe) > PKT_PROBE_MAX)
		log_error("--probe takes the name of a function or tracepoint");
	else
		return 0;
	return -EINVAL;
}

/*
 * Refuses --min-queue with options and stages that cannot tell how many packets waited. All rows of
 * the result must show the same packets: those that found so many in the socket's receive queue.
 */
static int live_check_min_queue(const struct pkt_probe_config *o)
{
	if (!o->min_queue)
		return 0;
	if (o->probe)
		log_error("--min-queue cannot be combined with --probe: a probed function does not "
			  "know the packet's socket");
	else if (o->one_in || o->max_overhead > 0)
		log_error("--min-queue cannot be combined with --sample or --max-overhead: a "
			  "sample does not show how many packets wait");
	else if (o->stages & EGRESS_STAGES)
		log_error("--min-queue measures received packets: --stages must not include an "
			  "egress stage");
	else if (!(o->stages & BIT(STAGE_ENQUEUED)))
		log_error("--min-queue counts unread packets at stage enqueued: --stages must "
			  "include it");
	else
		return 0;
	return -EINVAL;
}

/* Refuses --ifname with sampling: drops and acknowledgments are counted for all interfaces. */
static int live_check_sample(const struct pkt_probe_config *o)
{
	if (!o->ifname || !(o->one_in > 1 || o->max_overhead > 0))
		return 0;
	log_error("--sample and --max-overhead cannot be combined with --ifname: the interface of "
		  "an unsampled segment is unknown when it is dropped");
	return -EINVAL;
}

/*
 * Refuses the stages irq and poll with sampling, and with options that need a packet's socket: an
 * interrupt or a NAPI poll belongs to a device and a CPU.
 */
static int live_check_arrival(const struct pkt_probe_config *o)
{
	const uint64_t keys = 1U << GROUP_IFINDEX | 1U << GROUP_CPU | 1U << GROUP_RXQ;
	const char *with = o->pid ? "--pid" : o->port ? "--port" : o->cgroup ? "--cgroup" :
			   o->min_queue ? "--min-queue" :
			   o->by & ~keys ? "--by (except ifindex, cpu and rxq)" : NULL;

	if (!(o->stages & ARRIVAL_STAGES))
		return 0;
	if (o->one_in > 1 || o->max_overhead > 0) {
		log_error("the stages irq and poll cannot be combined with --sample and "
			  "--max-overhead: every interrupt and poll is measured");
		return -EINVAL;
	}
	if (!with)
		return 0;
	log_error("the stages irq and poll cannot be combined with %s: at these stages, a packet's "
		  "socket is still unknown", with);
	return -EINVAL;
}

static int live_check_slower_than(const struct pkt_probe_config *o)
{
	if (!o->slower_than_ns || (o->stages & BIT(STAGE_READ)))
		return 0;
	log_error("--slower-than measures messages when they are read: --stages must include read");
	return -EINVAL;
}

/* Refuses sampling while messages or CPU activity are recorded, since both must be complete. */
static int live_check_tracing(const struct pkt_probe_config *o, bool activity)
{
	const char *with = o->one_in > 1 ? "--sample" : o->max_overhead > 0 ? "--max-overhead" :
			   o->min_queue ? "--min-queue" : NULL;

	if (!o->messages && !activity)
		return 0;
	if (o->messages && !(o->stages & BIT(STAGE_READ)))
		log_error("--with messages records messages when they are read: --stages must "
			  "include read");
	else if (with)
		log_error("%s can be combined with --with watch only: messages and CPU activity "
			  "are recorded for all packets", with);
	else
		return 0;
	return -EINVAL;
}

int live_check(struct pkt_probe_config *o, bool activity)
{
	int err;

	err = live_check_origin(o);
	if (!err)
		err = live_check_slower_than(o);
	if (!err)
		err = live_check_tracing(o, activity);
	if (!err)
		err = live_check_probe(o);
	if (!err)
		err = live_check_min_queue(o);
	if (!err)
		err = live_check_arrival(o);
	if (!err)
		err = live_check_sample(o);
	if (!err)
		err = live_check_netns(o);
	if (!err)
		err = live_check_cgroup(o);
	if (!err)
		err = live_check_iface(o);
	if (!err)
		err = live_check_pid(o);
	return err;
}
