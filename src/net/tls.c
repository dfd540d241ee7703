/* SPDX-License-Identifier: Apache-2.0 */
#include "net/tls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#define NO_ALPN "the server does not offer the protocol '%s' (ALPN)"

struct net_tls_context {
	SSL_CTX *ssl;
	BIO_METHOD *method;
	bool insecure, server, has_cert;
};

struct net_tls {
	struct net_tls_context *context;
	SSL *ssl;
	SSL_SESSION *session;       /* last session that may be resumed; NULL: none; owned */
	char *host;
	const char *alpn;
	bool is_address;
	int fd;
	bool stamps;
	bool asked;                 /* the server wants a certificate, and there is none */
	bool short_read;            /* the socket gave less than requested: it is empty */
	struct net_rx_stamp stamp;  /* stamp of the last bytes read from the socket */
	uint64_t sent, received;
	char error[256];
};

/* ---- OpenSSL's access to the socket ---- */

static int tls_bio_result(BIO *bio, ssize_t n, bool reading)
{
	if (n >= 0)
		return n;
	if (errno == EAGAIN || errno == EINTR) {
		if (reading)
			BIO_set_retry_read(bio);
		else
			BIO_set_retry_write(bio);
	}
	return -1;
}

static int tls_bio_write(BIO *bio, const char *data, int size)
{
	struct net_tls *tls = BIO_get_data(bio);
	ssize_t n = send(tls->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);

	BIO_clear_retry_flags(bio);
	if (n > 0)
		tls->sent += n;
	return tls_bio_result(bio, n, false);
}

static int tls_bio_read(BIO *bio, char *buffer, int size)
{
	struct net_tls *tls = BIO_get_data(bio);
	struct net_rx_stamp stamp = {};
	ssize_t n;

	BIO_clear_retry_flags(bio);
	if (tls->stamps) {
		n = net_stamp_recv(tls->fd, buffer, size, &stamp);
		if (n < 0) {
			errno = -n;
			n = -1;
		}
	} else {
		n = recv(tls->fd, buffer, size, MSG_DONTWAIT);
	}
	tls->short_read = n < size;
	if (n > 0) {
		tls->received += n;
		tls->stamp = stamp;
	}
	return tls_bio_result(bio, n, true);
}

static long tls_bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH;
}

static BIO_METHOD *tls_new_method(void)
{
	BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "socket");

	if (method) {
		BIO_meth_set_write(method, tls_bio_write);
		BIO_meth_set_read(method, tls_bio_read);
		BIO_meth_set_ctrl(method, tls_bio_ctrl);
	}
	return method;
}

/* ---- context ---- */

/* Trusts the system's certificates; tries usual paths, as OpenSSL may be of another system. */
static int tls_trust_system(SSL_CTX *ssl)
{
	static const char *const bundles[] = {
		"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
		"/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem",
	};
	size_t i;

	if (SSL_CTX_set_default_verify_paths(ssl) != 1)
		return -EBADMSG;
	for (i = 0; i < sizeof(bundles) / sizeof(bundles[0]); i++) {
		if (!access(bundles[i], R_OK))
			return SSL_CTX_load_verify_file(ssl, bundles[i]) == 1 ? 0 : -EBADMSG;
	}
	return 0;
}

/* Returns why a file cannot be used: access()'s -errno, or -EBADMSG if it is not in PEM format. */
static int tls_not_readable(const char *path, const char *what, struct strbuf *why)
{
	int err = access(path, R_OK) ? -errno : -EBADMSG;

	strbuf_printf(why, "cannot read a %s from %s: %s", what, path,
		      err == -EBADMSG ? "it is not in PEM format" : strerror(-err));
	return err;
}

static int tls_set_trust(struct net_tls_context *context, const struct net_tls_config *config,
			 struct strbuf *why)
{
	context->insecure = config->insecure;
	SSL_CTX_set_verify(context->ssl, config->insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
			   NULL);
	if (config->ca_file && SSL_CTX_load_verify_file(context->ssl, config->ca_file) != 1)
		return tls_not_readable(config->ca_file, "certificate", why);
	if (!config->ca_file && !config->insecure && tls_trust_system(context->ssl)) {
		strbuf_puts(why, "cannot read the system's trusted certificates");
		return -EBADMSG;
	}
	return 0;
}

