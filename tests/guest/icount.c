/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures one run of a BPF program by the kernel's own run-time statistics, in ns. Under
 * tests/guest/run -i one ns is one instruction, so the numbers must be exact: the same in every
 * run, one turn of a loop apart for loops of 10 and 11 turns, ninety turns apart for 10 and 100.
 */
#include "icount.skel.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define RUNS 300

static int run_time_ns(int fd, uint64_t *ns)
{
	struct bpf_prog_info info = { 0 };
	__u32 size = sizeof(info);
	int err = bpf_obj_get_info_by_fd(fd, &info, &size);

	*ns = info.run_time_ns;
	return err;
}

/* The least of many runs: a timer interrupt may fall into one, and then its instructions count. */
static int measure(const struct bpf_program *program, uint64_t *least_ns)
{
	int fd = bpf_program__fd(program), i, err;
	uint64_t before, after;

	*least_ns = UINT64_MAX;
	for (i = 0; i < RUNS; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, options);

		err = run_time_ns(fd, &before);
		err = err ? err : bpf_prog_test_run_opts(fd, &options);
		err = err ? err : run_time_ns(fd, &after);
		if (err)
			return err;
		if (after - before < *least_ns)
			*least_ns = after - before;
	}
	printf("%s %llu\n", bpf_program__name(program), (unsigned long long)*least_ns);
	return 0;
}

static int check(uint64_t loop10, uint64_t loop11, uint64_t loop100)
{
	uint64_t turn = loop11 - loop10;

	if (loop11 > loop10 && turn <= 8 && loop100 - loop10 == 90 * turn)
		return 0;
	fprintf(stderr, "icount: not exact: a turn takes %lld ns, ninety take %lld\n",
		(long long)turn, (long long)(loop100 - loop10));
	return -ERANGE;
}

int main(void)
{
	uint64_t loop0, loop10, loop11, loop100;
	int stats = bpf_enable_stats(BPF_STATS_RUN_TIME), err = -errno;
	struct icount_bpf *bpf = NULL;

	if (stats < 0)
		goto out;
	bpf = icount_bpf__open_and_load();
	err = bpf ? 0 : -errno;
	err = err ? err : measure(bpf->progs.loop0, &loop0);
	err = err ? err : measure(bpf->progs.loop10, &loop10);
	err = err ? err : measure(bpf->progs.loop11, &loop11);
	err = err ? err : measure(bpf->progs.loop100, &loop100);
	err = err ? err : check(loop10, loop11, loop100);
out:
	if (err)
		fprintf(stderr, "icount: %s\n", strerror(-err));
	icount_bpf__destroy(bpf);
	if (stats >= 0)
		close(stats);
	return err ? 1 : 0;
}
