/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS over a connected non-blocking socket, for either side. A server's certificate and its name
 * are checked unless `insecure` is set. Bytes on the wire are counted, and the kernel stamps of
 * read bytes are kept.
 */
#ifndef HOSTLAT_NET_TLS_H
#define HOSTLAT_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "net/stamp.h"

struct net_tls_context; /* TLS settings, shared by the connections of all threads */
struct net_tls;         /* TLS state of one connection */

struct net_tls_config {
	bool insecure;       /* don't check certificates */
	const char *ca_file; /* PEM; NULL: the certificates that the system trusts */
	bool server;         /* the server's side; clients are not asked for a certificate */
	/*
	 * PEM: this side's chain and its key; NULL: none, which only a client may have. Without a
	 * key file the key is looked for in `cert_file`.
	 */
	const char *cert_file, *key_file;
	bool resumption; /* client: net_tls_begin() resumes the last session of this net_tls */
};

/* Returns 0, or -errno with a sentence in `why`. */
int net_tls_context_new(struct net_tls_context **out, const struct net_tls_config *config,
			struct strbuf *why);
void net_tls_context_free(struct net_tls_context *context);

/*
 * Makes a connection's TLS state. `host`: name or address, for SNI and the certificate check;
 * server: "". `alpn`: the protocol that the peer must choose (RFC 7301), such as "h2", valid as
 * long as the connection; NULL: any.
 */
int net_tls_new(struct net_tls **out, struct net_tls_context *context, const char *host,
		const char *alpn);
void net_tls_free(struct net_tls *tls);

/*
 * Begins a connection on `fd`, which stays the caller's. Forgets the previous connection, except
 * its session if that is to be resumed.
 */
int net_tls_begin(struct net_tls *tls, int fd, bool stamps);

/*
 * Returns 1 when done, 0 when it waits for the peer, or -EPROTO, -EKEYREJECTED (the peer's
 * certificate), -ECONNABORTED (the peer sent an alert, or did not choose the protocol).
 */
int net_tls_handshake(struct net_tls *tls);

/* Returns whether the handshake, which is complete, resumed an earlier session. */
bool net_tls_resumed(const struct net_tls *tls);

/* Returns a sentence why the handshake or a later call failed; "": nothing failed so far. */
const char *net_tls_error(const struct net_tls *tls);

/* Returns true if the server has asked for a certificate and this client has none. */
bool net_tls_lacks_cert(const struct net_tls *tls);

/*
 * These functions work like write() and read() on the socket, but return -errno. After -EAGAIN a
 * write must be repeated with the same bytes, at any address. net_tls_read() returns 0 when the
 * peer has closed, and sets *drained if no data are left to read.
 */
ssize_t net_tls_write(struct net_tls *tls, const void *data, size_t size);
ssize_t net_tls_read(struct net_tls *tls, void *buffer, size_t size, struct net_rx_stamp *stamp,
		     bool *drained);

/* Return the bytes sent and received on the wire, TLS records included, since net_tls_begin(). */
uint64_t net_tls_sent(const struct net_tls *tls);
uint64_t net_tls_received(const struct net_tls *tls);

#endif
