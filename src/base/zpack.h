/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is mostly 0, without its zeros: counters of which a few count, numbers that are small
 * for their width. It is looked at as groups of two 64-bit words. What is packed is a bit for each
 * group that says whether there is anything in it; then for each of these a byte that says how many
 * bytes its words have without leading zeros; then these bytes. Where nothing is 0, this adds a bit
 * more than a sixteenth.
 *
 *	unsigned char bytes[ZPACK_MAX(sizeof(counters))];
 *	size_t n = zpack_pack(&counters, sizeof(counters), bytes), room = zpack_room(had, n);
 *
 * then `n` bytes are kept in an allocation of `room`. This is for the memory of a process, not for
 * what is handed on: nothing that is unpacked is checked.
 */
#ifndef HOSTLAT_BASE_ZPACK_H
#define HOSTLAT_BASE_ZPACK_H

#include <stddef.h>

#define ZPACK_GROUP 16                   /* bytes; sizes are multiples of it, up to */
#define ZPACK_MOST (64 * ZPACK_GROUP)

/* Largest and smallest packed size: nothing of `size` bytes is 0; all of them are. */
#define ZPACK_MAX(size) (ZPACK_MIN + (size) / ZPACK_GROUP + (size))
#define ZPACK_MIN 8

/* Packs from[size] into to[ZPACK_MAX(size)]; returns how many bytes of it are used. */
size_t zpack_pack(const void *from, size_t size, unsigned char *to);

/* Unpacks what zpack_pack() packed. From NULL or ZPACK_MIN zeros, all is 0. */
void zpack_unpack(const unsigned char *packed, void *to, size_t size);

/*
 * The bytes that an allocation of `had` should have for `need`: `had` as long as it is enough and
 * not twice as much, else as many as malloc() gives anyway. 0 is no allocation.
 */
size_t zpack_room(size_t had, size_t need);

#endif
