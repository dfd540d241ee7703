/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes big-endian integers at any address. */
#ifndef HOSTLAT_LOAD_WIRE_H
#define HOSTLAT_LOAD_WIRE_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline void wire_put16(void *to, uint16_t value)
{
	value = htobe16(value);
	memcpy(to, &value, sizeof(value));
}

static inline void wire_put32(void *to, uint32_t value)
{
	value = htobe32(value);
	memcpy(to, &value, sizeof(value));
}

static inline void wire_put64(void *to, uint64_t value)
{
	value = htobe64(value);
	memcpy(to, &value, sizeof(value));
}

static inline uint16_t wire_get16(const void *from)
{
	uint16_t value;

	memcpy(&value, from, sizeof(value));
	return be16toh(value);
}

static inline uint32_t wire_get32(const void *from)
{
	uint32_t value;

	memcpy(&value, from, sizeof(value));
	return be32toh(value);
}

static inline uint64_t wire_get64(const void *from)
{
	uint64_t value;

	memcpy(&value, from, sizeof(value));
	return be64toh(value);
}

#endif
