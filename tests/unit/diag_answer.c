/* SPDX-License-Identifier: Apache-2.0 */
#include "diag_answer.h"

#include <arpa/inet.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <string.h>

#include "base/bug.h"

static void add(struct answer *a, const void *data, size_t size)
{
	static const unsigned char zeros[4];

	BUG_ON(a->size + size + 4 > sizeof(a->bytes));
	memcpy(a->bytes + a->size, data, size);
	a->size += size;
	while (a->size % 4)
		a->bytes[a->size++] = zeros[0];
}

static void add_attr(struct answer *a, uint16_t type, const void *data, size_t size)
{
	const struct nlattr head = { .nla_len = (uint16_t)(sizeof(head) + size),
				     .nla_type = type };

	add(a, &head, sizeof(head));
	if (size)
		add(a, data, size);
}

void answer_sock_init(struct answer_sock *s, uint64_t cookie)
{
	static const uint32_t memory[9] = { 10, 131072, 0, 87040, 0, 20, 0, 0, 0 };

	*s = (struct answer_sock){
		.msg = {
			.idiag_family = AF_INET, .idiag_state = TCP_ESTABLISHED,
			.id = {
				.idiag_sport = htons(1000), .idiag_dport = htons(2000),
				.idiag_src = { htonl(0x0a000001) },
				.idiag_dst = { htonl(0x0a000002) },
				.idiag_cookie = { (uint32_t)cookie, (uint32_t)(cookie >> 32) },
			},
			.idiag_inode = 4711,
		},
		.info = { .snd_mss = 1448, .snd_cwnd = 10, .snd_wnd = 65536, .rtt = 1234,
			  .min_rtt = 1000, .rto = 204000, .snd_ssthresh = 0x7fffffff },
		.info_size = sizeof(struct diag_info), .memory = memory, .cc = "cubic",
	};
}

void answer_add(struct answer *a, const struct answer_sock *s)
{
	struct nlmsghdr head = { .nlmsg_type = TCPDIAG_GETSOCK, .nlmsg_seq = ANSWER_SEQ };
	const size_t at = a->size;

	add(a, &head, sizeof(head));
	add(a, &s->msg, sizeof(s->msg));
	if (s->memory)
		add_attr(a, INET_DIAG_SKMEMINFO, s->memory, 9 * sizeof(*s->memory));
	if (s->info_size)
		add_attr(a, INET_DIAG_INFO, &s->info, s->info_size);
	if (s->cc)
		add_attr(a, INET_DIAG_CONG, s->cc, strlen(s->cc) + 1);
	if (s->above) {
		struct answer inner = { .size = 0 };

		add_attr(&inner, INET_ULP_INFO_NAME, s->above, strlen(s->above) + 1);
		add_attr(a, INET_DIAG_ULP_INFO | NLA_F_NESTED, inner.bytes, inner.size);
	}
	head.nlmsg_len = (uint32_t)(a->size - at);
	memcpy(a->bytes + at, &head, sizeof(head));
}

void answer_end(struct answer *a, uint16_t type, int32_t err)
{
	const struct nlmsghdr head = { .nlmsg_len = sizeof(head) + sizeof(err),
				       .nlmsg_type = type, .nlmsg_seq = ANSWER_SEQ };

	add(a, &head, sizeof(head));
	add(a, &err, sizeof(err));
}
