/* SPDX-License-Identifier: Apache-2.0 */
/* Messages for a recording, from the ring of bpf/msg_event.bpf.h, and the application's marks. */
#ifndef HOSTLAT_PROBE_MESSAGES_H
#define HOSTLAT_PROBE_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/dict.h"
#include "event/source.h"

struct pkt_probe;

/* Sets the size of the ring of message records, before loading. Returns 0 or -errno. */
int pkt_messages_set_size(struct pkt_probe *probe);
/* Opens the ring and discards the self-test's records. Returns 0, or -errno and why in `why`. */
int pkt_messages_open(struct pkt_probe *probe, char *why, size_t size);
void pkt_messages_free(struct pkt_probe *probe);

/* Returns true if send calls are recorded in addition to received messages. */
bool pkt_messages_has_sends(const struct pkt_probe *probe);
/* Puts the losses of messages since the last call, by reason. Returns 0 or the sink's error. */
int pkt_messages_put_losses(struct pkt_probe *probe, struct event_sink *sink,
			    struct event_dict *dict, uint64_t now);

/*
 * mark_hooks.c: attaches programs to the application's marks, after loading. Returns 0, or -errno
 * with the reason in `why`.
 */
int pkt_marks_open(struct pkt_probe *probe, char *why, size_t size);
void pkt_marks_close(struct pkt_probe *probe);
/* Adds CPU time (ns) and runs of the marks' programs so far, from the kernel's statistics. */
void pkt_marks_cost(const struct pkt_probe *probe, uint64_t *run_ns, uint64_t *runs);

#endif
