/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The live source of `hostlat conns` where its BPF programs cannot be used: dumps of inet_diag in
 * each namespace that hostlat may enter; its own namespace needs no privilege. Calls, single round
 * trips, kinds of losses, delayed ACKs, options, and connections that begin and end between two
 * dumps are unknown. All connections are of the activity level LEVEL_HOT.
 *
 * conns_diag_X() does what conns_probe_X() of probe/connection/conns_probe.h does.
 */
#ifndef HOSTLAT_PROBE_CONNS_DIAG_H
#define HOSTLAT_PROBE_CONNS_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi_conns.h"
#include "event/dict.h"
#include "event/source.h"
#include "probe/connection/conns_pass.h"

struct conns_diag;

int conns_diag_open(struct conns_diag **out, char *why, size_t size);
void conns_diag_free(struct conns_diag *diag);

int conns_diag_describe(struct conns_diag *diag, struct event_sink *sink);
void conns_diag_output(struct conns_diag *diag, struct event_sink *sink, struct event_dict *dict);

int conns_diag_sample(struct conns_diag *diag, enum conn_level level, double sample_ns,
		      struct conns_pass *pass);
void conns_diag_cover(struct conns_diag *diag, enum conn_level level, bool sampled, uint64_t now);
void conns_diag_gap(struct conns_diag *diag, enum conn_level level, uint64_t from, uint64_t to,
		    uint64_t ns);

/* Reads all connections by dumps, once the quotas of the calls so far add up to their number. */
int conns_diag_read(struct conns_diag *diag, enum conn_level level, uint64_t quota,
		    struct conns_pass *pass);

/* Returns whether connections were read since the last call of this function. */
bool conns_diag_looked(struct conns_diag *diag);
bool conns_diag_block(struct conns_diag *diag, struct event_block *block);
void conns_diag_aim(struct conns_diag *diag, enum conn_level level, double hz);
void conns_diag_members(const struct conns_diag *diag, uint64_t members[LEVELS]);
void conns_diag_lost(const struct conns_diag *diag, struct conns_lost *lost);

#endif
