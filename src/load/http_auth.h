/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials of --auth, KIND:SOURCE. KIND is basic or bearer; SOURCE is @FILE, whose first line is
 * read, or env:NAME, an environment variable. So no list of processes shows a secret.
 */
#ifndef HOSTLAT_LOAD_HTTP_AUTH_H
#define HOSTLAT_LOAD_HTTP_AUTH_H

#include "base/strbuf.h"

#define HTTP_AUTH_SECRET_MAX 8000 /* bytes of a secret */
#define HTTP_AUTH_VALUE_MAX 16384 /* bytes of the field's value */

/*
 * Writes the value of the field Authorization (RFC 7617, RFC 6750). Returns 0, -EINVAL (bad usage),
 * or -errno of the file or -ENOKEY for a variable that is not set, with a sentence in `why` that
 * does not contain the secret.
 */
int http_auth_read(const char *text, struct strbuf *out, struct strbuf *why);

/*
 * Reads the secret: the first line of the file, or the variable. Returns as http_auth_read() does.
 */
int http_auth_secret(const char *text, struct strbuf *secret, struct strbuf *why);

/* Returns the name of the environment variable of --auth, or NULL if it names none. */
const char *http_auth_variable(const char *text);

#endif
