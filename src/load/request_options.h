/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of connections and requests that add to a target's URL. Members are NULL or empty where
 * an option is not given. Strings are borrowed.
 */
#ifndef HOSTLAT_LOAD_REQUEST_OPTIONS_H
#define HOSTLAT_LOAD_REQUEST_OPTIONS_H

#include <stdint.h>

#include "base/opt.h"
#include "base/strbuf.h"
#include "event/source.h"

/* Key of EV_FACT events, one per option given: "NAME VALUE", without secrets. */
#define LOAD_FACT_REQUEST "load.request"

#define REQUEST_HEADER_BYTES_MAX 8000 /* length of a --header */
#define REQUEST_BODY_TEXT_MAX 4096    /* length of the text of --body; files may be longer */

/* Whether a reconnect resumes the connection's last TLS session; the default is "no". */
enum tls_resumption { TLS_RESUMPTION_DEFAULT, TLS_RESUMPTION_NO, TLS_RESUMPTION_YES };

struct request_options {
	struct opt_list headers; /* HTTP fields, "NAME: VALUE" */
	const char *method;      /* HTTP method */
	const char *body;        /* template of an HTTP body, or "@FILE" */
	const char *auth;        /* source of HTTP credentials, for http_auth_read() */
	const char *connect_to;  /* "HOST[:PORT]" to connect to, instead of the URL's */
	const char *sni;         /* TLS: name to send and to check the certificate for */
	uint32_t tls_resumption; /* enum tls_resumption */
};

/*
 * Checks the options of connections (--connect-to, --sni). Returns 0, or -EINVAL with a sentence in
 * `why`.
 */
int request_options_check(const struct request_options *o, struct strbuf *why);

/*
 * Splits "HOST", "HOST:PORT" or "[ADDRESS]:PORT"; leaves `port` unchanged if there is none. Returns
 * 0 or -EINVAL.
 */
int request_options_split(const char *text, char host[256], char port[16]);

/* Returns the name of the file of --body, or NULL if there is none. */
const char *request_options_body_file(const struct request_options *o);

/*
 * Puts LOAD_FACT_REQUEST events. Values of header fields whose names hint at a secret become
 * "***". Returns 0 or -errno.
 */
int request_options_put(const struct request_options *o, struct event_sink *sink, uint64_t now);

#endif
