/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live source of `hostlat watch`: loads the programs of src/bpf/watch.bpf.c, proves that their
 * hooks fire, and turns what they counted into events.
 *
 *	pkt_probe_open(&probe, &config);      bind, load, attach, self-test
 *	pkt_probe_describe(probe, sink, dict);       facts of the run, bindings, clock
 *	every interval: pkt_probe_snapshot(probe, sink, dict, flags);    deltas, EV_INTERVAL
 *	pkt_probe_free(probe);
 *
 * Nothing is pinned: when the process ends, however it ends, the kernel removes everything.
 */
#ifndef HOSTLAT_PROBE_PKT_PROBE_H
#define HOSTLAT_PROBE_PKT_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/dict.h"
#include "event/source.h"
#include "event/writer.h"
#include "probe/packet/pkt_config.h"

struct pkt_probe;

/*
 * Returns 0 or -errno with the reason in words, and what to do, in `why`: -EPERM (privileges),
 * -ENOENT (no BTF, or a hook that nothing can do without), -ENOMEM (`memory` is too small).
 */
int pkt_probe_open(struct pkt_probe **probe, const struct pkt_probe_config *config,
		     char *why, size_t size);

/* Detaches everything. NULL is fine. */
void pkt_probe_free(struct pkt_probe *probe);

/* Readable when the realtime clock was set: then call pkt_probe_clock(). -1 if there is none. */
int pkt_probe_clock_fd(const struct pkt_probe *probe);

/* Publishes the realtime offset to the programs and reports a change as EV_CLOCK. */
int pkt_probe_clock(struct pkt_probe *probe, struct event_sink *sink);

/* EV_FACTs, EV_BINDINGs and EV_CLOCK: what opens every stream. */
int pkt_probe_describe(struct pkt_probe *probe, struct event_sink *sink,
			 struct event_dict *dict);

/*
 * The messages since the last time, if they are asked for: EV_FLOW and EV_MESSAGE. Returns the
 * writer's first error. If this is called too seldom, some find no room: how many, so far.
 */
int pkt_probe_messages(struct pkt_probe *probe, struct event_writer *writer);
uint64_t pkt_probe_messages_lost(const struct pkt_probe *probe);

/*
 * What happened since the last snapshot, closed by an EV_INTERVAL with `flags`. Costs CPU only for
 * rows that were touched. Returns 0 or an error of the sink.
 */
int pkt_probe_snapshot(struct pkt_probe *probe, struct event_sink *sink,
			 struct event_dict *dict, uint32_t flags);

/*
 * Whether the self-test has seen the hooks fire. It needs the kernel's BPF statistics, which take
 * CAP_SYS_ADMIN unless an administrator has them on, and a loopback interface that is up.
 */
bool pkt_probe_proven(const struct pkt_probe *probe);

/* Bytes that the maps take. */
uint64_t pkt_probe_memory(const struct pkt_probe *probe);

#endif
