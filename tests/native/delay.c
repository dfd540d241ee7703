/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loader of delay.bpf.c: delay STAGE SPIN_NS PORT TGID NETNS_INODE MIN_LEN [ONLY]
 * Says "ready" when attached; detaches at end of file on stdin (or its own end) and tells how
 * often and for how long it spun.
 */
#include <bpf/libbpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <signal.h>

#include "delay.skel.h"

int main(int argc, char **argv)
{
	struct bpf_program *p;
	int chosen = 0;
	struct delay_bpf *skel;
	char name[32];
	int err = 1;

	if (argc != 7 && argc != 8) {
		fprintf(stderr, "usage: delay STAGE SPIN_NS PORT TGID NETNS_INODE MIN_LEN "
			"[ONLY]\n");
		return 1;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	snprintf(name, sizeof(name), "at_%s", argv[1]);
	skel = delay_bpf__open();
	if (!skel)
		goto out;
	bpf_object__for_each_program(p, skel->obj) {
		bool is_it = strncmp(bpf_program__name(p), name, strlen(name)) == 0;

		bpf_program__set_autoload(p, is_it);
		chosen += is_it;
	}
	if (!chosen) {
		fprintf(stderr, "delay: no program for stage '%s'\n", argv[1]);
		goto out;
	}
	skel->rodata->spin_ns = strtoull(argv[2], NULL, 10);
	skel->rodata->port = atoi(argv[3]);
	skel->rodata->tgid = atoi(argv[4]);
	skel->rodata->netns = strtoul(argv[5], NULL, 10);
	skel->rodata->min_len = atoi(argv[6]);
	skel->rodata->only = argc > 7 ? atoi(argv[7]) : 0;
	if (delay_bpf__load(skel) || delay_bpf__attach(skel))
		goto out;
	printf("ready\n");
	fflush(stdout);
	while (getchar() != EOF)
		;
	delay_bpf__detach(skel);
	printf("{\"count\": %llu, \"spent_ns\": %llu}\n", (unsigned long long)skel->bss->delays,
	       (unsigned long long)skel->bss->spent_ns);
	err = 0;
out:
	delay_bpf__destroy(skel);
	return err;
}
