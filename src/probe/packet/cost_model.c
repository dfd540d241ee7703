/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/packet/cost_model.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <math.h>
#include <unistd.h>

#include "base/bug.h"

#define FLOOR_RUNS 100
#define FLOOR_TRIES 16

const struct cost_pace cost_model_paces[COST_POINTS] = { { 0, 64 }, { 500000, 6 }, { 3000000, 2 } };

double cost_curve_at(const struct cost_curve *curve, double gap_ns)
{
	double share;
	int i = 1;

	if (gap_ns <= curve->at[0].gap_ns)
		return curve->at[0].ns;
	while (i < COST_POINTS && gap_ns > curve->at[i].gap_ns)
		i++;
	if (i == COST_POINTS)
		return curve->at[COST_POINTS - 1].ns;
	share = log(gap_ns / curve->at[i - 1].gap_ns) /
		log(curve->at[i].gap_ns / curve->at[i - 1].gap_ns);
	return curve->at[i - 1].ns + share * (curve->at[i].ns - curve->at[i - 1].ns);
}

/* ---- cost of the statistics ---- */

/*
 * Returns the mean time in ns of FLOOR_RUNS runs of the BPF program `fd`, by the kernel's
 * statistics, or 0 if the program cannot run.
 */
static double cost_model_time_runs(int fd)
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

double cost_model_floor(void)
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
		double mean = cost_model_time_runs(fd);

		if (!i || mean < ns)
			ns = mean;
	}
	close(fd);
	return ns;
}

/* ---- curves ---- */

static double cost_sample_mean(const struct cost_sample *s)
{
	return s->n ? s->ns / s->n : 0;
}

/* Returns the sum of all batches except the most expensive batch. */
static struct cost_sample cost_sample_trim(const struct cost_sample *batch)
{
	struct cost_sample sum = {};
	int worst = 0;

	for (int i = 1; i < COST_BATCHES; i++)
		if (cost_sample_mean(&batch[i]) > cost_sample_mean(&batch[worst]))
			worst = i;
	for (int i = 0; i < COST_BATCHES; i++) {
		if (i == worst)
			continue;
		sum.ns += batch[i].ns;
		sum.n += batch[i].n;
		sum.gaps_ns += batch[i].gaps_ns;
	}
	return sum;
}

/*
 * Fits a cost curve to samples: one point for each pause between messages. The points' gaps, the ns
 * between two runs, differ by 1 % or more, as a logarithmic scale needs.
 */
void cost_curve_fit(struct cost_curve *curve, const struct cost_sample (*samples)[COST_BATCHES])
{
	double last = 0;

	curve->known = true;
	for (int i = 0; i < COST_POINTS; i++) {
		const struct cost_sample s = cost_sample_trim(samples[i]);
		double gap = s.n ? s.gaps_ns / s.n : 0;

		curve->known &= s.n >= cost_model_paces[i].messages && s.ns > 0;
		if (gap < last * 1.01)
			gap = last * 1.01;
		curve->at[i].gap_ns = last = gap;
		curve->at[i].ns = cost_sample_mean(&s);
	}
}
