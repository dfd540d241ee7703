/* SPDX-License-Identifier: Apache-2.0 */
#include "base/zpack.h"

#include <endian.h>
#include <stdint.h>
#include <string.h>

#include "base/bug.h"

/* malloc() sizes (glibc): steps of 16 bytes, from 32 on, of which malloc() uses 8. */
#define STEP 16
#define MALLOC 8
#define LEAST 24

_Static_assert(ZPACK_GROUP == 2 * sizeof(uint64_t), "half a byte for each word");
_Static_assert(ZPACK_MIN == sizeof(uint64_t), "a bit for each group");

/* Returns the number of significant bytes of a word; 0 for 0. */
static unsigned int zpack_word_length(uint64_t word)
{
	return word ? 8 - (unsigned int)__builtin_clzll(word) / 8 : 0;
}

/*
 * Writes 8 bytes; the next word overwrites the insignificant ones. A branch on lengths would be
 * slower: they are random.
 */
static unsigned char *zpack_put_word(unsigned char *to, uint64_t word, unsigned int length)
{
	word = htole64(word);
	memcpy(to, &word, sizeof(word));
	return to + length;
}

size_t zpack_pack(const void *from, size_t size, unsigned char *to)
{
	unsigned char data[ZPACK_MOST + sizeof(uint64_t)], *end = data;
	unsigned char *lengths = to + ZPACK_MIN;
	const unsigned char *at = from;
	uint64_t groups = 0;

	BUG_ON(size % ZPACK_GROUP || size > ZPACK_MOST);
	for (size_t i = 0; i < size / ZPACK_GROUP; i++, at += ZPACK_GROUP) {
		unsigned int a, b;
		uint64_t w[2];

		memcpy(w, at, sizeof(w));
		if (!(w[0] | w[1]))
			continue;
		groups |= 1ULL << i;
		a = zpack_word_length(w[0]);
		b = zpack_word_length(w[1]);
		*lengths++ = (unsigned char)(a | b << 4);
		end = zpack_put_word(zpack_put_word(end, w[0], a), w[1], b);
	}
	memcpy(to, &groups, sizeof(groups));
	memcpy(lengths, data, (size_t)(end - data));
	return (size_t)(lengths - to) + (size_t)(end - data);
}

/*
 * Returns the word in the `length` bytes before `end`. The 8 bytes before `end` are loaded: packed
 * data begins with 8 bytes of group bits, so the load stays within it.
 */
static uint64_t zpack_get_word(const unsigned char *end, unsigned int length)
{
	const unsigned int half = 4 * (8 - length);
	uint64_t word;

	memcpy(&word, end - sizeof(word), sizeof(word));
	return le64toh(word) >> half >> half; /* two shifts: a shift by 64 is undefined */
}

void zpack_unpack(const unsigned char *packed, void *to, size_t size)
{
	const unsigned char *lengths, *p;
	uint64_t groups;

	BUG_ON(size % ZPACK_GROUP || size > ZPACK_MOST);
	memset(to, 0, size);
	if (!packed)
		return;
	memcpy(&groups, packed, sizeof(groups));
	lengths = packed + ZPACK_MIN;
	p = lengths + __builtin_popcountll(groups);
	for (; groups; groups &= groups - 1) {
		const size_t at = (size_t)__builtin_ctzll(groups) * ZPACK_GROUP;
		const unsigned int a = *lengths & 15, b = *lengths++ >> 4;
		const uint64_t w[2] = { zpack_get_word(p + a, a), zpack_get_word(p + a + b, b) };

		memcpy((char *)to + at, w, sizeof(w));
		p += a + b;
	}
}

size_t zpack_room(size_t had, size_t need)
{
	if (need <= had && need > had / 2)
		return had;
	if (!need)
		return 0;
	need = (need + STEP - 1 - MALLOC) / STEP * STEP + MALLOC;
	return need < LEAST ? LEAST : need;
}
