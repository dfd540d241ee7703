/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A window of bytes over a descriptor, a file's anywhere, a pipe's forwards only; or over what its
 * owner feeds it, which never waits for more.
 */
#ifndef HOSTLAT_EVENT_INPUT_H
#define HOSTLAT_EVENT_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Holds a chunk of the largest size and what follows it. */
#define EVENT_INPUT_SIZE (2u * 65536 + 4096)

struct event_input {
	int fd;			/* -1: fed */
	bool seekable;
	bool ahead;		/* fill the window, not just what is asked for */
	uint64_t size;		/* of a seekable file, when it was opened */
	int error;		/* 0 or the first failure of read() */
	uint64_t at;		/* offset of buffer[0] */
	size_t len;		/* valid bytes of the buffer */
	uint64_t copied;	/* bytes read or moved within the buffer since the beginning */
	unsigned char *buffer;
};

/* Returns 0 or -errno. The descriptor stays the caller's. */
int event_input_init(struct event_input *input, int fd);
/* Without a descriptor. Returns 0 or -ENOMEM. */
int event_input_init_fed(struct event_input *input);
void event_input_release(struct event_input *input);

/*
 * Returns where to put the next bytes, and in `n` how many fit; drops bytes before `offset`.
 * Invalidates views. Call event_input_fed() afterwards.
 */
void *event_input_space(struct event_input *input, uint64_t offset, size_t *n);
void event_input_fed(struct event_input *input, size_t n);

/*
 * The bytes from `offset`, `*n` of them or, at the end, as many as there are: then *n is smaller.
 * Valid until the next call. A pipe's offsets must not go back behind those asked for before.
 */
const unsigned char *event_input_view(struct event_input *input, uint64_t offset, size_t *n);

/* The same, but *n becomes all that is there, which is EVENT_INPUT_SIZE at most. */
const unsigned char *event_input_view_all(struct event_input *input, uint64_t offset, size_t *n);

#endif
