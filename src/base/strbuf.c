/* SPDX-License-Identifier: Apache-2.0 */
/* A growing string with a mandatory limit; rules are in the header. */
#include "base/strbuf.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"

#define FIRST_CAPACITY 64

static _Thread_local int shortage;

int strbuf_fetch_shortage(void)
{
	int err = shortage;

	shortage = 0;
	return err;
}

/* Allocates `n` more bytes and the final NUL. After a failure all later calls fail. */
static bool strbuf_grow(struct strbuf *sb, size_t n)
{
	size_t need, cap = sb->cap ? sb->cap : FIRST_CAPACITY;
	char *buf;

	if (sb->error)
		return false;
	if (n > sb->max - sb->len) {
		sb->error = -E2BIG;
		return false;
	}
	if (__builtin_add_overflow(sb->len + n, (size_t)1, &need)) {
		sb->error = shortage = -ENOMEM;
		return false;
	}
	if (sb->buf && need <= sb->cap)
		return true;
	while (cap < need)
		cap = cap > SIZE_MAX / 2 ? need : cap * 2;
	buf = realloc(sb->buf, cap);
	if (!buf) {
		sb->error = shortage = -ENOMEM;
		return false;
	}
	sb->buf = buf;
	sb->cap = cap;
	return true;
}

void strbuf_init(struct strbuf *sb, size_t max)
{
	*sb = (struct strbuf)STRBUF_INIT(max);
}

void strbuf_release(struct strbuf *sb)
{
	if (!sb)
		return;
	free(sb->buf);
	strbuf_init(sb, sb->max);
}

void strbuf_reset(struct strbuf *sb)
{
	strbuf_truncate(sb, 0);
	sb->error = 0;
}

void strbuf_add(struct strbuf *sb, const void *data, size_t n)
{
	if (!n || !strbuf_grow(sb, n))
		return;
	memcpy(sb->buf + sb->len, data, n);
	sb->len += n;
	sb->buf[sb->len] = '\0';
}

void strbuf_puts(struct strbuf *sb, const char *text)
{
	strbuf_add(sb, text, strlen(text));
}

void strbuf_putc(struct strbuf *sb, char c)
{
	strbuf_add(sb, &c, 1);
}

void strbuf_fill(struct strbuf *sb, char c, size_t n)
{
	if (!n || !strbuf_grow(sb, n))
		return;
	memset(sb->buf + sb->len, c, n);
	sb->len += n;
	sb->buf[sb->len] = '\0';
}

void strbuf_printf(struct strbuf *sb, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	strbuf_vprintf(sb, format, args);
	va_end(args);
}

void strbuf_vprintf(struct strbuf *sb, const char *format, va_list args)
{
	va_list again;
	int n;

	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	BUG_ON(n < 0);
	if (n && strbuf_grow(sb, (size_t)n)) {
		vsnprintf(sb->buf + sb->len, (size_t)n + 1, format, again);
		sb->len += (size_t)n;
	}
	va_end(again);
}

void strbuf_truncate(struct strbuf *sb, size_t len)
{
	BUG_ON(len > sb->len);
	sb->len = len;
	if (sb->buf)
		sb->buf[len] = '\0';
}

const char *strbuf_str(const struct strbuf *sb)
{
	return sb->buf ? sb->buf : "";
}

char *strbuf_detach(struct strbuf *sb)
{
	char *text = sb->buf;

	if (!text)
		text = strdup("");
	if (!text)
		sb->error = shortage = -ENOMEM;
	if (sb->error) {
		free(text);
		text = NULL;
	}
	sb->buf = NULL;
	sb->len = sb->cap = 0;
	return text;
}

void strbuf_base64(struct strbuf *out, const void *bytes, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const unsigned char *data = bytes;

	for (size_t i = 0; i < n; i += 3) {
		uint32_t bits = (uint32_t)data[i] << 16 |
				(i + 1 < n ? (uint32_t)data[i + 1] << 8 : 0) |
				(i + 2 < n ? data[i + 2] : 0);

		strbuf_putc(out, digits[bits >> 18]);
		strbuf_putc(out, digits[bits >> 12 & 63]);
		strbuf_putc(out, i + 1 < n ? digits[bits >> 6 & 63] : '=');
		strbuf_putc(out, i + 2 < n ? digits[bits & 63] : '=');
	}
}
