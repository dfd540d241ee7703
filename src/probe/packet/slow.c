/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the ring of slow messages and puts each as EV_SLOW. */
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "probe/packet/pkt_internal.h"
#include "bpf/watch.skel.h"

struct slow_reader {
	const struct pkt_probe *probe;
	struct event_sink *sink;
	uint64_t now;
	int err; /* first error of `sink`; 0: none */
};

static int slow_put_record(void *ctx, void *data, size_t size)
{
	struct slow_reader *t = ctx;
	struct event_slow e;

	if (!t->sink || size != sizeof(e))
		return 0;
	memcpy(&e, data, sizeof(e)); /* a copy: the ring is read-only */
	if (t->probe->config.origin != ORIGIN_NONE)
		e.origin = t->probe->config.origin;
	else
		e.origin = e.origin & (ORIGINS_AT_ONCE - 1) ? ORIGIN_STACK : ORIGIN_LINK;
	if (!t->err)
		t->err = event_put(t->sink, EV_SLOW, t->now, &e, sizeof(e));
	return 0;
}

int pkt_slow_set_size(struct pkt_probe *probe)
{
	/* a ring's size must be a power of two and a multiple of the page size */
	long least = sysconf(_SC_PAGESIZE);

	return bpf_map__set_max_entries(probe->skel->maps.slow_ring, probe->config.slower_than_ns ?
					SLOW_RING : (uint32_t)least);
}

/* Puts the number of slow messages suppressed, as they exceeded the interval's limit. */
static int slow_put_suppressed(struct pkt_probe *probe, struct event_sink *sink,
			       struct event_dict *dict, uint64_t now, int protocol)
{
	struct event_count e = {
		.what = COUNT_SUPPRESSED, .stage = STAGE_READ, .direction = DIR_INGRESS,
		.protocol = pkt_protocol[protocol],
	};
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < probe->ncpus; cpu++)
		sum += pkt_cpu(probe, cpu)->count.suppressed[protocol];
	e.count = sum - probe->suppressed_before[protocol];
	probe->suppressed_before[protocol] = sum;
	if (!sink || !e.count)
		return 0;
	e.reason = event_dict_intern(dict, DICT_STRING, "rate", sink, now);
	return event_put(sink, EV_COUNT, now, &e, sizeof(e));
}

int pkt_slow_put(struct pkt_probe *probe, struct event_sink *sink, struct event_dict *dict,
	       uint64_t now)
{
	struct slow_reader t = { .probe = probe, .sink = sink, .now = now };
	struct ring_buffer *ring;
	int n;

	if (!probe->config.slower_than_ns)
		return 0;
	ring = ring_buffer__new(bpf_map__fd(probe->skel->maps.slow_ring), slow_put_record, &t,
				NULL);
	if (!ring)
		return -errno;
	n = ring_buffer__consume(ring);
	probe->skel->bss->slow_max_ns = 0;
	ring_buffer__free(ring);
	for (int p = 0; p < ROW_PROTOS && !t.err; p++)
		t.err = slow_put_suppressed(probe, sink, dict, now, p);
	return t.err ? t.err : n < 0 ? n : 0;
}
