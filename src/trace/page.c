/* SPDX-License-Identifier: Apache-2.0 */
#include "trace/page.h"

#include <errno.h>
#include <string.h>

/* Flags in a page's length (kernel/trace/ring_buffer.c). */
#define MISSED_EVENTS (1ULL << 31)
#define LENGTH_MASK ((1ULL << 20) - 1)

/* include/linux/ring_buffer.h: 5 bits of type, 27 of time; types up to 28 are lengths in words. */
#define TYPE_BITS 5
#define TIME_BITS 27
#define TYPE_PADDING 29
#define TYPE_TIME_EXTEND 30
#define TYPE_TIME_STAMP 31
#define WORD 4

/* Highest five bits of a time: an absolute time in the buffer lacks them. */
#define STAMP_HIGH (0xf8ULL << 56)

static uint64_t page_number(const unsigned char *at, uint32_t size)
{
	uint32_t small;
	uint64_t large;

	if (size == sizeof(small)) {
		memcpy(&small, at, sizeof(small));
		return small;
	}
	memcpy(&large, at, sizeof(large));
	return large;
}

int trace_page_open(struct trace_page *page, const struct trace_page_layout *layout,
		    const void *bytes, size_t size)
{
	const unsigned char *at = bytes;
	uint64_t length;

	if (size < layout->data_at)
		return -EBADMSG;
	length = page_number(at + layout->length_at, layout->length_size);
	page->missed = length & MISSED_EVENTS;
	length &= LENGTH_MASK;
	if (length > size - layout->data_at)
		return -EBADMSG;
	page->time = page_number(at, sizeof(uint64_t));
	page->at = at + layout->data_at;
	page->end = page->at + length;
	return 0;
}

/* Reads the next word. Returns false at the end of the page. */
static bool page_read_word(struct trace_page *page, uint32_t *value)
{
	if ((size_t)(page->end - page->at) < WORD)
		return false;
	memcpy(value, page->at, WORD);
	page->at += WORD;
	return true;
}

static bool page_skip(struct trace_page *page, uint32_t bytes)
{
	if ((size_t)(page->end - page->at) < bytes)
		return false;
	page->at += bytes;
	return true;
}

/*
 * Skips a discarded event, whose length includes its own word. If `delta` is 0, the page ends here.
 */
static bool page_read_padding(struct trace_page *page, uint32_t delta)
{
	uint32_t length;

	if (!delta) {
		page->at = page->end;
		return true;
	}
	page->time += delta;
	return page_read_word(page, &length) && length >= WORD && page_skip(page, length - WORD);
}

static bool page_read_time(struct trace_page *page, uint32_t type, uint32_t delta)
{
	uint64_t time;
	uint32_t high;

	if (!page_read_word(page, &high))
		return false;
	time = ((uint64_t)high << TIME_BITS) + delta;
	if (type == TYPE_TIME_STAMP)
		page->time = (page->time & STAMP_HIGH) | (time & ~STAMP_HIGH);
	else
		page->time += time;
	return true;
}

static bool page_read_data(struct trace_page *page, uint32_t type, uint32_t delta,
			   struct trace_event *event)
{
	uint32_t length = type * WORD;

	if (!type) {
		if (!page_read_word(page, &length) || length < WORD)
			return false;
		length -= WORD;
	}
	page->time += delta;
	*event = (struct trace_event){ .time = page->time, .data = page->at, .size = length };
	/* Events are aligned to words. */
	return page_skip(page, (length + WORD - 1) / WORD * WORD);
}

int trace_page_next(struct trace_page *page, struct trace_event *event)
{
	uint32_t head;

	while (page->at < page->end) {
		bool good = page_read_word(page, &head);
		const uint32_t type = good ? head & ((1U << TYPE_BITS) - 1) : 0;
		const uint32_t delta = good ? head >> TYPE_BITS : 0;

		if (good && type < TYPE_PADDING)
			return page_read_data(page, type, delta, event) ? 1 : -EBADMSG;
		if (good)
			good = type == TYPE_PADDING ? page_read_padding(page, delta) :
						      page_read_time(page, type, delta);
		if (!good)
			return -EBADMSG;
	}
	return 0;
}
