/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source of connections for `hostlat conns`: BPF programs (conns_probe.h describes the functions)
 * or inet_diag (conns_diag.h).
 */
#ifndef HOSTLAT_PROBE_CONNS_SOURCE_H
#define HOSTLAT_PROBE_CONNS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi_conns.h"
#include "event/dict.h"
#include "event/source.h"
#include "probe/connection/conns_pass.h"

enum conns_collect { CONNS_COLLECT_AUTO, CONNS_COLLECT_BPF, CONNS_COLLECT_INET_DIAG };

struct conns_source;

/*
 * Opens the source. AUTO: BPF programs, or inet_diag where they cannot be used, with the reason in
 * `why`. Returns 0, or -errno with the reason in `why`.
 */
int conns_source_open(struct conns_source **out, enum conns_collect how,
		      const struct conns_log *log, char *why, size_t size);
void conns_source_free(struct conns_source *source);

/* Returns whether inet_diag replaces BPF programs that cannot be used. */
bool conns_source_is_fallback(const struct conns_source *source);

int conns_source_describe(struct conns_source *source, struct event_sink *sink);
void conns_source_output(struct conns_source *source, struct event_sink *sink,
			 struct event_dict *dict);
int conns_source_sample(struct conns_source *source, enum conn_level level, double sample_ns,
			struct conns_pass *pass);
void conns_source_cover(struct conns_source *source, enum conn_level level, bool sampled,
			uint64_t now);
void conns_source_gap(struct conns_source *source, enum conn_level level, uint64_t from,
		      uint64_t to, uint64_t ns);
int conns_source_read(struct conns_source *source, enum conn_level level, uint64_t quota,
		      struct conns_pass *pass);
/* Returns a descriptor, readable when many connections have closed; -1 with inet_diag. */
int conns_source_fd(const struct conns_source *source);
bool conns_source_block(struct conns_source *source, struct event_block *block);
void conns_source_aim(struct conns_source *source, enum conn_level level, double hz);
void conns_source_members(const struct conns_source *source, uint64_t members[LEVELS]);
void conns_source_thin(struct conns_source *source, uint32_t n);
void conns_source_follow(struct conns_source *source, uint32_t n);
bool conns_source_looked(struct conns_source *source);
void conns_source_ends(struct conns_source *source, struct conns_ends *ends);
int conns_source_choose(struct conns_source *source, uint64_t cookie);
int conns_source_calls(struct conns_source *source, uint64_t grant);
bool conns_source_call_block(struct conns_source *source, struct event_block *block);
uint64_t conns_source_calls_left_out(const struct conns_source *source);
void conns_source_lost(const struct conns_source *source, struct conns_lost *lost);
bool conns_source_cost(struct conns_source *source, struct conns_push *push);

#endif
