/* SPDX-License-Identifier: Apache-2.0 */
#include "event/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bug.h"

int event_input_init(struct event_input *input, int fd)
{
	struct stat stat;

	*input = (struct event_input){ .fd = fd, .ahead = true };
	if (fd < 0)
		return -EBADF;
	if (fstat(fd, &stat))
		return -errno;
	if (S_ISDIR(stat.st_mode))
		return -EISDIR;
	input->seekable = S_ISREG(stat.st_mode);
	input->size = input->seekable ? stat.st_size : 0;
	input->buffer = malloc(EVENT_INPUT_SIZE);
	return input->buffer ? 0 : -ENOMEM;
}

int event_input_init_fed(struct event_input *input)
{
	*input = (struct event_input){ .fd = -1 };
	input->buffer = malloc(EVENT_INPUT_SIZE);
	return input->buffer ? 0 : -ENOMEM;
}

void event_input_release(struct event_input *input)
{
	free(input->buffer);
	input->buffer = NULL;
}

static ssize_t event_input_read(struct event_input *input, size_t room)
{
	unsigned char *to = input->buffer + input->len;
	ssize_t n;

	if (input->fd < 0)
		return 0;
	do {
		if (input->seekable)
			n = pread(input->fd, to, room, (off_t)(input->at + input->len));
		else
			n = read(input->fd, to, room);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	input->copied += n;
	return n;
}

/* Makes `offset` the first byte of the window. Bytes that a pipe skips are read and dropped. */
static void event_input_move_to(struct event_input *input, uint64_t offset)
{
	size_t skip;

	BUG_ON(!input->seekable && offset < input->at);
	if (input->seekable && (offset < input->at || offset > input->at + input->len)) {
		input->at = offset;
		input->len = 0;
		return;
	}
	while (offset > input->at + input->len) {
		ssize_t n;

		input->at += input->len;
		input->len = 0;
		n = event_input_read(input, EVENT_INPUT_SIZE);
		if (n <= 0) {
			input->error = input->error ? input->error : (int)n;
			input->at = offset;
			return;
		}
		input->len = n;
	}
	skip = offset - input->at;
	memmove(input->buffer, input->buffer + skip, input->len - skip);
	input->copied += input->len - skip;
	input->at = offset;
	input->len -= skip;
}

/* Returns how many bytes from `offset` on are in the window. */
static size_t event_input_available(const struct event_input *input, uint64_t offset)
{
	if (offset < input->at || offset - input->at > input->len)
		return 0;
	return input->len - (offset - input->at);
}

static void event_input_fill(struct event_input *input, uint64_t offset, size_t n, size_t want)
{
	event_input_move_to(input, offset);
	while (input->len < n && !input->error) {
		ssize_t got = event_input_read(input, want - input->len);

		if (got < 0)
			input->error = (int)got;
		if (got <= 0)
			break;
		input->len += got;
	}
}

void *event_input_space(struct event_input *input, uint64_t offset, size_t *n)
{
	BUG_ON(input->fd >= 0);
	event_input_move_to(input, offset);
	*n = EVENT_INPUT_SIZE - input->len;
	return input->buffer + input->len;
}

void event_input_fed(struct event_input *input, size_t n)
{
	BUG_ON(n > EVENT_INPUT_SIZE - input->len);
	input->len += n;
}

/* Returns at least *n bytes; reads up to `want` if needed. Sets *n to the bytes available. */
static const unsigned char *event_input_view_at(struct event_input *input, uint64_t offset,
						size_t *n, size_t want)
{
	BUG_ON(*n > EVENT_INPUT_SIZE);
	/* Offsets come from files and may be invalid: no file is this large. */
	if (offset > INT64_MAX - EVENT_INPUT_SIZE) {
		*n = 0;
		return input->buffer;
	}
	if (event_input_available(input, offset) < *n)
		event_input_fill(input, offset, *n, want);
	*n = event_input_available(input, offset);
	return input->buffer + (offset - input->at);
}

const unsigned char *event_input_view(struct event_input *input, uint64_t offset, size_t *n)
{
	const size_t asked = *n;
	const size_t want = input->ahead ? EVENT_INPUT_SIZE : asked;
	const unsigned char *bytes = event_input_view_at(input, offset, n, want);

	if (*n > asked)
		*n = asked;
	return bytes;
}

const unsigned char *event_input_view_all(struct event_input *input, uint64_t offset, size_t *n)
{
	return event_input_view_at(input, offset, n, EVENT_INPUT_SIZE);
}
