/* SPDX-License-Identifier: Apache-2.0 */
#include "output/hdr.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/bug.h"
#include "base/parse.h"
#include "report/human.h"

#define DIGITS 3
#define SUB_MAGNITUDE 11 /* log2 of 2048 steps per power of two: 2048 >= 2 * 10^DIGITS */
#define HALF_MAGNITUDE (SUB_MAGNITUDE - 1)
#define SUB_MASK ((1ULL << SUB_MAGNITUDE) - 1)
#define BUCKETS 32 /* ranges that double: the last ends at 2048 << 31, above HDR_HIGHEST */
#define COUNTS ((BUCKETS + 1U) << HALF_MAGNITUDE)

#define COOKIE 0x1c849313U            /* magic number of encoding V2: words of up to 8 bytes */
#define COOKIE_COMPRESSED 0x1c849314U
#define HEAD_BYTES 40
#define WORD_BYTES 9                  /* bytes of an encoded number, at most */
#define PAYLOAD_MAX (HEAD_BYTES + COUNTS * WORD_BYTES)

int hdr_init(struct hdr *hdr)
{
	*hdr = (struct hdr){ .counts = calloc(COUNTS, sizeof(*hdr->counts)) };
	return hdr->counts ? 0 : -ENOMEM;
}

void hdr_release(struct hdr *hdr)
{
	free(hdr->counts);
	hdr->counts = NULL;
}

static uint32_t hdr_index(uint64_t ns)
{
	uint32_t bucket = 64 - SUB_MAGNITUDE - (uint32_t)__builtin_clzll(ns | SUB_MASK);

	return ((bucket + 1) << HALF_MAGNITUDE) + (uint32_t)(ns >> bucket) -
	       (1U << HALF_MAGNITUDE);
}

/* Returns the largest value in the bucket of `ns`. */
static uint64_t hdr_highest_alike(uint64_t ns)
{
	uint32_t bucket = 64 - SUB_MAGNITUDE - (uint32_t)__builtin_clzll(ns | SUB_MASK);

	return ((ns >> bucket) + 1) * (1ULL << bucket) - 1;
}

void hdr_record(struct hdr *hdr, uint64_t ns)
{
	ns = ns < HDR_HIGHEST ? ns : HDR_HIGHEST;
	hdr->counts[hdr_index(ns)]++;
	hdr->count++;
	hdr->max = ns > hdr->max ? ns : hdr->max;
}

/* ---- encoding ---- */

static unsigned char *hdr_put_u32(unsigned char *at, uint32_t n)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		*at++ = (unsigned char)(n >> shift);
	return at;
}

static unsigned char *hdr_put_u64(unsigned char *at, uint64_t n)
{
	return hdr_put_u32(hdr_put_u32(at, (uint32_t)(n >> 32)), (uint32_t)n);
}

/* Writes a number in ZigZag, then LEB128 whose ninth byte has eight bits. */
static unsigned char *hdr_put_word(unsigned char *at, int64_t n)
{
	uint64_t rest = (uint64_t)n << 1 ^ (uint64_t)(n >> 63);

	for (int i = 1; i < WORD_BYTES && rest > 0x7f; i++, rest >>= 7)
		*at++ = (unsigned char)(rest | 0x80);
	*at++ = (unsigned char)rest;
	return at;
}

/* Writes the counts up to the maximum's; a run of zeros is its length as a negative number. */
static unsigned char *hdr_put_counts(unsigned char *at, const struct hdr *hdr)
{
	uint32_t n = hdr_index(hdr->max) + 1, i = 0, zeros;

	while (i < n) {
		for (zeros = 0; i + zeros < n && !hdr->counts[i + zeros];)
			zeros++;
		at = hdr_put_word(at, zeros > 1 ? -(int64_t)zeros : (int64_t)hdr->counts[i]);
		i += zeros > 1 ? zeros : 1;
	}
	return at;
}

static size_t hdr_encode(unsigned char *out, const struct hdr *hdr)
{
	const double ratio = 1;
	unsigned char *end = hdr_put_counts(out + HEAD_BYTES, hdr), *at = out;
	uint64_t bits;

	memcpy(&bits, &ratio, sizeof(bits));
	at = hdr_put_u32(at, COOKIE);
	at = hdr_put_u32(at, (uint32_t)(end - out) - HEAD_BYTES);
	at = hdr_put_u32(at, 0); /* normalizing index offset: values are not shifted */
	at = hdr_put_u32(at, DIGITS);
	at = hdr_put_u64(at, 1); /* lowest value above 0 */
	at = hdr_put_u64(at, HDR_HIGHEST);
	hdr_put_u64(at, bits);
	return (size_t)(end - out);
}

static int hdr_put_histogram(struct strbuf *out, const struct hdr *hdr)
{
	unsigned char *plain = malloc(PAYLOAD_MAX);
	uLongf size = compressBound(PAYLOAD_MAX);
	unsigned char *packed = malloc(8 + size);
	int err = plain && packed ? 0 : -ENOMEM;

	if (!err && compress(packed + 8, &size, plain, hdr_encode(plain, hdr)) != Z_OK)
		err = -ENOMEM;
	if (!err) {
		hdr_put_u32(hdr_put_u32(packed, COOKIE_COMPRESSED), (uint32_t)size);
		strbuf_base64(out, packed, 8 + size);
	}
	free(plain);
	free(packed);
	return err;
}

/* ---- lines of the log ---- */

void hdr_log_head(struct strbuf *out, const char *who, uint64_t started_ns)
{
	char date[HUMAN_MAX];

	strbuf_printf(out, "#[Logged with %s]\n#[Histogram log format version 1.3]\n", who);
	strbuf_printf(out, "#[StartTime: %.3f (seconds since epoch), %s]\n",
		      (double)started_ns / NS_PER_S, human_utc(date, started_ns, 0, true));
	strbuf_puts(out, "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\","
			 "\"Interval_Compressed_Histogram\"\n");
}

/* Writes times in seconds, but the interval's maximum in ms, as the log's format requires. */
int hdr_log_line(struct strbuf *out, struct hdr *hdr, uint64_t from_ns, uint64_t length_ns)
{
	int err;

	strbuf_printf(out, "%.3f,%.3f,%.6f,", (double)from_ns / NS_PER_S,
		      (double)length_ns / NS_PER_S,
		      hdr->count ? (double)hdr_highest_alike(hdr->max) / NS_PER_MS : 0);
	err = hdr_put_histogram(out, hdr);
	strbuf_putc(out, '\n');
	memset(hdr->counts, 0, COUNTS * sizeof(*hdr->counts));
	hdr->count = hdr->max = 0;
	return err;
}
