/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HOSTLAT_TESTS_SEAL_H
#define HOSTLAT_TESTS_SEAL_H

#include <stddef.h>

/* Puts checksums and magics of an event file right, so that a fuzzer gets behind them. */
void seal_file(unsigned char *data, size_t size);

#endif
