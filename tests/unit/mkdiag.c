/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mkdiag FOLDER: writes the first inputs of tests/fuzz/fuzz_diag.c, which says how they are laid
 * out: what connections that are limited, idle, new, closed and absurd look like.
 */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>

#include "base/bug.h"
#include "diag_answer.h"

#define ONE_A_DUMP 0  /* datagrams */
#define SAMPLED (10 << 2)

static void put(FILE *f, const struct answer *a)
{
	const unsigned char length[2] = { (unsigned char)(a->size & 255),
					  (unsigned char)(a->size >> 8) };

	fwrite(length, sizeof(length), 1, f);
	fwrite(a->bytes, a->size, 1, f);
}

static FILE *begin(const char *folder, const char *name)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	f = fopen(path, "w");
	BUG_ON(!f);
	fputc(ONE_A_DUMP | SAMPLED, f);
	return f;
}

/* Changes a socket as it changes from one dump to the next. */
static void step(struct answer_sock *s, int i)
{
	s->info.bytes_sent += 5000;
	s->info.bytes_acked += 4000;
	s->info.busy_time += 10000;
	s->info.unacked = (uint32_t)(2 * i);
	s->info.notsent_bytes = i & 1 ? 700 : 90000;
	s->info.ca_state = i == 5 ? TCP_CA_Loss : TCP_CA_Open;
	s->info.total_rto += i == 5;
	s->info.snd_wnd = i == 3 ? 0 : 65536;
	s->msg.idiag_wqueue = s->info.notsent_bytes + s->info.unacked * 1448;
}

static void series(FILE *f, struct answer_sock *s, int from)
{
	struct answer a;

	for (int i = 0; i < 8; i++) {
		step(s, i);
		a.size = 0;
		if (i >= from)
			answer_add(&a, s);
		answer_end(&a, NLMSG_DONE, 0);
		put(f, &a);
	}
}

int main(int argc, char **argv)
{
	static const uint32_t full[9] = { 131072, 131072, 0, 87040, 0, 87040, 0, 0, 0 };
	struct answer a = { .size = 0 };
	struct answer_sock s;
	FILE *f;

	BUG_ON(argc != 2);
	f = begin(argv[1], "busy");
	answer_sock_init(&s, 1);
	series(f, &s, 0);
	answer_end(&a, NLMSG_DONE, 0);
	put(f, &a);
	put(f, &a);
	fclose(f);

	f = begin(argv[1], "new-full-tls");
	answer_sock_init(&s, 2);
	s.memory = full;
	s.msg.idiag_rqueue = 1000;
	s.above = "tls";
	series(f, &s, 4);
	fclose(f);

	f = begin(argv[1], "old-kernel");
	answer_sock_init(&s, 3);
	s.info_size = 216;
	s.memory = NULL;
	series(f, &s, 0);
	fclose(f);

	f = begin(argv[1], "mapped-listener");
	answer_sock_init(&s, 4);
	s.msg.idiag_family = AF_INET6;
	s.msg.id.idiag_src[2] = s.msg.id.idiag_dst[2] = htonl(0xffff);
	series(f, &s, 3);
	s.msg.idiag_state = TCP_LISTEN;
	series(f, &s, 0);
	fclose(f);

	f = begin(argv[1], "error");
	a.size = 0;
	answer_sock_init(&s, 5);
	answer_add(&a, &s);
	answer_end(&a, NLMSG_ERROR, -2);
	put(f, &a);
	fclose(f);
	return 0;
}
