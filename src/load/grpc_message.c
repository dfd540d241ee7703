/* SPDX-License-Identifier: Apache-2.0 */
#include "load/grpc_message.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/readfile.h"
#include "load/text.h"
#include "load/wire.h"

static int grpc_message_read_hex(const char *text, struct strbuf *out)
{
	int high, low;

	for (; *text; text += 2) {
		high = text_hex_digit(text[0]);
		low = high < 0 ? -1 : text_hex_digit(text[1]);
		if (low < 0)
			return -EINVAL;
		strbuf_putc(out, (char)(high << 4 | low));
	}
	return out->error;
}

static int grpc_base64_digit(char c)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(digits, c) : NULL;

	return at ? (int)(at - digits) : -1;
}

/* Decodes base64 (RFC 4648, 4); the padding at the end may be absent. */
static int grpc_message_read_base64(const char *text, struct strbuf *out)
{
	uint32_t bits = 0;
	size_t n = 0;
	int digit;

	for (; (digit = grpc_base64_digit(*text)) >= 0; text++) {
		bits = bits << 6 | (uint32_t)digit;
		if (n++ % 4)
			strbuf_putc(out, (char)(bits >> (6 - 2 * ((n - 1) % 4)) & 0xff));
	}
	/* A rest of one digit has less than a byte. */
	if (n % 4 == 1 || strspn(text, "=") > 2 || text[strspn(text, "=")])
		return -EINVAL;
	return out->error;
}

static int grpc_message_read(const char *text, struct strbuf *out, struct strbuf *why)
{
	int err = -EINVAL;

	if (*text == '@') {
		err = readfile(text + 1, out);
		if (err)
			strbuf_printf(why, "cannot read '%s': %s", text + 1,
				      strerror(err == -E2BIG ? EFBIG : -err));
		return err;
	}
	if (strncmp(text, "hex:", 4) == 0)
		err = grpc_message_read_hex(text + 4, out);
	else if (strncmp(text, "base64:", 7) == 0)
		err = grpc_message_read_base64(text + 7, out);
	if (err)
		strbuf_printf(why, "takes @FILE, hex:DIGITS or base64:DIGITS (at most %d bytes), "
			      "not '%.40s'", GRPC_MESSAGE_MAX, text);
	return err;
}

int grpc_message_parse(const char *text, struct grpc_message *out, struct strbuf *why)
{
	struct strbuf bytes = STRBUF_INIT(GRPC_PREFIX + GRPC_MESSAGE_MAX);
	int err;

	strbuf_add(&bytes, "\0\0\0\0", GRPC_PREFIX);
	err = bytes.error ? bytes.error : grpc_message_read(text, &bytes, why);
	if (!err) {
		out->bytes = malloc(bytes.len);
		err = out->bytes ? 0 : -ENOMEM;
	}
	if (!err) {
		memcpy(out->bytes, strbuf_str(&bytes), bytes.len);
		wire_put32(out->bytes + 1, (uint32_t)(bytes.len - GRPC_PREFIX));
		out->size = bytes.len;
	}
	strbuf_release(&bytes);
	return err;
}
