/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/packet/price.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <math.h>
#include <unistd.h>

#include "base/bug.h"

#define FLOOR_RUNS 100
#define FLOOR_TRIES 16

const struct price_pace price_paces[PRICE_POINTS] = { { 0, 64 }, { 500000, 6 }, { 3000000, 2 } };

double price_at(const struct price *curve, double gap_ns)
{
	double share;
	int i = 1;

	if (gap_ns <= curve->at[0].gap_ns)
		return curve->at[0].ns;
	while (i < PRICE_POINTS && gap_ns > curve->at[i].gap_ns)
		i++;
	if (i == PRICE_POINTS)
		return curve->at[PRICE_POINTS - 1].ns;
	share = log(gap_ns / curve->at[i - 1].gap_ns) /
		log(curve->at[i].gap_ns / curve->at[i - 1].gap_ns);
	return curve->at[i - 1].ns + share * (curve->at[i].ns - curve->at[i - 1].ns);
}

/* ---- what the statistics take ---- */

/* Mean of FLOOR_RUNS, or 0 if the program can't be run. */
static double time_runs(int fd)
{
	char packet[64] = {};
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = packet, .data_size_in = sizeof(packet),
		    .repeat = FLOOR_RUNS);
	struct bpf_prog_info before = {}, after = {};
	__u32 len = sizeof(before);

	if (bpf_obj_get_info_by_fd(fd, &before, &len) || bpf_prog_test_run_opts(fd, &run))
		return 0;
	len = sizeof(after);
	if (bpf_obj_get_info_by_fd(fd, &after, &len) || after.run_cnt == before.run_cnt)
		return 0;
	return (double)(after.run_time_ns - before.run_time_ns) / (after.run_cnt - before.run_cnt);
}

double price_floor(void)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_SOCKET_FILTER, "hostlat_empty", "Dual BSD/GPL", code,
			       ARRAY_LEN(code), NULL);
	double ns = 0;

	if (fd < 0)
		return 0;
	for (int i = 0; i < FLOOR_TRIES; i++) {
		double mean = time_runs(fd);

		if (!i || mean < ns)
			ns = mean;
	}
	close(fd);
	return ns;
}

/* ---- drawing ---- */

static double price_of(const struct price_sample *s)
{
	return s->n ? s->ns / s->n : 0;
}

/* All batches but the dearest. */
static struct price_sample trimmed(const struct price_sample *batch)
{
	struct price_sample sum = {};
	int worst = 0;

	for (int i = 1; i < PRICE_BATCHES; i++)
		if (price_of(&batch[i]) > price_of(&batch[worst]))
			worst = i;
	for (int i = 0; i < PRICE_BATCHES; i++) {
		if (i == worst)
			continue;
		sum.ns += batch[i].ns;
		sum.n += batch[i].n;
		sum.gaps_ns += batch[i].gaps_ns;
	}
	return sum;
}

/* Points of one gap make no curve. */
void price_draw(struct price *curve, const struct price_sample (*samples)[PRICE_BATCHES])
{
	double last = 0;

	curve->known = true;
	for (int i = 0; i < PRICE_POINTS; i++) {
		const struct price_sample s = trimmed(samples[i]);
		double gap = s.n ? s.gaps_ns / s.n : 0;

		curve->known &= s.n >= price_paces[i].messages && s.ns > 0;
		if (gap < last * 1.01)
			gap = last * 1.01;
		curve->at[i].gap_ns = last = gap;
		curve->at[i].ns = price_of(&s);
	}
}
