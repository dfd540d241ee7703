/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keyed hashes for tables whose keys others choose. The key is random in each process, so nobody
 * can prepare keys that fall into one slot. Results must not depend on it: a hash decides where
 * something is found, never in which order it is reported.
 *
 * SipHash-1-3: Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012.
 */
#ifndef HOSTLAT_BASE_HASH_H
#define HOSTLAT_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_bytes(const void *bytes, size_t size);
uint64_t hash_u64(uint64_t x);

/* The key. The first hash fills it at random unless a test has set it. */
extern uint64_t hash_key[2];

#endif
