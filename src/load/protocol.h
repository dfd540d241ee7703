/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Application protocols, client side: a table with a row of functions per protocol. Requests are
 * encoded into a caller's buffer. Replies are parsed incrementally, in any split, without a buffer:
 * payload is skipped, and lengths from the peer are only counted down.
 */
#ifndef HOSTLAT_LOAD_PROTOCOL_H
#define HOSTLAT_LOAD_PROTOCOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "base/strbuf.h"
#include "load/operation.h"
#include "load/error_text.h"

#define PROTOCOL_PARSER_BYTES 256
#define PROTOCOL_GREETING_MAX 1024

enum reply_status {
	REPLY_OK,
	REPLY_MISS,  /* well-formed but without content: counts as completed */
	REPLY_ERROR, /* the server refused (HTTP 5xx, SERVER_ERROR, -ERR ...): counts as failed */
};

/* An encoded request, as far as parsing its reply needs it. */
struct encoded_request {
	size_t size;      /* bytes written to the buffer */
	uint16_t type;    /* enum operation_kind; 0 for protocols without operations */
	/* expected id of the reply, with `matched_by_id`; may be only the low bits */
	uint32_t id;
};

/* A parsed reply. */
struct reply {
	enum reply_status status;
	bool close;             /* the server will close the connection after it */
	uint16_t code;          /* HTTP's status, or memcached's binary one; 0: none */
	const struct error_text *error_text; /* error text, owned by the parser; NULL: no error */
	uint32_t id;            /* with `matched_by_id` */
	uint64_t server_in_ns;  /* CLOCK_MONOTONIC of a synthetic server; 0: unknown */
	uint64_t server_out_ns;
};

/* Parser state of a connection; zeroed at the start and after a reconnect. */
struct reply_parser {
	_Alignas(8) unsigned char state[PROTOCOL_PARSER_BYTES];
	struct error_text error_text; /* the last error of the connection */
};

/* Returns the error text of the parser that `state` belongs to. */
static inline struct error_text *parser_error_text(void *state)
{
	return &((struct reply_parser *)state)->error_text;
}

struct workload;
struct target;

/*
 * Writes a request to `to` and returns its end. `to` has room for workload->request_overhead bytes
 * (key, host, path and 512 bytes) and the value.
 */
typedef char *(*protocol_put)(char *to, const struct workload *workload,
			      const struct operation *operation);

struct protocol {
	const char *name;        /* "memcached": also the URL's scheme */
	const char *default_port;
	bool datagram;           /* a request is one datagram, and mostly a reply too */
	bool tls;
	bool matched_by_id;      /* replies may overtake each other */
	bool no_network;         /* null: */
	bool http;               /* a reply's code is an HTTP status */
	uint32_t settings;       /* workload settings it uses, without shares of operations */
	const protocol_put *put; /* by enum operation_kind; NULL: no operations */
	/*
	 * Datagram protocols: size of the frame header before each operation, written by put_frame.
	 */
	size_t frame_size;
	void (*put_frame)(uint8_t *frame, struct encoded_request *out);
	/* For protocols without operations: see protocol_encode(); `out` has the id. */
	int (*encode)(const struct workload *workload, struct rng *rng, void *buffer, size_t cap,
		      struct encoded_request *out);
	/*
	 * Parses bytes of the stream (or one whole datagram). `type` is that of the oldest
	 * outstanding request. Sets *used, and returns 1 when a reply is complete (call again with
	 * the rest), 0 when all was used and more is needed, or -EPROTO: the stream is garbled and
	 * the connection of no more use. When the peer has closed, it is called once more with no
	 * data (NULL, 0): 1 is a reply whose end is the stream's, 0 is a reply cut short or none at
	 * all.
	 */
	int (*parse)(struct reply_parser *parser, uint16_t type, const void *data, size_t size,
		     size_t *used, struct reply *out);
	/*
	 * Writes what a new connection sends before its first request; NULL: nothing. Returns its
	 * size, 0 if this target needs none. Sets *replies to the number of replies, which look
	 * like those to OPERATION_SET.
	 */
	size_t (*greet)(const struct target *target, char out[PROTOCOL_GREETING_MAX],
			unsigned int *replies);
};

/*
 * Encodes one request of the workload. `id` is unique among those outstanding on the connection.
 * Returns 0, or -ENOBUFS if `cap` is too small: workload_request_max() bytes always suffice.
 */
int protocol_encode(const struct protocol *protocol, const struct workload *workload,
		    struct rng *rng, uint32_t id, void *buffer, size_t cap,
		    struct encoded_request *out);
/*
 * Return whether the protocol stores keys; encode the request that stores key number `key`
 * (--preload).
 */
bool protocol_stores(const struct protocol *protocol);
int protocol_encode_store(const struct protocol *protocol, const struct workload *workload,
			  uint64_t key, void *buffer, size_t cap, struct encoded_request *out);
/* Returns the workload settings that the protocol uses: a bit per enum workload_setting. */
uint32_t protocol_settings(const struct protocol *protocol);

/* Returns the protocol of a URL scheme, or NULL. The table ends with a NULL name. */
const struct protocol *protocol_find(const char *scheme);
extern const struct protocol protocols[];

/* A target: "memcached://host:11211", "http+unix:///run/x.sock:/path", "null:". */
struct target {
	const struct protocol *protocol;
	bool unix_socket;
	char host[256];  /* without brackets; or the socket's path */
	char port[16];
	char path[1024]; /* HTTP: at least "/"; ASCII */
	bool has_user;   /* HTTP and Redis: user and password are given */
	char user[128], password[512];
	uint32_t database; /* Redis: the database to SELECT, if not 0 */
};

/* Parses a URL. Returns 0, or -EINVAL with a sentence in `why`. */
int target_parse(const char *url, struct target *out, struct strbuf *why);

/* Writes a URL as it may be shown and recorded: with "***" in place of its password. */
void target_put_shown(const char *url, struct strbuf *out);

#endif