static int tls_no_passphrase(char *buffer, int size, int writing, void *ctx)
{
	(void)buffer;
	(void)size;
	(void)writing;
	(void)ctx;
	return 0;
}

/*
 * OpenSSL callback, called if the server asks for a certificate and none is set: the handshake goes
 * on.
 */
static int tls_lacks_cert(SSL *ssl, X509 **cert, EVP_PKEY **key)
{
	struct net_tls *tls = SSL_get_app_data(ssl);

	(void)cert;
	(void)key;
	tls->asked = true;
	return 0;
}

static int tls_set_identity(struct net_tls_context *context, const struct net_tls_config *config,
			    struct strbuf *why)
{
	const char *key_file = config->key_file ? config->key_file : config->cert_file;

	/* No passphrase is asked for, as that would stop a script. */
	SSL_CTX_set_default_passwd_cb(context->ssl, tls_no_passphrase);
	if (SSL_CTX_use_certificate_chain_file(context->ssl, config->cert_file) != 1)
		return tls_not_readable(config->cert_file, "certificate", why);
	if (access(key_file, R_OK))
		return tls_not_readable(key_file, "private key", why);
	if (SSL_CTX_use_PrivateKey_file(context->ssl, key_file, SSL_FILETYPE_PEM) != 1) {
		strbuf_printf(why, "cannot read a private key from %s: the file must be in PEM "
			      "format, match %s and have no passphrase", key_file,
			      config->cert_file);
		return -EBADMSG;
	}
	context->has_cert = true;
	return 0;
}

/*
 * OpenSSL callback: the server has sent a session ticket or opened a session. Returns 1: keeps the
 * session.
 */
static int tls_keep_session(SSL *ssl, SSL_SESSION *session)
{
	struct net_tls *tls = SSL_get_app_data(ssl);

	SSL_SESSION_free(tls->session);
	tls->session = session;
	return 1;
}

static void tls_set_resumption(SSL_CTX *ssl, bool resumption)
{
	SSL_CTX_set_session_cache_mode(ssl, resumption ? SSL_SESS_CACHE_CLIENT |
				       SSL_SESS_CACHE_NO_INTERNAL : SSL_SESS_CACHE_OFF);
	if (resumption)
		SSL_CTX_sess_set_new_cb(ssl, tls_keep_session);
}

int net_tls_context_new(struct net_tls_context **out, const struct net_tls_config *config,
			struct strbuf *why)
{
	struct net_tls_context *context = calloc(1, sizeof(*context));
	int err = -ENOMEM;

