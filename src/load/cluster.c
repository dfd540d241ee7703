/* SPDX-License-Identifier: Apache-2.0 */
#include "load/cluster.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define DIGITS_MAX 10
/* Largest number of values that the reply may still have, with those of nested arrays. */
#define VALUES_MAX (1U << 24)
#define BULK_MAX (1U << 20)
#define LINE_MAX_BYTES 4096

/* ---- slots of keys ---- */

/* CRC-16/XMODEM: polynomial 0x1021, from the highest bit, begins with 0. */
static uint16_t cluster_crc(const unsigned char *p, size_t size)
{
	/* the remainders of each half of a byte: a table of 32 bytes stays in the cache */
	static const uint16_t table[16] = {
		0x0000, 0x1021, 0x2042, 0x3063, 0x4084, 0x50a5, 0x60c6, 0x70e7,
		0x8108, 0x9129, 0xa14a, 0xb16b, 0xc18c, 0xd1ad, 0xe1ce, 0xf1ef,
	};
	uint16_t crc = 0;

	for (; size; size--, p++) {
		crc = (uint16_t)(crc << 4 ^ table[(crc >> 12 ^ *p >> 4) & 15]);
		crc = (uint16_t)(crc << 4 ^ table[(crc >> 12 ^ *p) & 15]);
	}
	return crc;
}

uint16_t cluster_slot(const void *key, size_t size)
{
	const char *p = key, *end = p + size;
	const char *open = size ? memchr(p, '{', size) : NULL;
	const char *close = open ? memchr(open + 1, '}', (size_t)(end - open - 1)) : NULL;

	if (close && close > open + 1) {
		p = open + 1;
		size = (size_t)(close - p);
	}
	return cluster_crc((const unsigned char *)p, size) % CLUSTER_SLOTS;
}

/* ---- values of RESP ---- */

/* Functions that read return 1; 0: more bytes are needed; or -EPROTO. */
struct cluster_reader {
	const char *p, *end;
};

/* The head of a value: its type byte and its line. */
struct cluster_value {
	char kind;
	const char *line; /* text of the line */
	size_t size;      /* bytes of the line */
	uint64_t number;  /* integer, size or count */
	bool null;        /* it is null, without data or further values */
};

static bool cluster_is_aggregate(char kind)
{
	return kind && strchr("*~%>|", kind);
}

static bool cluster_is_sized(char kind)
{
	return kind && strchr("$=!", kind);
}

/* Reads the number of a value that has one. */
static int cluster_read_number(struct cluster_value *v)
{
	if (v->size == 2 && !memcmp(v->line, "-1", 2) && strchr("*$", v->kind)) {
		v->null = true;
		return 1;
	}
	if (!v->size || v->size > DIGITS_MAX)
		return -EPROTO;
	for (size_t i = 0; i < v->size; i++) {
		if (v->line[i] < '0' || v->line[i] > '9')
			return -EPROTO;
		v->number = v->number * 10 + (uint64_t)(v->line[i] - '0');
	}
	return 1;
}

/* Reads the head of the next value, which is what precedes its data or further values. */
static int cluster_read_head(struct cluster_reader *r, struct cluster_value *v)
{
	const size_t left = (size_t)(r->end - r->p);
	const char *newline = left ? memchr(r->p, '\n', left) : NULL;

	*v = (struct cluster_value){ .kind = left ? *r->p : '\0' };
	if (left && !strchr("+-:$*_#,(=!~%>|", v->kind))
		return -EPROTO;
	if (!newline)
		return left > LINE_MAX_BYTES ? -EPROTO : 0;
	if (newline - r->p < 2 || newline[-1] != '\r')
		return -EPROTO;
	v->line = r->p + 1;
	v->size = (size_t)(newline - 1 - v->line);
	r->p = newline + 1;
	v->null = v->kind == '_';
	if (v->kind == ':' || cluster_is_sized(v->kind) || cluster_is_aggregate(v->kind))
		return cluster_read_number(v);
	return 1;
}

/* Reads the bytes of a value with a size, which become its line. */
static int cluster_read_data(struct cluster_reader *r, struct cluster_value *v)
{
	if (v->number > BULK_MAX)
		return -EPROTO;
	if ((size_t)(r->end - r->p) < v->number + 2)
		return 0;
	v->line = r->p;
	v->size = (size_t)v->number;
	r->p += v->number + 2;
	return memcmp(r->p - 2, "\r\n", 2) == 0 ? 1 : -EPROTO;
}

/* Reads a value without further values in it. */
static int cluster_read_value(struct cluster_reader *r, struct cluster_value *v)
{
	const int ret = cluster_read_head(r, v);

	return ret == 1 && cluster_is_sized(v->kind) && !v->null ? cluster_read_data(r, v) : ret;
}

