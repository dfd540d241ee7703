/* SPDX-License-Identifier: Apache-2.0 */
#include "load/remote.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define UNSENT_MAX (256UL << 10)
#define READ_SIZE 4096

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static int set_nonblocking(int fd)
{
	int flags = fcntl(fd, F_GETFL);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ? -errno : 0;
}

int remote_init(struct remote *r, int in, int out, int err)
{
	int ret;

	*r = (struct remote){
		.in = in, .out = out, .err = err, .unsent = STRBUF_INIT(UNSENT_MAX),
	};
	ret = set_nonblocking(in);
	if (!ret)
		ret = set_nonblocking(out);
	if (!ret)
		ret = set_nonblocking(err);
	return ret ? ret : event_feed_new(&r->feed);
}

void remote_release(struct remote *r)
{
	if (!r->feed && !r->unsent.max)
		return;
	close_fd(&r->in);
	close_fd(&r->out);
	close_fd(&r->err);
	strbuf_release(&r->unsent);
	event_feed_free(r->feed);
	r->feed = NULL;
}

void remote_close_in(struct remote *r)
{
	close_fd(&r->in);
	strbuf_reset(&r->unsent);
}

/* ---- to the agent ---- */

/*
 * Sends queued commands to the agent. Ignores a broken pipe: if the agent has exited, the end of
 * its events shows that as well.
 */
void remote_flush(struct remote *r)
{
	ssize_t n;

	if (r->in < 0 || !r->unsent.len)
		return;
	do {
		n = write(r->in, r->unsent.buf, r->unsent.len);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno != EAGAIN)
		remote_close_in(r);
	if (n <= 0)
		return;
	memmove(r->unsent.buf, r->unsent.buf + n, r->unsent.len - (size_t)n);
	strbuf_truncate(&r->unsent, r->unsent.len - (size_t)n);
}

int remote_send(struct remote *r, const char *format, ...)
{
	va_list args;

	if (r->in < 0)
		return 0;
	va_start(args, format);
	strbuf_vprintf(&r->unsent, format, args);
	va_end(args);
	strbuf_putc(&r->unsent, '\n');
	if (r->unsent.error)
		return r->unsent.error;
	remote_flush(r);
	return 0;
}

bool remote_wants_out(const struct remote *r)
{
	return r->in >= 0 && r->unsent.len;
}

/* ---- from the agent ---- */

bool remote_read(struct remote *r, uint64_t now)
{
	size_t room;
	void *to = event_feed_space(r->feed, &room);
	ssize_t n;

	if (r->out < 0 || !room)
		return false;
	do {
		n = read(r->out, to, room);
	} while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return false;
	r->read_ns = now;
	if (n > 0) {
		event_feed_added(r->feed, (size_t)n);
		return true;
	}
	r->eof = true;
	close_fd(&r->out);
	return true;
}

static void end_line(struct remote *r)
{
	r->line[r->line_len] = '\0';
	if (r->line_len)
		memcpy(r->words, r->line, r->line_len + 1);
	r->line_len = 0;
}

void remote_read_words(struct remote *r)
{
	char text[READ_SIZE];
	ssize_t n;

	if (r->err < 0)
		return;
	n = read(r->err, text, sizeof(text));
	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		close_fd(&r->err);
	for (ssize_t i = 0; i < n; i++) {
		if (text[i] == '\n')
			end_line(r);
		else if (text[i] != '\r' && r->line_len < sizeof(r->line) - 1)
			r->line[r->line_len++] = isprint((unsigned char)text[i]) ? text[i] : '?';
	}
	if (r->err < 0)
		end_line(r);
}

const char *remote_words(const struct remote *r)
{
	return r->words;
}
