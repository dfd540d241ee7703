/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/load_arrival.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "load/config.h"
#include "load/replay_file.h"
#include "load/schedule.h"
#include "report/human.h"

#define SPEED_MAX 100.0 /* that of "replay:SPEED:FILE", too (load/arrival.h) */

const struct opt load_replay_option_rows[] = {
	OPT_STRING(struct load_replay_options, file, .name = "replay",
		   .group = OPT_LOAD, .rare = true, .file = true,
		   .help = "File of recorded requests to send at their own times, or with --rate "
			   "in its order: CSV with the columns time, method, path, headers, body "
			   "(HTTP), or cache-trace (memcached)"),
	OPT_STRING(struct load_replay_options, speed, .name = "replay-speed",
		   .group = OPT_LOAD, .rare = true, .metavar = "FACTOR",
		   .help = "Speed of --replay: 2 sends twice as fast as recorded (default 1)"),
	OPT_END,
};

/* Returns whether the text is a speed; a colon in it would change the meaning of the law. */
static bool load_replay_is_speed(const char *text)
{
	char *end;
	double speed;

	if (!*text || text[strspn(text, "0123456789.")])
		return false;
	speed = strtod(text, &end);
	return !*end && speed > 0 && speed <= SPEED_MAX;
}

int load_arrival_find(const char *arrival, const struct load_replay_options *replay, char *law,
		      const char **text, struct arrival *out, struct strbuf *why)
{
	*text = arrival ? arrival : LOAD_ARRIVAL_DEFAULT;
	if (replay) {
		if (replay->speed && !load_replay_is_speed(replay->speed)) {
			strbuf_printf(why, "--replay-speed takes a number above 0, up to %g, not "
				      "'%s'", SPEED_MAX, replay->speed);
			return -EINVAL;
		}
		if (snprintf(law, LOAD_LAW_MAX, "replay:%s:%s", replay->speed ? replay->speed : "1",
			     replay->file) >= LOAD_LAW_MAX) {
			strbuf_puts(why, "--replay: the name of the file is too long");
			return -EINVAL;
		}
		*text = law;
	}
	return arrival_parse(*text, out, why);
}

/* Checks the length of a run that the times of a file take. Returns 0 or -EINVAL. */
static int load_arrival_check_span(const char *file, uint64_t duration_ns, bool ends,
				   struct strbuf *why)
{
	char time[HUMAN_MAX];

	if (duration_ns > LOAD_DURATION_MAX_NS)
		strbuf_printf(why, "%s: the times last %.0f days, and a run at most one: set "
			      "--for", file, (double)duration_ns / (double)NS_PER_DAY);
	else if (ends && duration_ns < LOAD_DURATION_MIN_NS)
		strbuf_printf(why, "%s: the times last %s, and a run at least 100 ms: send the "
			      "requests at a --rate", file, human_ns(time, duration_ns));
	else
		return 0;
	return -EINVAL;
}

int load_arrival_file_rate(const struct arrival *arrival, bool ends, uint64_t *duration_ns,
			   double *rate, struct strbuf *why)
{
	struct replay_file *file = NULL;
	struct schedule schedule = { 0 };
	uint64_t most = *duration_ns ? *duration_ns : SCHEDULE_DURATION_MAX;
	/* Without this check, another file than one of requests would count as one of times. */
	int err = ends ? replay_file_open(&file, arrival->file, why) : 0;

	replay_file_close(file);
	if (!err)
		err = schedule_make(&schedule, arrival, 1, most, 1, why);
	if (err)
		return err;
	if (schedule.span_ns <= 1) {
		strbuf_printf(why, "%s: the file must contain at least two different times%s",
			      arrival->file, *duration_ns ? " within --for" : "");
		err = -EINVAL;
	} else {
		*rate = (double)schedule.n * NS_PER_S / (double)(schedule.span_ns - 1);
		if (!*duration_ns || (ends && schedule.span_ns < *duration_ns))
			*duration_ns = schedule.span_ns;
		err = load_arrival_check_span(arrival->file, *duration_ns, ends, why);
	}
	schedule_release(&schedule);
	return err;
}
