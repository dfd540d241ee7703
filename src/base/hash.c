/* SPDX-License-Identifier: Apache-2.0 */
#include "base/hash.h"

#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

/*
 * Key of SipHash-1-3: Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012.
 */
uint64_t hash_key[2];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void hash_make_key(void)
{
	struct timespec now;

	if (hash_key[0] || hash_key[1] ||
	    getrandom(hash_key, sizeof(hash_key), GRND_NONBLOCK) == sizeof(hash_key))
		return;
	clock_gettime(CLOCK_REALTIME, &now); /* a boot without entropy: the time is a weak key */
	hash_key[0] = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec;
	hash_key[1] = (uint64_t)getpid() << 32 ^ (uint64_t)(uintptr_t)&now;
}

static uint64_t hash_rotate(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static void hash_mix(uint64_t v[4])
{
	v[0] += v[1];
	v[1] = hash_rotate(v[1], 13) ^ v[0];
	v[0] = hash_rotate(v[0], 32);
	v[2] += v[3];
	v[3] = hash_rotate(v[3], 16) ^ v[2];
	v[0] += v[3];
	v[3] = hash_rotate(v[3], 21) ^ v[0];
	v[2] += v[1];
	v[1] = hash_rotate(v[1], 17) ^ v[2];
	v[2] = hash_rotate(v[2], 32);
}

static void hash_add_word(uint64_t v[4], uint64_t word)
{
	v[3] ^= word;
	hash_mix(v);
	v[0] ^= word;
}

uint64_t hash_bytes(const void *bytes, size_t size)
{
	const unsigned char *from = bytes;
	uint64_t last = (uint64_t)size << 56, v[4];

	pthread_once(&once, hash_make_key);
	v[0] = hash_key[0] ^ 0x736f6d6570736575;
	v[1] = hash_key[1] ^ 0x646f72616e646f6d;
	v[2] = hash_key[0] ^ 0x6c7967656e657261;
	v[3] = hash_key[1] ^ 0x7465646279746573;
	for (; size >= sizeof(uint64_t); size -= sizeof(uint64_t), from += sizeof(uint64_t)) {
		uint64_t word;

		memcpy(&word, from, sizeof(word));
		hash_add_word(v, word);
	}
	for (size_t i = 0; i < size; i++)
		last |= (uint64_t)from[i] << 8 * i;
	hash_add_word(v, last);
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		hash_mix(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

uint64_t hash_u64(uint64_t x)
{
	return hash_bytes(&x, sizeof(x));
}
