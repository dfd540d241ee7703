/* SPDX-License-Identifier: Apache-2.0 */
#include "load/http_auth.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/readfile.h"

#define AUTH_TAKES                                                                                 \
	"--auth takes basic:@FILE, basic:env:NAME, bearer:@FILE or bearer:env:NAME: it reads the " \
	"secret from a file or an environment variable"
#define BASIC "basic:"
#define BEARER "bearer:"
#define ENV "env:"

/* Returns the part after KIND:, or NULL for an unknown kind. */
static const char *http_auth_source(const char *text)
{
	if (!strncmp(text, BASIC, strlen(BASIC)))
		return text + strlen(BASIC);
	if (!strncmp(text, BEARER, strlen(BEARER)))
		return text + strlen(BEARER);
	return NULL;
}

const char *http_auth_variable(const char *text)
{
	const char *source = http_auth_source(text);

	return source && !strncmp(source, ENV, strlen(ENV)) ? source + strlen(ENV) : NULL;
}

int http_auth_secret(const char *text, struct strbuf *secret, struct strbuf *why)
{
	const char *source = http_auth_source(text), *name = http_auth_variable(text), *value;
	int err = 0;

	if (name && *name) {
		value = getenv(name);
		if (!value) {
			strbuf_printf(why, "--auth: the environment variable %s is not set", name);
			return -ENOKEY;
		}
		strbuf_puts(secret, value);
		err = secret->error;
	} else if (source && *source == '@' && source[1]) {
		err = readfile(source + 1, secret);
		if (err && err != -E2BIG)
			strbuf_printf(why, "--auth: cannot read %s: %s", source + 1,
				      strerror(-err));
		if (!err)
			strbuf_truncate(secret, strcspn(strbuf_str(secret), "\r\n"));
	} else {
		strbuf_puts(why, AUTH_TAKES);
		return -EINVAL;
	}
	if (err == -E2BIG) {
		strbuf_printf(why, "--auth: a secret has at most %d bytes", HTTP_AUTH_SECRET_MAX);
		err = -EFBIG;
	}
	return err;
}

static int http_auth_check(const char *secret, size_t size, bool basic, struct strbuf *why)
{
	const char *wrong = NULL;

	if (!size)
		wrong = "the secret is empty";
	else if (basic && !memchr(secret, ':', size))
		wrong = "basic needs USER:PASSWORD";
	for (size_t i = 0; !wrong && i < size; i++) {
		const unsigned char c = (unsigned char)secret[i];

		if (c < ' ' || c == 127)
			wrong = "the secret has a control character";
		else if (!basic && (c == ' ' || c > 126))
			wrong = "a bearer token has no blanks and only ASCII characters";
	}
	if (!wrong)
		return 0;
	strbuf_printf(why, "--auth: %s", wrong);
	return -EBADMSG;
}

int http_auth_read(const char *text, struct strbuf *out, struct strbuf *why)
{
	struct strbuf secret = STRBUF_INIT(HTTP_AUTH_SECRET_MAX);
	const bool basic = !strncmp(text, BASIC, strlen(BASIC));
	int err = http_auth_secret(text, &secret, why);

	if (!err)
		err = http_auth_check(strbuf_str(&secret), secret.len, basic, why);
	if (!err && basic) {
		strbuf_puts(out, "Basic ");
		strbuf_base64(out, strbuf_str(&secret), secret.len);
	} else if (!err) {
		strbuf_printf(out, "Bearer %s", strbuf_str(&secret));
	}
	if (!err)
		err = out->error;
	strbuf_release(&secret);
	return err;
}
