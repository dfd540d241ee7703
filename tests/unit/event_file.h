/* SPDX-License-Identifier: Apache-2.0 */
/* Event files in memory, for tests: failures end the test that calls. */
#ifndef HOSTLAT_TESTS_EVENT_FILE_H
#define HOSTLAT_TESTS_EVENT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/source.h"

struct bytes {
	unsigned char *data;	/* from malloc(), with room for one byte more */
	size_t size;
};

/* A descriptor of a nameless file that holds this. */
int memory_file(const void *data, size_t size);
struct bytes contents(int fd);

/* The file of sample_write(). */
struct bytes make_sample(bool raw, uint32_t filler);

/* The events as text; *damage (may be NULL) is filled in. NULL: did not open, *err says why. */
char *read_text(const void *data, size_t size, struct event_damage *damage, int *err);

/* The same, through a pipe. */
char *read_pipe_text(const void *data, size_t size, struct event_damage *damage);

/* The events of a file that must be whole. */
char *whole_text(struct bytes bytes);

#endif
