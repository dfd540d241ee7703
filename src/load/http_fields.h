/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Method and fields of an HTTP request: the default fields (Host, User-Agent, Authorization,
 * Content-Type), which fields of --header replace, and all other fields of --header.
 */
#ifndef HOSTLAT_LOAD_HTTP_FIELDS_H
#define HOSTLAT_LOAD_HTTP_FIELDS_H

#include "load/request_options.h"
#include "load/operation.h"
#include "load/template.h"

#define HTTP_METHOD_MAX 32 /* length of a method */

/* Values of the default fields; NULL: the request does not have this field. */
struct http_defaults {
	const char *host, *authorization, *content_type;
};

/*
 * Checks the options' header fields. Returns 0, or -EINVAL with a sentence in `why`.
 */
int http_fields_check(const struct request_options *o, struct strbuf *why);

/*
 * Appends "NAME: VALUE\r\n" for each field of a request. Values of --header are templates. Returns
 * 0 or the error of template_parse().
 */
int http_fields_add(struct template *t, const struct http_defaults *defaults,
		    const struct request_options *o, struct strbuf *why);

/*
 * Parts of the fields: each of the four default fields (of which --header may replace or remove
 * some), then all other fields of --header.
 */
#define HTTP_FIELD_PARTS 5

/* Appends the fields of a part. Returns as http_fields_add() does. */
int http_fields_add_part(struct template *t, int part, const struct http_defaults *defaults,
			 const struct request_options *o, struct strbuf *why);

/*
 * Appends recorded fields, "NAME: VALUE" lines of which `text` (modified) consists, except those
 * that --header or --auth replaces, that concern the recorded connection, or that the body's length
 * sets.
 * Returns a mask of the default fields among them; sets *wrong to a sentence if a line is invalid.
 */
uint8_t http_fields_add_recorded(struct strbuf *out, char *text, size_t size,
				 const struct request_options *o, const char **wrong);

/* Returns whether --header has a field of this name, in upper or lower case. */
bool http_fields_has(const struct request_options *o, const char *name);

/*
 * Checks a method and finds its operation: the kind that samples and --expect have. Returns 0, or
 * -EINVAL with a sentence in `why`.
 */
int http_method_parse(const char *method, enum operation_kind *kind, struct strbuf *why);

/* Returns whether requests of this method may have a body. */
bool http_method_has_body(const char *method);

/* Returns whether requests of this method may be repeated (RFC 9110, 9.2.2). */
bool http_method_is_idempotent(const char *method);

#endif
