/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window of bytes over a descriptor (at any offset of a file, only forward in a pipe), or over
 * bytes that the caller feeds, without waiting for more.
 */
#ifndef HOSTLAT_EVENT_INPUT_H
#define HOSTLAT_EVENT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Holds a chunk of the largest size and the header after it. */
#define EVENT_INPUT_SIZE (2u * 65536 + 4096)

struct event_input {
	int fd;			/* -1: the caller feeds bytes */
	bool seekable;
	bool ahead;		/* read() fills the buffer, not only the requested bytes */
	uint64_t size;		/* bytes of a seekable file when it was opened */
	int error;		/* 0 or the first failure of read() */
	uint64_t at;		/* offset of buffer[0] */
	size_t len;		/* valid bytes of the buffer */
	uint64_t copied;	/* bytes read, or moved within the buffer */
	unsigned char *buffer;
};

/* Initializes an input on a descriptor, which the caller still owns. Returns 0 or -errno. */
int event_input_init(struct event_input *input, int fd);
/* Initializes an input without a descriptor, to be fed. Returns 0 or -ENOMEM. */
int event_input_init_fed(struct event_input *input);
void event_input_release(struct event_input *input);

/*
 * Returns where to put the next bytes, and in `n` how many fit; drops bytes before `offset`.
 * Invalidates views. Call event_input_fed() afterwards.
 */
void *event_input_space(struct event_input *input, uint64_t offset, size_t *n);
void event_input_fed(struct event_input *input, size_t n);

/*
 * Returns the bytes from `offset` on: `*n` bytes, or fewer at the end, which reduces *n. Valid
 * until the next call. In a pipe, offsets must not decrease.
 */
const unsigned char *event_input_view(struct event_input *input, uint64_t offset, size_t *n);

/* Like event_input_view(), but *n becomes all available bytes, at most EVENT_INPUT_SIZE. */
const unsigned char *event_input_view_all(struct event_input *input, uint64_t offset, size_t *n);

#endif