/* Skips `n` values, with those within them. */
static int cluster_skip(struct cluster_reader *r, uint64_t n)
{
	struct cluster_value v;
	int ret = 1;

	for (; n && ret == 1; n--) {
		ret = cluster_read_value(r, &v);
		if (ret == 1 && cluster_is_aggregate(v.kind) && !v.null)
			n += v.kind == '%' || v.kind == '|' ? 2 * v.number : v.number;
		/* Attributes precede a value. */
		n += ret == 1 && v.kind == '|';
		if (n > VALUES_MAX)
			return -EPROTO;
	}
	return ret;
}

/* Reads the head of the next reply: skips attributes and what the server pushes before it. */
static int cluster_read_reply(struct cluster_reader *r, struct cluster_value *v)
{
	for (;;) {
		int ret = cluster_read_value(r, v);

		if (ret != 1 || (v->kind != '|' && v->kind != '>'))
			return ret;
		ret = cluster_skip(r, v->kind == '|' ? 2 * v->number : v->number);
		if (ret != 1)
			return ret;
	}
}

static int cluster_read_array(struct cluster_reader *r, uint64_t least, uint64_t *n)
{
	struct cluster_value v;
	const int ret = cluster_read_head(r, &v);

	*n = v.number;
	if (ret != 1)
		return ret;
	return v.kind == '*' && !v.null && v.number >= least && v.number < VALUES_MAX ? 1 : -EPROTO;
}

static int cluster_read_integer(struct cluster_reader *r, uint64_t max, uint16_t *out)
{
	struct cluster_value v;
	const int ret = cluster_read_head(r, &v);

	*out = (uint16_t)v.number;
	return ret != 1 ? ret : v.kind == ':' && v.number <= max ? 1 : -EPROTO;
}

/* ---- CLUSTER SLOTS ---- */

struct cluster_slots_reader {
	struct cluster_reader r;
	struct cluster *out;
	const char *home;
	struct strbuf *why;
};

static bool cluster_is_host(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		if (text[i] <= ' ' || text[i] > '~')
			return false;
	}
	return size && size < sizeof(((struct cluster_node *)0)->host);
}

static uint16_t cluster_find(const struct cluster *c, const char *host, uint16_t port)
{
	for (uint32_t i = 0; i < c->n_nodes; i++) {
		if (c->nodes[i].port == port && strcasecmp(c->nodes[i].host, host) == 0)
			return (uint16_t)i;
	}
	return CLUSTER_NO_NODE;
}

static int cluster_refuse_node(struct cluster_slots_reader *s, const char *what)
{
	strbuf_printf(s->why, "the cluster has a node %s, to which clients cannot connect; set "
			      "cluster-announce-hostname, or cluster-preferred-endpoint-type ip, "
			      "on its nodes", what);
	return -ENOTCONN;
}

/* Adds a node, unless it is known. Returns 1 with its index in *node, or -errno. */
static int cluster_add_node(struct cluster_slots_reader *s, const struct cluster_value *host,
			    uint16_t port, uint16_t *node)
{
	struct cluster_node new = { .port = port };

	/* The specification: null and "" are the host that the client has connected to. */
	if (host->null || !host->size) {
		snprintf(new.host, sizeof(new.host), "%s", s->home);
	} else if (host->size == 1 && *host->line == '?') {
		return cluster_refuse_node(s, "whose host name is unknown ('?')");
	} else if (!cluster_is_host(host->line, host->size)) {
		return -EPROTO;
	} else {
		memcpy(new.host, host->line, host->size);
	}
	if (!port)
		return cluster_refuse_node(s, "with the port 0");
	*node = cluster_find(s->out, new.host, port);
	if (*node != CLUSTER_NO_NODE)
		return 1;
	if (s->out->n_nodes == CLUSTER_NODES_MAX) {
		strbuf_printf(s->why, "the cluster has more than %d masters", CLUSTER_NODES_MAX);
		return -E2BIG;
	}
	*node = (uint16_t)s->out->n_nodes++;
	s->out->nodes[*node] = new;
	return 1;
}

/* Reads a node: its host, its port, and details that do not matter. */
static int cluster_read_node(struct cluster_slots_reader *s, uint16_t *node)
{
	struct cluster_value host;
	uint16_t port;
	uint64_t n;
	int ret = cluster_read_array(&s->r, 2, &n);

	if (ret == 1)
		ret = cluster_read_value(&s->r, &host);
	if (ret == 1 && !host.null && !strchr("$+", host.kind))
		return -EPROTO;
	if (ret == 1)
		ret = cluster_read_integer(&s->r, UINT16_MAX, &port);
	if (ret == 1)
		ret = cluster_skip(&s->r, n - 2);
	return ret == 1 ? cluster_add_node(s, &host, port, node) : ret;
}

