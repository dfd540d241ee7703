/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing string with a mandatory limit.
 *
 * Invariants: `len <= max`; strbuf_str() is always NUL-terminated at `len`, even if nothing was
 * added or memory ran out. The first failure stays in `error` (-ENOMEM, or -E2BIG at the limit) and
 * later additions are ignored, so a writer checks `error` once, at the end. An addition that does
 * not fit as a whole is ignored as a whole.
 */
#ifndef HOSTLAT_BASE_STRBUF_H
#define HOSTLAT_BASE_STRBUF_H

#include <stdarg.h>
#include <stddef.h>

struct strbuf {
	char *buf;  /* NULL until text is added; owned */
	size_t len; /* bytes of the string, without the final NUL */
	size_t cap; /* bytes allocated */
	size_t max; /* limit of `len` */
	int error;  /* 0 or the first failure, as -errno */
};

#define STRBUF_INIT(max_len) { .max = (max_len) }

/* Initializes without allocating. A zeroed strbuf is valid and has the limit 0. */
void strbuf_init(struct strbuf *sb, size_t max);
void strbuf_release(struct strbuf *sb);

/* Empties the string and clears the error; keeps the memory and the limit. */
void strbuf_reset(struct strbuf *sb);

void strbuf_add(struct strbuf *sb, const void *data, size_t n);
void strbuf_puts(struct strbuf *sb, const char *text);
void strbuf_putc(struct strbuf *sb, char c);
void strbuf_fill(struct strbuf *sb, char c, size_t n);
void strbuf_printf(struct strbuf *sb, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
void strbuf_vprintf(struct strbuf *sb, const char *format, va_list args)
	__attribute__((format(printf, 2, 0)));
/* Adds the bytes in base64, padded (RFC 4648, section 4). */
void strbuf_base64(struct strbuf *sb, const void *data, size_t n);

/* Shortens the string to `len` bytes; `len` must not exceed the current length. */
void strbuf_truncate(struct strbuf *sb, size_t len);

/* Returns the string, never NULL. Valid until the next call that changes `sb`. */
const char *strbuf_str(const struct strbuf *sb);

/*
 * Returns -ENOMEM if any string of this thread has run out of memory since the last call, else 0.
 * Text passes through strings whose own error nobody checks; the code that prints the final text
 * calls this once, so that no incomplete text is printed.
 */
int strbuf_fetch_shortage(void);

/* Returns the string, owned by the caller, who calls free(); NULL if `error` is set. */
char *strbuf_detach(struct strbuf *sb);

#endif
