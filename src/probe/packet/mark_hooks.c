/* SPDX-License-Identifier: Apache-2.0 */
/* BPF programs on an application's marks (record --boundary mark), which are USDT probes. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/common/prog_stats.h"
#include "probe/packet/messages.h"
#include "probe/packet/pkt_internal.h"
#include "bpf/marks.skel.h"
#include "bpf/watch.skel.h"

#define UPROBES "/sys/bus/event_source/devices/uprobe/type"
#define OTHERWISE "--boundary receive and request need no uprobes"

struct mark_hooks {
	struct marks_bpf *skel;
	struct bpf_link *links[2];
};

static int mark_hooks_load(struct pkt_probe *probe, struct mark_hooks *h)
{
	struct watch_bpf *watch = probe->skel;
	struct marks_bpf *skel = marks_bpf__open();

	if (!skel)
		return -errno;
	h->skel = skel;
	skel->rodata->lost_at = (char *)&watch->bss->msg_lost - (char *)watch->bss;
	return bpf_map__reuse_fd(skel->maps.msg_ringbuf, bpf_map__fd(watch->maps.msg_ringbuf)) ?:
	       bpf_map__reuse_fd(skel->maps.watch_counts, bpf_map__fd(watch->maps.bss)) ?:
	       marks_bpf__load(skel);
}

static int mark_hooks_attach(struct bpf_program *p, const struct pkt_mark *mark, uint32_t pid,
			     struct bpf_link **out, char *why, size_t size)
{
	struct bpf_link *link;
	int err;

	if (access(mark->path, R_OK)) {
		err = -errno;
		snprintf(why, size, "%s cannot be read (%s)", mark->path, strerror(-err));
		return err;
	}
	link = bpf_program__attach_usdt(p, pid ? (int)pid : -1, mark->path, mark->provider,
					mark->name, NULL);
	err = libbpf_get_error(link);
	if (!err)
		*out = link;
	else if (err == -ENOENT)
		snprintf(why, size, "%s has no mark %s:%s (readelf -n lists its marks)",
			 mark->path, mark->provider, mark->name);
	else if (err == -EPERM || err == -EACCES)
		snprintf(why, size, "this kernel refuses uprobes (%s): they need CAP_SYS_ADMIN, or "
			 "CAP_PERFMON and CAP_BPF; " OTHERWISE, strerror(-err));
	else
		snprintf(why, size, "cannot attach to mark %s:%s in %s: %s", mark->provider,
			 mark->name, mark->path, strerror(-err));
	return err;
}

int pkt_marks_open(struct pkt_probe *probe, char *why, size_t size)
{
	const struct pkt_marks *marks = probe->config.marks;
	struct mark_hooks *h;
	int err;

	if (!marks)
		return 0;
	if (access(UPROBES, F_OK)) {
		snprintf(why, size, "marks need uprobes, which this kernel lacks or hides "
			 "(CONFIG_UPROBE_EVENTS, " UPROBES "); " OTHERWISE);
		return -EOPNOTSUPP;
	}
	h = calloc(1, sizeof(*h));
	probe->marks = h;
	if (!h)
		return -ENOMEM;
	err = mark_hooks_load(probe, h);
	if (err) {
		snprintf(why, size, "cannot load the BPF programs for --boundary mark: %s",
			 strerror(-err));
		return err;
	}
	/*
	 * Attaches to end marks first: a missed begin mark only loses a message, a missed end mark
	 * would extend the next message.
	 */
	return mark_hooks_attach(h->skel->progs.mark_ends, &marks->end, probe->config.pid,
				 &h->links[0], why, size)
		       ?: mark_hooks_attach(h->skel->progs.mark_begins, &marks->begin,
					    probe->config.pid, &h->links[1], why, size);
}

void pkt_marks_close(struct pkt_probe *probe)
{
	struct mark_hooks *h = probe->marks;

	if (!h)
		return;
	for (size_t i = 0; i < sizeof(h->links) / sizeof(h->links[0]); i++)
		bpf_link__destroy(h->links[i]);
	marks_bpf__destroy(h->skel);
	free(h);
	probe->marks = NULL;
}

void pkt_marks_cost(const struct pkt_probe *probe, uint64_t *run_ns, uint64_t *runs)
{
	if (probe->marks && probe->marks->skel)
		prog_stats_add_all(probe->marks->skel->obj, run_ns, runs);
}
