/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 requests: request line, fields and body of each operation, compiled once per target
 * from its URL and its options. Sending a request copies the compiled text and fills in its
 * placeholders (http_put.h).
 */
#ifndef HOSTLAT_LOAD_HTTP_REQUEST_H
#define HOSTLAT_LOAD_HTTP_REQUEST_H

#include "load/http_fields.h"
#include "load/protocol.h"
#include "load/template.h"

struct http_request {
	/*
	 * The head. Without placeholders in the body it includes Content-Length, the empty line and
	 * the body; otherwise it ends with "Content-Length: ".
	 */
	struct template head;
	struct template body; /* empty unless it has placeholders */
};

struct http_requests {
	struct http_request of[OPERATIONS];
	/* one of `of`: all requests are this one, by --http-method or --body; NULL: a mix */
	const struct http_request *only;
	/* fields of a recorded request (--replay) that the record itself lacks */
	struct template fields[HTTP_FIELD_PARTS];
};

/*
 * Makes the requests of a target; `defaults` has Host and Authorization. Returns 0, -EINVAL (bad
 * usage) or the error of reading a file, with a sentence in `why`. After an error the caller still
 * calls http_requests_release().
 */
int http_requests_make(struct http_requests *out, const struct target *target,
		       const struct http_defaults *defaults, struct strbuf *why);
void http_requests_release(struct http_requests *requests);

/* Returns a mask of the placeholders in a request: bits of enum template_kind. */
uint32_t http_request_uses(const struct http_request *request);

/* Returns the largest size, in bytes, of a request without {value}. */
size_t http_requests_size_max(const struct http_requests *requests);

#endif
