/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel's BPF statistics (kernel.bpf_stats_enabled): runs of programs and their time in ns. */
#ifndef HOSTLAT_PROBE_PROG_STATS_H
#define HOSTLAT_PROBE_PROG_STATS_H

#include <stdbool.h>
#include <stdint.h>

struct bpf_object;
struct bpf_program;

/* Returns true if the kernel's BPF statistics are on, whoever switched them on. */
bool prog_stats_are_on(void);

/* Adds a program's time (ns) and runs since it was loaded; 0 if it is not loaded. */
void prog_stats_add(const struct bpf_program *program, uint64_t *ns, uint64_t *runs);

/*
 * Returns how many runs of a program the kernel has skipped since it was loaded, as it would have
 * interrupted itself on its CPU (kernel/bpf/trampoline.c, prog->active).
 */
uint64_t prog_stats_skipped(const struct bpf_program *program);

/* Adds the time (ns) and the runs of all programs of an object. */
void prog_stats_add_all(const struct bpf_object *object, uint64_t *ns, uint64_t *runs);

#endif
