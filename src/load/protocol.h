/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Application protocols, client side: a table with a row of functions per protocol. Requests are
 * encoded into the caller's buffer. Replies are parsed incrementally, in any pieces, without a
 * buffer: payload is skipped, and sizes from the peer are only counted down.
 *
 * A protocol whose connections have state and output of their own (HTTP/2) has sessions instead of
 * an encoder: see session.h.
 */
#ifndef HOSTLAT_LOAD_PROTOCOL_H
#define HOSTLAT_LOAD_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/strbuf.h"
#include "load/operation.h"
#include "load/replay_file.h"
#include "load/request_options.h"
#include "load/error_text.h"

#define PROTOCOL_PARSER_BYTES 256
#define PROTOCOL_GREETING_MAX 1024

enum reply_status {
	REPLY_OK,
	REPLY_MISS,  /* valid reply without content; the request counts as completed */
	REPLY_ERROR, /* the server's error (HTTP 5xx, -ERR ...); the request failed */
	/* sessions: the server did not process the request, which may be sent again */
	REPLY_UNPROCESSED,
};

/* An encoded request, with the data that parsing its reply needs. */
struct encoded_request {
	size_t size;      /* bytes written to the buffer */
	/*
	 * enum operation_kind, or OPERATION_COMMAND and above; 0: neither. On entry: the type of
	 * the request if bytes of it were sent, and the rest is to be encoded again; otherwise 0
	 */
	uint16_t type;
	uint64_t number;  /* on entry: number of the request, from 0 ({seq} of a template) */
	/* with `matched_by_id`: id of the reply, of which protocols may use only the low bits */
	uint32_t id;
};

/* A parsed reply. */
struct reply {
	enum reply_status status;
	bool close;             /* the server will close the connection after this reply */
	uint16_t code;          /* status of HTTP or memcached's binary protocol; 0: none */
	const struct error_text *error_text; /* owned by the parser; NULL: no error */
	/* name of the failure, owned by the parser; NULL: named by the code or the error text */
	const char *cause;
	uint32_t id;            /* id of the request, with `matched_by_id` */
	/* memcached: numbers of a key and of its item (cas); cas 0: not in the reply */
	uint64_t key, cas;
	uint64_t server_in_ns;  /* CLOCK_MONOTONIC times of a synthetic server, ns; 0: unknown */
	uint64_t server_out_ns;
};

/* Parser state of a connection; zeroed at the start and after a reconnect. */
struct reply_parser {
	_Alignas(8) unsigned char state[PROTOCOL_PARSER_BYTES];
	struct error_text error_text; /* text of the connection's last error reply */
	struct protocol_session *session; /* owned; NULL: the protocol has no sessions */
};

/* Returns the error text of the struct reply_parser whose `state` is given. */
static inline struct error_text *parser_error_text(void *state)
{
	return &((struct reply_parser *)state)->error_text;
}

struct protocol_session;
struct session_ops;
struct workload;
struct target;

/*
 * Writes a request to `to` and returns its end. The buffer holds workload->request_overhead bytes
 * (all but the value) and the value.
 */
typedef char *(*protocol_put)(char *to, const struct workload *workload,
			      const struct operation *operation);

