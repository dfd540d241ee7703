/* SPDX-License-Identifier: Apache-2.0 */
/* Texts for JSON and for people: details of causes, counts with their noun, names of interrupts. */
#ifndef HOSTLAT_DIAGNOSE_WORDS_H
#define HOSTLAT_DIAGNOSE_WORDS_H

#include <stddef.h>

#include "diagnose/state.h"

#define WORDS_MAX 160

/*
 * Returns the detail of a cause as text: "softirq timer", "irq 27", "epoll_wait", "from
 * 192.0.2.9:40000 to 192.0.2.1:80"; NULL: it has none.
 */
const char *words_detail(char buf[WORDS_MAX], const struct recorded *rec, uint8_t cause,
		       uint32_t detail);

/* Returns a count with its noun: "1 target", "2 targets". */
const char *words_count(struct report *r, uint64_t n, const char *noun);

/*
 * Return the name of a softirq by its vector, and of an interrupt by its number or SPAN_VECTOR +
 * enum span_vector.
 */
const char *words_softirq(char buf[WORDS_MAX], uint32_t vector);
const char *words_hardirq(char buf[WORDS_MAX], uint32_t detail);

#endif
