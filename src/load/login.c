/* SPDX-License-Identifier: Apache-2.0 */
#include "load/login.h"

#include <errno.h>
#include <string.h>

#include "load/http_auth.h"
#include "load/request_options.h"

/* Splits "USER:PASSWORD" at the first colon. */
static int login_split(struct target *t, const char *secret, struct strbuf *why)
{
	const char *colon = strchr(secret, ':');
	const size_t user = colon ? (size_t)(colon - secret) : 0;

	if (!colon || user >= sizeof(t->user) || strlen(colon + 1) >= sizeof(t->password)) {
		strbuf_printf(why, "--auth: %s", colon ? "the user or the password is too long" :
							  "basic needs USER:PASSWORD");
		return -EBADMSG;
	}
	memcpy(t->user, secret, user);
	t->user[user] = '\0';
	memcpy(t->password, colon + 1, strlen(colon + 1) + 1);
	t->has_user = true;
	return target_check_login(t, why) ? -EBADMSG : 0;
}

int login_read(struct target *t, struct strbuf *why)
{
	const char *auth = t->options ? t->options->auth : NULL;
	struct strbuf secret = STRBUF_INIT(HTTP_AUTH_SECRET_MAX);
	int err;

	if (!auth || !t->protocol->greet)
		return 0;
	if (t->has_user) {
		strbuf_puts(why, "--auth cannot be combined with a user in the URL");
		return -EINVAL;
	}
	if (!strncmp(auth, "bearer:", 7)) {
		strbuf_printf(why, "--auth: %s takes basic:@FILE or basic:env:NAME, with "
				   "USER:PASSWORD", t->protocol->name);
		return -EINVAL;
	}
	err = http_auth_secret(auth, &secret, why);
	if (!err)
		err = login_split(t, strbuf_str(&secret), why);
	strbuf_release(&secret);
	return err;
}
