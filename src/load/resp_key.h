/* SPDX-License-Identifier: Apache-2.0 */
/* Which word of a command of Redis is its first key. */
#ifndef HOSTLAT_LOAD_RESP_KEY_H
#define HOSTLAT_LOAD_RESP_KEY_H

#include <stddef.h>

#include "base/strbuf.h"

/*
 * Returns the index of the first key among the `n` words of a command: the second word, except for
 * the commands of Redis that are known to be otherwise. Returns 0: the command has no key.
 */
size_t resp_key_find(const struct strbuf *words, size_t n);

#endif
