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

struct request_options {
	struct opt_list headers; /* HTTP fields, "NAME: VALUE" */
	const char *method;      /* HTTP method */
	const char *body;        /* template of an HTTP body, or "@FILE" */
};

/* Returns the name of the file of --body, or NULL if there is none. */
const char *request_options_body_file(const struct request_options *o);

/*
 * Puts LOAD_FACT_REQUEST events. Values of header fields whose names hint at a secret become
 * "***". Returns 0 or -errno.
 */
int request_options_put(const struct request_options *o, struct event_sink *sink, uint64_t now);

#endif