struct protocol {
	const char *name;        /* such as "memcached"; is the URL's scheme */
	const char *default_port;
	bool datagram;           /* a request is one datagram; a reply is one or more */
	bool tls;
	bool matched_by_id;      /* replies may overtake each other */
	bool no_network;         /* the protocol "null:", which opens no connections */
	bool http;               /* a reply's code is an HTTP status */
	bool pushes;             /* the server may send bytes that are no reply */
	bool grpc;               /* URLs have the path /PACKAGE.SERVICE/METHOD */
	bool has_path;           /* URLs have a path */
	const struct session_ops *session; /* NULL: the protocol has no sessions */
	/*
	 * Mask of workload settings used, without operation shares. HTTP and gRPC: 0, as their
	 * settings depend on the requests (workload.settings).
	 */
	uint32_t settings;
	const protocol_put *put; /* indexed by enum operation_kind; NULL: no operations */
	/*
	 * Datagram protocols: bytes of the frame header, which put_frame writes before a request.
	 */
	size_t frame_size;
	void (*put_frame)(uint8_t *frame, struct encoded_request *out);
	/*
	 * Encodes a request of a protocol without operations. On entry, out->id is the request's
	 * id. Returns the same values as protocol_encode().
	 */
	int (*encode)(const struct workload *workload, struct rng *rng, void *buffer, size_t cap,
		      struct encoded_request *out);
	/* Encodes a request of workload->commands, as `encode`; NULL: no such requests. */
	int (*encode_command)(const struct workload *workload, struct rng *rng, void *buffer,
			      size_t cap, struct encoded_request *out);
	enum replay_format replays; /* recorded requests that it can send; REPLAY_NONE: none */
	/*
	 * Parses bytes of the stream, or one whole datagram. `type` is the operation of the oldest
	 * outstanding request. Sets *used. Returns 1 if a reply is complete (call again with the
	 * remaining bytes), 0 if more bytes are needed, or -EPROTO if the peer violates the
	 * protocol; the connection is then unusable. When the peer has closed the connection, the
	 * function is called with no data (NULL, 0): 1 means that the end of the stream ends a
	 * reply, 0 that the reply is incomplete or absent. With sessions, bytes may end several
	 * replies: session->replies_ready is the number of further calls that return 1.
	 */
	int (*parse)(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
		     size_t *used, struct reply *out);
	/*
	 * Writes the bytes that a new connection sends before its first request (NULL: none).
	 * Returns their number, 0 if this target needs none. Sets *replies to the number of
	 * replies, which are parsed as replies to `greeting_type`.
	 */
	uint16_t greeting_type;
	size_t (*greet)(const struct target *target, char out[PROTOCOL_GREETING_MAX],
			unsigned int *replies);
};

/*
 * Encodes a request of the workload: one of its commands, if it has some. `id` is unique among the
 * connection's outstanding requests; out->number is the number of the request.
 * Returns 0, or -ENOBUFS if `cap` is too small: workload_request_max() bytes always suffice.
 */
int protocol_encode(const struct protocol *protocol, const struct workload *workload,
		    struct rng *rng, uint32_t id, void *buffer, size_t cap,
		    struct encoded_request *out);
/*
 * Writes the key that decides which node of a cluster serves a request: of a command of the
 * workload, its first key. `rng` and `number` are those of protocol_encode(), and `to` has room for
 * the encoded request. Returns the size of the key, 0: there is none.
 */
size_t protocol_key(const struct workload *workload, struct rng *rng, uint64_t number, char *to);
/*
 * Starts a request of the workload in the session of a connection. On entry, out->number is the
 * request's number; sets out->type and out->id, the id of its reply. Returns 0 or -ENOMEM.
 */
int protocol_submit(const struct protocol *protocol, const struct workload *workload,
		    struct rng *rng, struct protocol_session *session,
		    struct encoded_request *out);
/*
 * protocol_stores() returns whether the protocol stores keys; protocol_encode_store() encodes the
 * request that stores key number `key` (--preload).
 */
bool protocol_stores(const struct protocol *protocol);
int protocol_encode_store(const struct protocol *protocol, const struct workload *workload,
			  uint64_t key, void *buffer, size_t cap, struct encoded_request *out);

/* Returns the protocol of a URL scheme, or NULL. protocols[] ends with a row whose name is NULL. */
const struct protocol *protocol_find(const char *scheme);
extern const struct protocol protocols[];

/* A target: "memcached://host:11211", "http+unix:///run/x.sock:/path", "null:". */
struct target {
	const struct protocol *protocol;
	bool unix_socket;
	char host[256];  /* without brackets; for a Unix socket, its path */
	char port[16];
	char path[1024]; /* HTTP: path, at least "/"; ASCII */
	bool has_user;   /* HTTP and Redis: the URL has a user or a password */
	char user[128], password[512];
	uint32_t database; /* Redis: number of the database to SELECT; 0: none */
	bool resp3;        /* Redis: the URL asks for RESP3 */
	bool cluster;      /* Redis: the URL asks for all masters of the server's cluster */
	const struct request_options *options; /* set by the caller; borrowed; NULL: defaults */
};

/* Parses a URL. Returns 0, or -EINVAL with a sentence in `why`. */
int target_parse(const char *url, struct target *out, struct strbuf *why);

/*
 * Checks the user and password of a target that has them. Returns 0, or -EINVAL with a sentence in
 * `why` that does not contain them.
 */
int target_check_login(const struct target *target, struct strbuf *why);

/* Writes a URL with "***" instead of its password, for output and recordings. */
void target_put_shown(const char *url, struct strbuf *out);

#endif
