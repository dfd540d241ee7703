/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS over a connected non-blocking socket, for either side. A server's certificate and its name
 * are checked unless that was refused; bytes on the wire are counted, and kernel stamps of what was
 * read are kept.
 */
#ifndef HOSTLAT_NET_TLS_H
#define HOSTLAT_NET_TLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/strbuf.h"
#include "net/stamp.h"

struct net_tls_context; /* shared by the connections of all threads */
struct net_tls;         /* TLS state of one connection */

struct net_tls_config {
	bool insecure;       /* don't check certificates */
	const char *ca_file; /* PEM; NULL: those that the system trusts */
	bool server;         /* the server's side; clients are not asked for a certificate */
	/*
	 * PEM: our own chain and its key; NULL: none, which only a client may have. Without a
	 * key file the key is looked for in `cert_file`.
	 */
	const char *cert_file, *key_file;
};

/* On failure `why` is a sentence. */
int net_tls_context_new(struct net_tls_context **out, const struct net_tls_config *config,
			struct strbuf *why);
void net_tls_context_free(struct net_tls_context *context);

/* `host`: a name or an address, for SNI and the check; a server's is "". Made once. */
int net_tls_new(struct net_tls **out, struct net_tls_context *context, const char *host);
void net_tls_free(struct net_tls *tls);

/* A new connection on `fd`, which stays the caller's. Forgets the one before. */
int net_tls_begin(struct net_tls *tls, int fd, bool stamps);

/*
 * Returns 1 when done, 0 when it waits for the peer, or -EPROTO, -EKEYREJECTED (its certificate),
 * -ECONNABORTED (it ended it with an alert).
 */
int net_tls_handshake(struct net_tls *tls);

/* Returns a sentence why the handshake or a later call failed; "": nothing failed so far. */
const char *net_tls_error(const struct net_tls *tls);

/* Returns true if the server has asked for a certificate and this client has none. */
bool net_tls_lacks_cert(const struct net_tls *tls);

/*
 * As write() and read() of the socket. After -EAGAIN a write must be repeated with the same bytes,
 * at whatever address. read: 0 = the peer has closed; *drained: nothing is left to be read.
 */
ssize_t net_tls_write(struct net_tls *tls, const void *data, size_t size);
ssize_t net_tls_read(struct net_tls *tls, void *buffer, size_t size, struct net_rx_stamp *stamp,
		     bool *drained);

/* Bytes on the wire since net_tls_begin(). */
uint64_t net_tls_sent(const struct net_tls *tls);
uint64_t net_tls_received(const struct net_tls *tls);

#endif
