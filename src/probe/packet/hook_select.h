/* SPDX-License-Identifier: Apache-2.0 */
/* Hook selection: which hook measures each stage on this kernel. */
#ifndef HOSTLAT_PROBE_HOOK_SELECT_H
#define HOSTLAT_PROBE_HOOK_SELECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "probe/packet/hooks.h"

struct function;
struct pkt_probe;

/* Binds, for each stage and protocol, the first permitted hook (--backend) that has not failed. */
void pkt_hooks_select(struct pkt_probe *probe);

/* Returns true if the user selected a stage of the mask. */
bool pkt_stages_selected(const struct pkt_probe *probe, uint32_t stages);
/* Returns true if `poll` and `link` are selected, between which GRO works. */
bool pkt_gro_selected(const struct pkt_probe *probe);
/* Returns true if a hook of that stage and protocol is bound. */
bool pkt_stage_is_bound(const struct pkt_probe *probe, uint32_t stage, uint32_t protocol);
/* Returns true if TCP's `transport` is selected and has a hook. */
bool pkt_times_transport(const struct pkt_probe *probe);
bool pkt_role_is_bound(const struct pkt_probe *probe, enum hook_role role);
/*
 * Returns true if all hooks of UDP's transmit side are bound; its stages need each of them. *why:
 * why the first of them failed, or NULL.
 */
bool pkt_udp_sends_bound(const struct pkt_probe *probe, const char **why);
/* Returns true if the packets that no stage covers are counted; else false, and why in *why. */
bool pkt_counts_other_traffic(const struct pkt_probe *probe, const char **why);
/* Returns 0, or -ENOENT with the reason in `why` if no selected direction can be measured. */
int pkt_check_essential(struct pkt_probe *probe, char *why, size_t size);

/*
 * --probe (function.c): pkt_function_find() finds the target; it returns 0, or -ENOENT with the
 * reason in `why`. pkt_function_select() binds the first hook that works; pkt_function_bound()
 * returns that hook, or NULL.
 */
int pkt_function_find(struct pkt_probe *probe, char *why, size_t size);
void pkt_function_select(struct pkt_probe *probe);
struct function *pkt_function_bound(struct pkt_probe *probe);

#endif
