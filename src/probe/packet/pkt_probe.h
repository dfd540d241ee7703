/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live source of `hostlat watch`: loads the programs of src/bpf/watch.bpf.c, proves that their
 * hooks fire, and turns their counters into events.
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
 * -ENOENT (no BTF, or no hook of an essential stage), -ENOMEM (`memory` is too small).
 */
int pkt_probe_open(struct pkt_probe **probe, const struct pkt_probe_config *config,
		     char *why, size_t size);

/* Detaches and frees everything. Accepts NULL. */
void pkt_probe_free(struct pkt_probe *probe);

/*
 * Returns a descriptor that is readable when the realtime clock was set, for pkt_probe_clock(); or
 * -1.
 */
int pkt_probe_clock_fd(const struct pkt_probe *probe);

/*
 * Passes realtime's offset to the programs; puts a change as EV_CLOCK. Returns 0 or -errno.
 */
int pkt_probe_clock(struct pkt_probe *probe, struct event_sink *sink);

/* Puts EV_FACTs, EV_BINDINGs and EV_CLOCK, which open a stream. Returns 0 or the sink's error. */
int pkt_probe_describe(struct pkt_probe *probe, struct event_sink *sink,
			 struct event_dict *dict);

/*
 * Writes the messages since the last call as EV_FLOW and EV_MESSAGE, if the configuration asks for
 * them. Returns 0 or the writer's first error. If called too rarely, messages are lost:
 * pkt_probe_messages_lost() returns their number so far.
 */
int pkt_probe_messages(struct pkt_probe *probe, struct event_writer *writer);
uint64_t pkt_probe_messages_lost(const struct pkt_probe *probe);

/*
 * Puts the counts since the last snapshot, closed by an EV_INTERVAL with `flags`. Its CPU time
 * depends on the number of rows that changed. Returns 0 or the sink's error.
 */
int pkt_probe_snapshot(struct pkt_probe *probe, struct event_sink *sink,
			 struct event_dict *dict, uint32_t flags);

/*
 * Returns true if the self-test has seen the hooks fire. It needs the kernel's BPF statistics, i.e.
 * CAP_SYS_ADMIN unless an administrator has them on, and a loopback interface that is up.
 */
bool pkt_probe_proven(const struct pkt_probe *probe);

/* Returns the memory of all BPF maps in bytes. */
uint64_t pkt_probe_memory(const struct pkt_probe *probe);

#endif
