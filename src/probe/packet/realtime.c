/* SPDX-License-Identifier: Apache-2.0 */
/* Follows the realtime clock's offset to the monotonic clock, for BPF programs and event stream. */
#include <errno.h>

#include "clock/clock.h"
#include "probe/packet/pkt_internal.h"
#include "probe/packet/pkt_probe.h"
#include "bpf/watch.skel.h"

void pkt_publish_clock(struct pkt_probe *probe, const struct clock_follow_params *params)
{
	struct clock_follow_params last;

	if (!params) {
		clock_follow_last(probe->follow, &last);
		params = &last;
	}
	*(volatile int64_t *)&probe->skel->bss->tai_offset = params->tai_offset_s * 1000000000LL;
	*(volatile int64_t *)&probe->skel->bss->realtime_offset = params->offset_ns;
}

int pkt_probe_clock(struct pkt_probe *probe, struct event_sink *sink)
{
	struct clock_follow_params p;
	struct event_clock e = {};
	int err = clock_follow_update(probe->follow, &p);

	if (err)
		return err == -EAGAIN ? 0 : err;
	pkt_publish_clock(probe, &p);
	e.mono_ns = p.mono_ns;
	e.realtime_minus_mono_ns = p.offset_ns;
	e.error_ns = p.error_ns;
	e.tai_offset_s = p.tai_offset_s;
	e.flags = p.stepped ? CLOCK_STEPPED : 0;
	return event_put(sink, EV_CLOCK, clock_now(), &e, sizeof(e));
}
