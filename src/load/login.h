/* SPDX-License-Identifier: Apache-2.0 */
/* User and password of --auth for protocols that log in on each connection: Redis, memcached. */
#ifndef HOSTLAT_LOAD_LOGIN_H
#define HOSTLAT_LOAD_LOGIN_H

#include "load/protocol.h"

/*
 * Sets the target's user and password if target->options has a source of credentials and the
 * protocol has a greeting; otherwise does nothing. Returns 0, -EINVAL (bad usage), or the error of
 * http_auth_secret(), with a sentence in `why` that does not contain the secret.
 */
int login_read(struct target *target, struct strbuf *why);

#endif