	if (!context)
		return -ENOMEM;
	context->server = config->server;
	context->ssl = SSL_CTX_new(context->server ? TLS_server_method() : TLS_client_method());
	context->method = tls_new_method();
	if (!context->ssl || !context->method)
		goto out;
	SSL_CTX_set_min_proto_version(context->ssl, TLS1_2_VERSION);
	SSL_CTX_set_mode(context->ssl, SSL_MODE_ENABLE_PARTIAL_WRITE |
				       SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	/* One recv() reads all records that have come. */
	SSL_CTX_set_read_ahead(context->ssl, 1);
	tls_set_resumption(context->ssl, config->resumption);
	SSL_CTX_set_client_cert_cb(context->ssl, tls_lacks_cert);
	err = context->server ? 0 : tls_set_trust(context, config, why);
	if (!err && config->cert_file)
		err = tls_set_identity(context, config, why);
out:
	ERR_clear_error();
	if (err)
		net_tls_context_free(context);
	else
		*out = context;
	return err;
}

void net_tls_context_free(struct net_tls_context *context)
{
	if (!context)
		return;
	SSL_CTX_free(context->ssl);
	BIO_meth_free(context->method);
	free(context);
}

/* ---- one connection ---- */

int net_tls_new(struct net_tls **out, struct net_tls_context *context, const char *host,
		const char *alpn)
{
	struct net_tls *tls = calloc(1, sizeof(*tls));
	unsigned char address[16];

	if (!tls)
		return -ENOMEM;
	tls->context = context;
	tls->alpn = alpn;
	/* A certificate names the address without its zone. */
	tls->host = strndup(host, strcspn(host, "%"));
	if (!tls->host) {
		free(tls);
		return -ENOMEM;
	}
	tls->is_address = inet_pton(AF_INET, tls->host, address) == 1 ||
			  inet_pton(AF_INET6, tls->host, address) == 1;
	*out = tls;
	return 0;
}

/* Frees the connection. OpenSSL spoils the session of one that ends without a TLS alert. */
static void tls_end(struct net_tls *tls)
{
	if (tls->ssl && tls->session)
		SSL_set_shutdown(tls->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(tls->ssl);
	tls->ssl = NULL;
}

void net_tls_free(struct net_tls *tls)
{
	if (!tls)
		return;
	tls_end(tls);
	SSL_SESSION_free(tls->session);
	free(tls->host);
	free(tls);
}

static int tls_set_name(struct net_tls *tls)
{
	int ok;

	if (tls->is_address)
		ok = X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls->ssl), tls->host);
	else
		ok = SSL_set_tlsext_host_name(tls->ssl, tls->host) &&
		     SSL_set1_host(tls->ssl, tls->host);
	return ok ? 0 : -EINVAL;
}

/* Offers one application protocol. */
static int tls_set_alpn(struct net_tls *tls)
{
	unsigned char offer[256];
	const size_t n = tls->alpn ? strlen(tls->alpn) : 0;

	if (!n)
		return 0;
	if (n >= sizeof(offer))
		return -EINVAL;
	offer[0] = (unsigned char)n;
	memcpy(offer + 1, tls->alpn, n);
	return SSL_set_alpn_protos(tls->ssl, offer, (unsigned int)n + 1) ? -ENOMEM : 0;
}

int net_tls_begin(struct net_tls *tls, int fd, bool stamps)
{
	BIO *bio;

	tls_end(tls);
	tls->ssl = SSL_new(tls->context->ssl);
	if (!tls->ssl)
		return -ENOMEM;
	bio = BIO_new(tls->context->method);
	if (!bio)
		return -ENOMEM;
	BIO_set_data(bio, tls);
	BIO_set_init(bio, 1);
	SSL_set_bio(tls->ssl, bio, bio);
	SSL_set_app_data(tls->ssl, tls);
	tls->asked = false;
	tls->fd = fd;
	tls->stamps = stamps;
	tls->sent = tls->received = 0;
	tls->stamp = (struct net_rx_stamp){};
	if (tls->context->server) {
		SSL_set_accept_state(tls->ssl);
		return 0;
	}
	SSL_set_connect_state(tls->ssl);
	if (tls->session && !SSL_set_session(tls->ssl, tls->session))
		return -ENOMEM;
	return tls_set_name(tls) ?: tls_set_alpn(tls);
}

/* Returns whether an OpenSSL error is an alert from the peer: reason codes above 1000. */
static bool tls_is_alert(unsigned long error)
{
	return ERR_GET_LIB(error) == ERR_LIB_SSL && ERR_GET_REASON(error) > SSL_AD_REASON_OFFSET;
}

/* Returns -errno of an operation that failed or has to wait, or 0 if the peer has closed. */
static int tls_operation_failed(struct net_tls *tls, int ret)
{
	int error = SSL_get_error(tls->ssl, ret);

	if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE)
		return -EAGAIN;
	if (error == SSL_ERROR_ZERO_RETURN)
		return 0;
	/* An end without a TLS alert is common, and no error: HTTP's lengths show cut data. */
	if (error == SSL_ERROR_SSL &&
	    ERR_GET_REASON(ERR_peek_error()) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		return 0;
	if (error == SSL_ERROR_SYSCALL)
		return errno ? -errno : -ECONNRESET;
	return tls_is_alert(ERR_peek_error()) ? -ECONNABORTED : -EPROTO;
}

