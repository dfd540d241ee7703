/* SPDX-License-Identifier: Apache-2.0 */
/* How a library that is preloaded together with inject.c chooses the allocation that fails. */
#ifndef HOSTLAT_TESTS_INJECT_H
#define HOSTLAT_TESTS_INJECT_H

/* Counts allocations from 1 and fails the n-th; with 0, none. */
void inject_allocation(unsigned long n);

/* If it is there, it is called before allocation n is made or fails. */
__attribute__((weak)) void inject_seen(unsigned long n);

#endif
