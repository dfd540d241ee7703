/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's statistics of BPF programs (kernel.bpf_stats_enabled): how often, and how long. */
#ifndef HOSTLAT_PROBE_PROG_STATS_H
#define HOSTLAT_PROBE_PROG_STATS_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_object;
struct bpf_program;

/* Whether they are counted now, by whoever switched them on. */
bool prog_stats_are_on(void);

/* Adds what was counted of a program since it was loaded; of one that is not loaded, nothing. */
void prog_stats_add(const struct bpf_program *program, uint64_t *ns, uint64_t *runs);

/*
 * How often a program did not run, since it was loaded, as it would have interrupted itself on its
 * CPU (kernel/bpf/trampoline.c, prog->active): nobody was told of that.
 */
uint64_t prog_stats_skipped(const struct bpf_program *program);

/* The same of all programs of an object. */
void prog_stats_add_all(const struct bpf_object *object, uint64_t *ns, uint64_t *runs);

#endif
