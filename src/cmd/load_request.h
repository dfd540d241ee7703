/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The options of connections and requests, which `load` and `explain` share: what to send besides
 * the URL, and how to use TLS.
 */
#ifndef HOSTLAT_CMD_LOAD_REQUEST_H
#define HOSTLAT_CMD_LOAD_REQUEST_H

#include "base/opt.h"
#include "base/strbuf.h"
#include "load/config.h"
#include "load/protocol.h"

struct load_request_options {
	bool insecure;
	const char *ca_file, *cert_file, *key_file, *expect;
	struct request_options request;
};

extern const struct opt load_request_option_rows[];

#define OPTIONS_LOAD_REQUEST(config, member)                                                       \
	OPT_ROWS(config, member, struct load_request_options, load_request_option_rows)

/* Names of the options, for `excludes` of other options. */
#define LOAD_REQUEST_ROWS                                                                          \
	"ca,insecure,cert,key,expect,header,http-method,body,auth,connect-to,sni,tls-resumption"

/* Properties of the URLs of a run; each member is true if one of the URLs has it. */
struct load_request_uses {
	bool tls, http, login, network;
	bool fields; /* requests have header fields */
};

/* Adds the properties of a URL. */
void load_request_uses_add(struct load_request_uses *uses, const struct target *target);

/* Checks values of the options. Returns 0, or -EINVAL with a sentence in `why`. */
int load_request_check(const struct load_request_options *o, struct strbuf *why);

/*
 * Refuses options that have no effect on any of the URLs. Returns 0, or -EINVAL with a sentence in
 * `why`.
 */
int load_request_useful(const struct load_request_options *o, const struct load_request_uses *uses,
			struct strbuf *why);

/* Copies the options into the config. Borrows their strings. */
void load_request_config(const struct load_request_options *o, struct load_config *config);

#endif
