/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loader of control.bpf.c. Prints "ready" when attached, and for each line on stdin one JSON
 * object on a line: the received packets by namespace cookie. Ends at end of file on stdin.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

#include "control.skel.h"

static void print_counts(int map)
{
	__u64 key, next, count;
	const char *separator = "";
	int err = bpf_map_get_next_key(map, NULL, &next);

	putchar('{');
	while (!err) {
		key = next;
		if (!bpf_map_lookup_elem(map, &key, &count)) {
			printf("%s\"%llu\": %llu", separator, (unsigned long long)key,
			       (unsigned long long)count);
			separator = ", ";
		}
		err = bpf_map_get_next_key(map, &key, &next);
	}
	puts("}");
	fflush(stdout);
}

int main(void)
{
	struct control_bpf *skel;
	int c, err = 1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	skel = control_bpf__open_and_load();
	if (!skel || control_bpf__attach(skel))
		goto out;
	puts("ready");
	fflush(stdout);
	while ((c = getchar()) != EOF)
		if (c == '\n')
			print_counts(bpf_map__fd(skel->maps.packets));
	err = 0;
out:
	control_bpf__destroy(skel);
	return err;
}
