/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and attaches smoke.bpf.c, sends TCP over loopback, and says whether the program fired. */
#include "loopback.h"
#include "smoke.skel.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#define MESSAGES 50

static int send_messages(struct loopback_pair *pair)
{
	char byte = 'x';
	int i;

	for (i = 0; i < MESSAGES; i++) {
		if (write(pair->sender, &byte, 1) != 1 || read(pair->receiver, &byte, 1) != 1)
			return -errno;
	}
	return 0;
}

static int check_counts(const struct smoke_bpf *bpf)
{
	uint64_t packets = bpf->bss->packets, bytes = bpf->bss->bytes;
	struct utsname host = { 0 };

	uname(&host);
	printf("Linux %s: fentry tcp_v4_rcv saw %llu packets, %llu bytes, for %d messages\n",
	       host.release, (unsigned long long)packets, (unsigned long long)bytes, MESSAGES);
	/* A header at least with every message and with its acknowledgement, if it had its own. */
	return packets >= MESSAGES && bytes > packets * 20 ? 0 : -ENODATA;
}

int main(void)
{
	struct loopback_pair pair;
	struct smoke_bpf *bpf;
	const char *step;
	int err;

	step = "cannot load the program";
	bpf = smoke_bpf__open_and_load();
	err = bpf ? 0 : -errno;
	if (err)
		goto out;
	step = "cannot attach fentry to tcp_v4_rcv";
	err = smoke_bpf__attach(bpf);
	if (err)
		goto out;
	step = "cannot connect over loopback";
	err = loopback_open(&pair, SOCK_STREAM, 0);
	if (err)
		goto out;
	step = "cannot send over loopback";
	err = send_messages(&pair);
	close(pair.sender);
	close(pair.receiver);
	if (err)
		goto out;
	step = "fentry did not fire for every message";
	err = check_counts(bpf);
out:
	if (err)
		fprintf(stderr, "smoke: %s: %s\n", step, strerror(-err));
	smoke_bpf__destroy(bpf);
	return err ? 1 : 0;
}
