/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the kernel's functions by their addresses. Two functions may have the same name. */
#ifndef HOSTLAT_TRACE_SYMBOLS_H
#define HOSTLAT_TRACE_SYMBOLS_H

#include <stdint.h>

struct symbols;

/* Limit of symbols of kernel, modules and BPF, at 16 bytes and the name; more are -E2BIG. */
#define SYMBOLS_MAX (1U << 20)

/*
 * Reads a file such as /proc/kallsyms. Returns 0 or -errno; -EPERM: the file shows no addresses,
 * which needs CAP_SYSLOG or kernel.kptr_restrict=0.
 */
int symbols_read(struct symbols **out, const char *path);
void symbols_free(struct symbols *s);

/*
 * Returns the name of the function that begins at `address` or up to 16 bytes before it: on some
 * machines the traced address is behind the first instruction. NULL: unknown.
 */
const char *symbols_name(const struct symbols *s, uint64_t address);

#endif
