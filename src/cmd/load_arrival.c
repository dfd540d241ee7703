/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_arrival.h"

#include <errno.h>
#include <stdio.h>

#include "base/parse.h"
#include "load/config.h"
#include "load/schedule.h"

const struct opt load_replay_option_rows[] = {
	OPT_STRING(struct load_replay_options, file, .name = "replay", .file = true,
		   .help = "File of recorded requests to send at their own times, or with --rate "
			   "in its order: CSV with the columns time, method, path, headers, body "
			   "(HTTP), or cache-trace (memcached)"),
	OPT_STRING(struct load_replay_options, speed, .name = "replay-speed", .metavar = "FACTOR",
		   .help = "Speed of --replay: 2 sends twice as fast as recorded (default 1)"),
	OPT_END,
};

int load_arrival_find(const char *arrival, const struct load_replay_options *replay, char *law,
		      const char **text, struct arrival *out, struct strbuf *why)
{
	*text = arrival ? arrival : LOAD_ARRIVAL_DEFAULT;
	if (replay) {
		if (snprintf(law, LOAD_LAW_MAX, "replay:%s:%s", replay->speed ? replay->speed : "1",
			     replay->file) >= LOAD_LAW_MAX) {
			strbuf_puts(why, "--replay: the name of the file is too long");
			return -EINVAL;
		}
		*text = law;
	}
	return arrival_parse(*text, out, why);
}

int load_arrival_file_rate(const struct arrival *arrival, bool ends, uint64_t *duration_ns,
			   double *rate, struct strbuf *why)
{
	struct schedule schedule;
	uint64_t most = *duration_ns ? *duration_ns : SCHEDULE_DURATION_MAX;
	int err = schedule_make(&schedule, arrival, 1, most, 1, why);

	if (err)
		return err;
	if (schedule.span_ns <= 1) {
		strbuf_puts(why, "the file of --arrival or --replay must contain at least two "
			    "times");
		err = -EINVAL;
	} else {
		*rate = (double)schedule.n * NS_PER_S / (double)(schedule.span_ns - 1);
		if (!*duration_ns || (ends && schedule.span_ns < *duration_ns))
			*duration_ns = schedule.span_ns;
	}
	schedule_release(&schedule);
	return err;
}
