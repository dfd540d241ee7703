/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keyed hashes for tables with keys from other parties. Each process has a random key, so nobody
 * can prepare keys that fall into one slot. Results must not depend on it: a hash may decide where
 * an item is stored, but not the order of a report.
 */
#ifndef HOSTLAT_BASE_HASH_H
#define HOSTLAT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *bytes, size_t size);
uint64_t hash_u64(uint64_t x);

/* The key. The first hash fills it with random bits unless a test has set it. */
extern uint64_t hash_key[2];

#endif
