/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tcpbpf CGROUP PORT: attaches tcpbpf.bpf.c to the root of cgroup2. Prints "ready" when attached,
 * and for each line on stdin how many round trips it was told of so far. Ends at end of file.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>

#include "tcpbpf.skel.h"

int main(int argc, char **argv)
{
	struct tcpbpf_bpf *skel;
	int c, cgroup;

	if (argc != 3)
		return 2;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	skel = tcpbpf_bpf__open();
	if (!skel)
		return 1;
	skel->rodata->port = (__u32)atoi(argv[2]);
	cgroup = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (cgroup < 0 || tcpbpf_bpf__load(skel))
		return 1;
	skel->links.count_round_trips =
		bpf_program__attach_cgroup(skel->progs.count_round_trips, cgroup);
	if (!skel->links.count_round_trips)
		return 1;
	puts("ready");
	fflush(stdout);
	while ((c = getchar()) != EOF) {
		if (c != '\n')
			continue;
		printf("%llu\n", (unsigned long long)skel->bss->round_trips);
		fflush(stdout);
	}
	tcpbpf_bpf__destroy(skel);
	return 0;
}
