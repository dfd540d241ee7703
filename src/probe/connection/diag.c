/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/connection/diag.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <string.h>

#define ALIGN(n) (((n) + 3) & ~(size_t)3)
#define EXTENSION(attr) (1U << ((attr) - 1))
#define ERRNO_MAX 4095

void diag_ask(struct diag_request *r, uint32_t seq)
{
	*r = (struct diag_request){
		.head = {
			.nlmsg_len = sizeof(*r), .nlmsg_type = TCPDIAG_GETSOCK,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP, .nlmsg_seq = seq,
		},
		.body = {
			.idiag_ext = EXTENSION(INET_DIAG_INFO) | EXTENSION(INET_DIAG_SKMEMINFO) |
				     EXTENSION(INET_DIAG_CONG),
			.idiag_states = 1U << TCP_ESTABLISHED | 1U << TCP_SYN_SENT |
					1U << TCP_FIN_WAIT1 | 1U << TCP_FIN_WAIT2 |
					1U << TCP_CLOSE_WAIT | 1U << TCP_LAST_ACK |
					1U << TCP_CLOSING | 1U << TCP_LISTEN,
		},
	};
}

/* ---- attributes ---- */

struct diag_bytes {
	const unsigned char *at;
	size_t size;
};

/* Removes the next attribute from `in`. Returns false at the end or for a too long attribute. */
static bool diag_next_attr(struct diag_bytes *in, uint16_t *type, struct diag_bytes *value)
{
	struct nlattr head;
	size_t step;

	if (in->size < sizeof(head))
		return false;
	memcpy(&head, in->at, sizeof(head));
	if (head.nla_len < sizeof(head) || head.nla_len > in->size)
		return false;
	*type = head.nla_type & NLA_TYPE_MASK;
	*value = (struct diag_bytes){ in->at + sizeof(head), head.nla_len - sizeof(head) };
	step = ALIGN(head.nla_len) < in->size ? ALIGN(head.nla_len) : in->size;
	in->at += step;
	in->size -= step;
	return true;
}

/* Copies an attribute's string, which may lack its terminating NUL, and zeroes the rest of `to`. */
static void diag_read_text(char *to, size_t size, const struct diag_bytes *value)
{
	size_t n = value->size < size - 1 ? value->size : size - 1;

	memset(to, 0, size);
	memcpy(to, value->at, n);
	n = strlen(to);
	memset(to + n, 0, size - n); /* zero the bytes after the string */
}

static void diag_read_memory(struct diag_sock *s, const struct diag_bytes *value)
{
	uint32_t words[SK_MEMINFO_WMEM_QUEUED + 1];

	if (value->size < sizeof(words))
		return;
	memcpy(words, value->at, sizeof(words));
	s->rmem = words[SK_MEMINFO_RMEM_ALLOC];
	s->rcvbuf = words[SK_MEMINFO_RCVBUF];
	s->sndbuf = words[SK_MEMINFO_SNDBUF];
	s->wmem_queued = words[SK_MEMINFO_WMEM_QUEUED];
	s->has |= DIAG_MEMORY;
}

static void diag_read_info(struct diag_sock *s, const struct diag_bytes *value)
{
	const size_t n = value->size < sizeof(s->info) ? value->size : sizeof(s->info);

	memset(&s->info, 0, sizeof(s->info));
	memcpy(&s->info, value->at, n);
	s->info_size = (uint32_t)n;
}

static void diag_read_ulp(struct diag_sock *s, struct diag_bytes in)
{
	struct diag_bytes value;
	uint16_t type;
	char name[8];

	while (diag_next_attr(&in, &type, &value)) {
		if (type != INET_ULP_INFO_NAME)
			continue;
		diag_read_text(name, sizeof(name), &value);
		if (!strcmp(name, "tls"))
			s->has |= DIAG_KTLS;
		else if (!strcmp(name, "mptcp"))
			s->has |= DIAG_MPTCP;
	}
}

/* ---- messages ---- */

static bool diag_read_addresses(struct diag_sock *s, const struct inet_diag_msg *m)
{
	const size_t size = m->idiag_family == AF_INET6 ? 16 : 4;

	if (m->idiag_family != AF_INET && m->idiag_family != AF_INET6)
		return false;
	memcpy(s->local, m->id.idiag_src, size);
	memcpy(s->remote, m->id.idiag_dst, size);
	s->family = m->idiag_family;
	s->local_port = ntohs(m->id.idiag_sport);
	s->remote_port = ntohs(m->id.idiag_dport);
	s->cookie = m->id.idiag_cookie[0] | (uint64_t)m->id.idiag_cookie[1] << 32;
	return s->cookie && s->cookie != UINT64_MAX;
}

/* Parses a socket's answer. Returns false if the socket cannot be identified. */
static bool diag_read_socket(struct diag_bytes in, struct diag_sock *s)
{
	struct inet_diag_msg m;
	struct diag_bytes value;
	uint16_t type;

	*s = (struct diag_sock){ 0 };
	if (in.size < sizeof(m))
		return false;
	memcpy(&m, in.at, sizeof(m));
	if (!diag_read_addresses(s, &m))
		return false;
	s->state = m.idiag_state;
	s->inode = m.idiag_inode;
	s->rqueue = m.idiag_rqueue;
	s->wqueue = m.idiag_wqueue;
	in = (struct diag_bytes){ in.at + ALIGN(sizeof(m)), in.size - ALIGN(sizeof(m)) };
	while (diag_next_attr(&in, &type, &value)) {
		if (type == INET_DIAG_INFO)
			diag_read_info(s, &value);
		else if (type == INET_DIAG_SKMEMINFO)
			diag_read_memory(s, &value);
		else if (type == INET_DIAG_CONG)
			diag_read_text(s->cc, sizeof(s->cc), &value);
		else if (type == INET_DIAG_ULP_INFO)
			diag_read_ulp(s, value);
	}
	return true;
}

_Static_assert(sizeof(struct inet_diag_msg) % 4 == 0, "no bytes between it and the attributes");

/* Returns the error code of an error message or of a dump's end: 0 or negative. */
static int diag_error(const struct diag_bytes *in)
{
	int32_t err;

	if (in->size < sizeof(err))
		return -EPROTO;
	memcpy(&err, in->at, sizeof(err));
	return err > 0 || err < -ERRNO_MAX ? -EPROTO : err;
}

int diag_read(const void *data, size_t size, uint32_t seq,
	      int (*take)(void *ctx, const struct diag_sock *sock), void *ctx)
{
	struct diag_bytes in = { data, size };
	struct diag_sock sock;
	int err = 0;

	while (!err && in.size >= sizeof(struct nlmsghdr)) {
		struct nlmsghdr head;
		struct diag_bytes body;
		size_t step;

		memcpy(&head, in.at, sizeof(head));
		if (head.nlmsg_len < sizeof(head) || head.nlmsg_len > in.size)
			return -EPROTO;
		body = (struct diag_bytes){ in.at + sizeof(head), head.nlmsg_len - sizeof(head) };
		step = ALIGN(head.nlmsg_len) < in.size ? ALIGN(head.nlmsg_len) : in.size;
		in.at += step;
		in.size -= step;
		if (head.nlmsg_seq != seq)
			continue;
		if (head.nlmsg_type == NLMSG_DONE)
			return (body.size ? diag_error(&body) : 0) ?: 1;
		if (head.nlmsg_type == NLMSG_ERROR)
			return diag_error(&body) ?: -EPROTO;
		if (head.nlmsg_type == TCPDIAG_GETSOCK && diag_read_socket(body, &sock))
			err = take(ctx, &sock);
	}
	return err;
}
