/* SPDX-License-Identifier: Apache-2.0 */
/* The URLs of a target: which of them a request is for, and how many connections a target has. */
#ifndef HOSTLAT_LOAD_TARGET_URLS_H
#define HOSTLAT_LOAD_TARGET_URLS_H

#include "load/thread.h"
#include "load/url_list.h"

/*
 * Makes the requests of the URLs of target number `number` of the list. The target's workload, made
 * from its first URL, must exist. Returns 0 or -errno with a sentence in `why`.
 */
int target_urls_init(struct load_target *target, const struct url_list *list, uint32_t number,
		     struct strbuf *why);

void target_urls_release(struct load_target *target);

/* Draws the requests of a URL, by the weights. Uses no random number if there is one URL. */
const struct workload *target_urls_draw(const struct load_target *target, struct rng *rng);

/*
 * Deals `n` connections to the targets of the list, by their weights and at least one to each if
 * there are enough. Returns the number of the target of each connection, to be freed by the caller;
 * NULL: no memory.
 */
uint32_t *target_urls_deal(const struct url_list *list, uint32_t n);

#endif
