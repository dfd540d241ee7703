/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_request.h"

#include <errno.h>

static const struct opt_choice resumption_choices[] = {
	{ "no", TLS_RESUMPTION_NO, "each connection makes a full handshake" },
	{ "yes", TLS_RESUMPTION_YES, "a connection resumes its last session, as browsers do" },
	{ NULL, 0, NULL },
};

const struct opt load_request_option_rows[] = {
	OPT_LIST(struct load_request_options, request.headers, .name = "header",
		 .group = OPT_LOAD, .letter = 'H',
		 .metavar = "FIELD",
		 .help = "HTTP header field 'NAME: VALUE' of each request; replaces a default "
			 "field of this name, or removes it if VALUE is empty"),
	OPT_STRING(struct load_request_options, request.method, .name = "http-method",
		   .group = OPT_LOAD,
		   .letter = 'X', .metavar = "METHOD",
		   .help = "HTTP method of all requests (default: GET, or POST with --body)"),
	OPT_STRING(struct load_request_options, request.body, .name = "body",
		   .group = OPT_LOAD,
		   .metavar = "TEXT|@FILE",
		   .help = "Body of all HTTP requests: a file as it is, or a text in which {key}, "
			   "{value}, {seq} and {random:N} are filled in"),
	OPT_STRING(struct load_request_options, request.auth, .name = "auth",
		   .group = OPT_TARGET,
		   .metavar = "KIND:SOURCE",
		   .help = "Credentials, as basic:@FILE, basic:env:NAME (USER:PASSWORD) or, for "
			   "HTTP, bearer:@FILE, bearer:env:NAME: from a file or an environment "
			   "variable"),
	OPT_STRING(struct load_request_options, request.connect_to, .name = "connect-to",
		   .group = OPT_TARGET, .rare = true,
		   .metavar = "HOST[:PORT]",
		   .help = "Connect to this host and port instead of the URL's; Host field and "
			   "TLS still use the URL's"),
	OPT_STRING(struct load_request_options, request.sni, .name = "sni",
		   .group = OPT_TARGET, .rare = true, .metavar = "NAME",
		   .help = "Name to send to a TLS server and to check its certificate for, "
			   "instead of the URL's host"),
	OPT_CHOICE(struct load_request_options, request.tls_resumption, .name = "tls-resumption",
		   .group = OPT_TARGET, .rare = true,
		   .choices = resumption_choices,
		   .help = "Whether a connection that is opened again resumes its TLS session "
			   "(default no)"),
	OPT_STRING(struct load_request_options, expect, .name = "expect",
		   .group = OPT_MEASURE, .metavar = "STATUSES",
		   .help = "HTTP statuses that count as success, such as 404 or 200,3xx; all other "
			   "statuses are failures"),
	OPT_STRING(struct load_request_options, ca_file, .name = "ca",
		   .group = OPT_TARGET, .rare = true, .file = true,
		   .excludes = "insecure",
		   .help = "File of certificates to trust instead of the system's"),
	OPT_FLAG(struct load_request_options, insecure, .name = "insecure",
		 .group = OPT_TARGET,
		 .help = "Do not verify the server's certificate"),
	OPT_STRING(struct load_request_options, cert_file, .name = "cert",
		   .group = OPT_TARGET, .rare = true, .file = true,
		   .help = "Client certificate (PEM), for a TLS server that asks for one"),
	OPT_STRING(struct load_request_options, key_file, .name = "key",
		   .group = OPT_TARGET, .rare = true, .file = true,
		   .help = "Private key (PEM) of --cert, if it is not in the same file"),
	OPT_END,
};

void load_request_uses_add(struct load_request_uses *uses, const struct target *target)
{
	uses->tls |= target->protocol->tls;
	uses->http |= target->protocol->http;
	uses->login |= target->protocol->has_path || target->protocol->greet;
	uses->network |= !target->unix_socket && !target->protocol->no_network;
	uses->fields |= target->protocol->has_path;
}

static int load_request_refuse(struct strbuf *why, const char *text)
{
	strbuf_puts(why, text);
	return -EINVAL;
}

int load_request_check(const struct load_request_options *o, struct strbuf *why)
{
	return request_options_check(&o->request, why);
}

int load_request_useful(const struct load_request_options *o, const struct load_request_uses *uses,
			struct strbuf *why)
{
	const struct request_options *r = &o->request;

	if (!uses->tls && (o->insecure || o->ca_file || o->cert_file))
		return load_request_refuse(why, "--insecure, --ca and --cert need a URL with TLS");
	if (!o->cert_file && o->key_file)
		return load_request_refuse(why, "--key needs --cert");
	if (!uses->http && o->expect)
		return load_request_refuse(why, "--expect needs a URL of HTTP");
	if (!uses->fields && r->headers.len)
		return load_request_refuse(why, "--header needs a URL of HTTP or gRPC");
	if (!uses->http && (r->method || r->body))
		return load_request_refuse(why, "--http-method and --body need a URL of HTTP");
	if (!uses->login && r->auth)
		return load_request_refuse(why, "--auth needs a URL of HTTP, gRPC, Redis or "
						"memcached");
	if (!uses->network && r->connect_to)
		return load_request_refuse(why, "--connect-to needs a URL with a host");
	if (!uses->tls && (r->sni || r->tls_resumption))
		return load_request_refuse(why, "--sni and --tls-resumption need a URL with TLS");
	return 0;
}

void load_request_config(const struct load_request_options *o, struct load_config *c)
{
	c->insecure = o->insecure;
	c->ca_file = o->ca_file;
	c->cert_file = o->cert_file;
	c->key_file = o->key_file;
	c->expect = o->expect;
	c->request = o->request;
}