static void tls_keep_error(struct net_tls *tls, long verdict)
{
	const unsigned long error = ERR_peek_error();
	const char *text = ERR_reason_error_string(error);

	if (ERR_GET_LIB(error) == ERR_LIB_SSL &&
	    ERR_GET_REASON(error) == SSL_R_WRONG_VERSION_NUMBER)
		text = "the server does not use TLS (use http://, h2c:// or redis://)";
	if (tls->alpn && ERR_GET_LIB(error) == ERR_LIB_SSL &&
	    ERR_GET_REASON(error) == SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL) {
		snprintf(tls->error, sizeof(tls->error), NO_ALPN, tls->alpn);
		return;
	}
	if (verdict != X509_V_OK && !tls->context->insecure)
		text = X509_verify_cert_error_string(verdict);
	snprintf(tls->error, sizeof(tls->error), "%s",
		 text ? text : "the peer ended the TLS connection");
}

/* Returns 1 if the peer has chosen the offered protocol or none was offered. */
static int tls_check_alpn(struct net_tls *tls)
{
	const unsigned char *chosen = NULL;
	unsigned int n = 0;

	if (!tls->alpn || tls->context->server)
		return 1;
	SSL_get0_alpn_selected(tls->ssl, &chosen, &n);
	if (n == strlen(tls->alpn) && !memcmp(chosen, tls->alpn, n))
		return 1;
	snprintf(tls->error, sizeof(tls->error), NO_ALPN, tls->alpn);
	return -ECONNABORTED;
}

int net_tls_handshake(struct net_tls *tls)
{
	long verdict;
	int ret, err;

	ERR_clear_error();
	errno = 0;
	ret = SSL_do_handshake(tls->ssl);
	if (ret == 1)
		return tls_check_alpn(tls);
	err = tls_operation_failed(tls, ret);
	if (err == -EAGAIN)
		return 0;
	verdict = SSL_get_verify_result(tls->ssl);
	tls_keep_error(tls, verdict);
	ERR_clear_error();
	if (verdict != X509_V_OK && !tls->context->insecure)
		return -EKEYREJECTED;
	return err ? err : -ECONNRESET;
}

bool net_tls_resumed(const struct net_tls *tls)
{
	return SSL_session_reused(tls->ssl);
}

/* Stores the error of a failed read or write for net_tls_error(). Returns `err`. */
static int tls_transfer_failed(struct net_tls *tls, int err)
{
	if (err == -ECONNABORTED || err == -EPROTO)
		tls_keep_error(tls, X509_V_OK);
	ERR_clear_error();
	return err;
}

const char *net_tls_error(const struct net_tls *tls)
{
	return tls->asked ? "the server requests a client certificate (use --cert, --key)" :
			    tls->error;
}

bool net_tls_lacks_cert(const struct net_tls *tls)
{
	return tls->asked;
}

ssize_t net_tls_write(struct net_tls *tls, const void *data, size_t size)
{
	size_t n = 0;
	int err;

	ERR_clear_error();
	errno = 0;
	if (SSL_write_ex(tls->ssl, data, size, &n))
		return n;
	err = tls_transfer_failed(tls, tls_operation_failed(tls, 0));
	return err ? err : -EPIPE;
}

ssize_t net_tls_read(struct net_tls *tls, void *buffer, size_t size, struct net_rx_stamp *stamp,
		     bool *drained)
{
	size_t n = 0;

	ERR_clear_error();
	errno = 0;
	*drained = true;
	if (!SSL_read_ex(tls->ssl, buffer, size, &n))
		return tls_transfer_failed(tls, tls_operation_failed(tls, 0));
	*drained = tls->short_read && !SSL_has_pending(tls->ssl);
	*stamp = tls->stamp;
	return n;
}

uint64_t net_tls_sent(const struct net_tls *tls)
{
	return tls->sent;
}

uint64_t net_tls_received(const struct net_tls *tls)
{
	return tls->received;
}
