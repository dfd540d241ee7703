/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules as text, read and written byte for byte. */
#include "load/replay.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#define BUFFER_BYTES 65536
#define LINE_MAX_BYTES 24 /* one time, below 10^20, and its newline */

struct reading {
	struct replay_times *at;
	double speed;
	uint64_t end_ns, last, longest; /* last time and longest gap, scaled by the speed */
	uint64_t line, value;
	unsigned int digits;
	bool over; /* a time at or after end_ns was seen */
};

static int line_error(const struct reading *r, const char *what, struct strbuf *why)
{
	strbuf_printf(why, "line %llu: %s", (unsigned long long)r->line, what);
	return -EINVAL;
}

static int replay_add_time(struct reading *r, struct strbuf *why)
{
	uint64_t at = r->value;
	double scaled;

	if (r->speed != 1) {
		scaled = floor((double)at / r->speed + 0.5);
		at = scaled >= (double)r->end_ns ? r->end_ns : (uint64_t)scaled;
	}
	if (at < r->last)
		return line_error(r, "earlier than the line before; times must ascend", why);
	if (at >= r->end_ns) {
		r->over = true;
		return 0;
	}
	if (at - r->last > r->longest)
		r->longest = at - r->last;
	r->last = at;
	return vec_push(r->at, at);
}

static int replay_add_byte(struct reading *r, char c, struct strbuf *why)
{
	int err;

	if (c >= '0' && c <= '9') {
		if (__builtin_mul_overflow(r->value, (uint64_t)10, &r->value) ||
		    __builtin_add_overflow(r->value, (uint64_t)(c - '0'), &r->value))
			return line_error(r, "too large; takes a time in ns", why);
		r->digits = 1;
		return 0;
	}
	if (c != '\n' || !r->digits)
		return line_error(r, "takes a time in ns, digits only", why);
	err = replay_add_time(r, why);
	r->line++;
	r->value = r->digits = 0;
	return err;
}

static int replay_read_all(struct reading *r, int fd, struct strbuf *why)
{
	char buffer[BUFFER_BYTES];
	ssize_t n;
	int err = 0;

	do {
		n = read(fd, buffer, sizeof(buffer));
		for (ssize_t i = 0; i < n && !err && !r->over; i++)
			err = replay_add_byte(r, buffer[i], why);
	} while (n > 0 && !err && !r->over);
	if (n < 0)
		return -errno;
	/* The last line may lack its newline. */
	if (!err && !r->over && r->digits)
		err = replay_add_byte(r, '\n', why);
	return err;
}

int replay_read(struct replay_times *out, bool *complete, const char *path, double speed,
		uint64_t end_ns, struct strbuf *why)
{
	struct reading r = { .at = out, .speed = speed, .end_ns = end_ns, .line = 1 };
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	err = fd < 0 ? -errno : replay_read_all(&r, fd, why);
	if (!err && !out->len && !r.over)
		err = line_error(&r, "the file contains no time", why);
	if (fd >= 0)
		close(fd);
	if (err == -E2BIG)
		strbuf_printf(why, "more than %zu times", out->max);
	else if (err && err != -EINVAL)
		strbuf_puts(why, strerror(-err));
	if (err)
		strbuf_printf(why, " (%s)", path);
	/* Plus 1 ns, as times are rounded. */
	*complete = r.over || end_ns - r.last <= r.longest + 1;
	return err;
}

int replay_write(const uint64_t *times, size_t n, struct outfile *file)
{
	char buffer[BUFFER_BYTES];
	size_t used = 0;

	for (size_t i = 0; i < n && !file->error; i++) {
		char digits[LINE_MAX_BYTES], *p = digits + sizeof(digits);
		uint64_t at = times[i];
		size_t len;

		*--p = '\n';
		do
			*--p = (char)('0' + at % 10);
		while (at /= 10);
		len = (size_t)(digits + sizeof(digits) - p);
		if (used + len > sizeof(buffer)) {
			outfile_write(file, buffer, used);
			used = 0;
		}
		memcpy(buffer + used, p, len);
		used += len;
	}
	return outfile_write(file, buffer, used);
}