/* Reads a range of slots: the first, the last, their master, and its replicas. */
static int cluster_read_range(struct cluster_slots_reader *s)
{
	uint16_t from = 0, to = 0, node = 0;
	uint64_t n;
	int ret = cluster_read_array(&s->r, 3, &n);

	if (ret == 1)
		ret = cluster_read_integer(&s->r, CLUSTER_SLOTS - 1, &from);
	if (ret == 1)
		ret = cluster_read_integer(&s->r, CLUSTER_SLOTS - 1, &to);
	if (ret == 1)
		ret = cluster_read_node(s, &node);
	if (ret == 1)
		ret = cluster_skip(&s->r, n - 3);
	for (uint32_t slot = from; ret == 1 && slot <= to; slot++)
		s->out->slots[slot] = node;
	return ret;
}

static int cluster_note_error(const struct cluster_value *v, struct strbuf *why)
{
	struct error_text text = { 0 };
	char clean[ERROR_TEXT_CLEAN_MAX];

	error_text_add(&text, v->line, v->size);
	error_text_clean(&text, clean);
	strbuf_puts(why, *clean ? clean : "an error without a text");
	return -EREMOTEIO;
}

static int cluster_read_ranges(struct cluster_slots_reader *s, unsigned int skip)
{
	struct cluster_value v;
	int ret;

	for (unsigned int i = 0; i <= skip; i++) {
		ret = cluster_read_reply(&s->r, &v);
		if (ret != 1)
			return ret;
		if (v.kind == '-' || v.kind == '!')
			return cluster_note_error(&v, s->why);
		if (i < skip && cluster_is_aggregate(v.kind) && !v.null)
			ret = cluster_skip(&s->r, v.kind == '%' ? 2 * v.number : v.number);
		if (ret != 1)
			return ret;
	}
	if (v.kind != '*' || v.null || v.number > CLUSTER_SLOTS)
		return -EPROTO;
	for (uint64_t i = 0; i < v.number && ret == 1; i++)
		ret = cluster_read_range(s);
	return ret;
}

int cluster_read_slots(struct cluster *out, unsigned int skip, const char *home, const void *data,
		       size_t size, struct strbuf *why)
{
	struct cluster_slots_reader s = {
		.r = { .p = data, .end = size ? (const char *)data + size : data },
		.out = out, .home = home, .why = why,
	};
	int ret;

	out->n_nodes = 0;
	for (uint32_t slot = 0; slot < CLUSTER_SLOTS; slot++)
		out->slots[slot] = CLUSTER_NO_NODE;
	ret = cluster_read_ranges(&s, skip);
	if (ret == -EPROTO)
		strbuf_puts(why, "the reply to CLUSTER SLOTS violates the protocol");
	return ret;
}

bool cluster_find_unserved(const struct cluster *cluster, unsigned int *from, unsigned int *to)
{
	unsigned int slot = 0;

	while (slot < CLUSTER_SLOTS && cluster->slots[slot] != CLUSTER_NO_NODE)
		slot++;
	*from = slot;
	while (slot < CLUSTER_SLOTS && cluster->slots[slot] == CLUSTER_NO_NODE)
		slot++;
	*to = slot - 1;
	return *from < CLUSTER_SLOTS;
}

/* ---- MOVED and ASK ---- */

/* Reads a decimal number up to `end`, which must not be empty. Returns false if it is above max. */
static bool cluster_parse_number(const char *p, const char *end, uint32_t max, uint16_t *out)
{
	uint32_t n = 0;

	if (p == end || end - p > 5)
		return false;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9')
			return false;
		n = n * 10 + (uint32_t)(*p - '0');
	}
	*out = (uint16_t)n;
	return n <= max;
}

bool cluster_read_redirect(const struct error_text *text, struct cluster_redirect *out)
{
	const char *p = text->text, *end = p + text->len, *space, *colon;

	while (end > p && (end[-1] == '\r' || end[-1] == '\n'))
		end--;
	*out = (struct cluster_redirect){ .ask = end - p > 4 && !memcmp(p, "ASK ", 4) };
	if (!out->ask && (end - p <= 6 || memcmp(p, "MOVED ", 6)))
		return false;
	p += out->ask ? 4 : 6;
	space = memchr(p, ' ', (size_t)(end - p));
	if (!space || !cluster_parse_number(p, space, CLUSTER_SLOTS - 1, &out->slot))
		return false;
	p = space + 1;
	/* The last colon: an IPv6 address has colons, too. */
	colon = memrchr(p, ':', (size_t)(end - p));
	if (!colon || !cluster_parse_number(colon + 1, end, UINT16_MAX, &out->port) || !out->port)
		return false;
	if (colon > p && !cluster_is_host(p, (size_t)(colon - p)))
		return false;
	memcpy(out->host, p, (size_t)(colon - p));
	return true;
}

uint16_t cluster_redirect_node(const struct cluster *cluster, uint16_t from,
			       const struct cluster_redirect *redirect)
{
	return cluster_find(cluster, *redirect->host ? redirect->host : cluster->nodes[from].host,
			    redirect->port);
}
