/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packs memory that is mostly 0, without its zeros: sparse counters, or small numbers in wide
 * fields. Memory is divided into groups of two 64-bit words. Packed data begins with a bit for each
 * group that is set if the group is not 0; then, for each such group, a byte with the lengths of
 * its words without leading zeros; then these words. If nothing is 0, this adds slightly more than
 * a sixteenth.
 *
 *	unsigned char bytes[ZPACK_MAX(sizeof(counters))];
 *	size_t n = zpack_pack(&counters, sizeof(counters), bytes), room = zpack_room(had, n);
 *
 * then `n` bytes are stored in an allocation of `room`. Only for memory of this process, not for
 * data from others: unpacking does not check its input.
 */
#ifndef HOSTLAT_BASE_ZPACK_H
#define HOSTLAT_BASE_ZPACK_H

#include <stddef.h>

/* bytes that are packed together; a size to pack is a multiple of it, at most ZPACK_MOST */
#define ZPACK_GROUP 16
#define ZPACK_MOST (64 * ZPACK_GROUP)

/* Largest and smallest packed size: all of `size` bytes are nonzero, or all are 0. */
#define ZPACK_MAX(size) (ZPACK_MIN + (size) / ZPACK_GROUP + (size))
#define ZPACK_MIN 8

/* Packs from[size] into to[ZPACK_MAX(size)]; returns the number of bytes used in `to`. */
size_t zpack_pack(const void *from, size_t size, unsigned char *to);

/* Unpacks the output of zpack_pack(). NULL or ZPACK_MIN zeros: all is 0. */
void zpack_unpack(const unsigned char *packed, void *to, size_t size);

/*
 * Returns the size that an allocation of `had` bytes should get for `need` bytes: `had` if enough
 * and less than twice as much, else `need` rounded up to a size of malloc(). 0 if `need` is 0.
 */
size_t zpack_room(size_t had, size_t need);

#endif
