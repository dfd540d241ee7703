/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/live_activity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "clock/clock.h"
#include "diagnose/diagnose.h"
#include "host/throttled.h"

static void activity_warn_missing(const char *lines)
{
	for (; *lines; lines += lines[strcspn(lines, "\n")] ? strcspn(lines, "\n") + 1 :
							      strcspn(lines, "\n"))
		log_warning("%.*s", (int)strcspn(lines, "\n"), lines);
}

int live_activity_open(struct live_activity *a, uint32_t pid,
		       const struct tracefs_config *functions)
{
	char why[512];
	int err = activity_open(&a->activity, pid, why, sizeof(why));

	if (err) {
		log_warning("CPU activity is not recorded: %s; without it, slow messages cannot be "
			    "explained", why);
		return err;
	}
	if (functions)
		err = funcgraph_open(&a->functions, functions, activity_cores(a->activity), why,
				     sizeof(why));
	if (err) {
		log_error("%s", why);
		return err;
	}
	activity_warn_missing(activity_missing(a->activity));
	if (a->functions && funcgraph_shared(a->functions))
		log_info("this kernel allows one user of the function_graph tracer at a time: "
			 "other programs cannot use it while hostlat runs");
	return 0;
}

int live_activity_start(struct live_activity *a)
{
	int err = a->activity ? activity_start(a->activity) : 0;

	a->throttled_known = a->activity && !host_throttled(NULL, &a->throttled);
	return err || !a->functions ? err : funcgraph_start(a->functions);
}

struct activity_calls {
	struct activity *activity;
	int err;
};

static void activity_put_call(void *ctx, uint32_t cpu, const struct trace_call *call,
			      uint32_t symbol)
{
	static const enum timeline_call_what what[] = {
		[TRACE_CALL] = TIMELINE_CALL,
		[TRACE_RETURN] = TIMELINE_RETURN,
		[TRACE_LOST] = TIMELINE_LOST,
		[TRACE_AGAIN] = TIMELINE_AGAIN,
	};
	const struct timeline_call one = {
		.time = call->time, .symbol = symbol, .what = what[call->what],
	};
	struct activity_calls *p = ctx;

	if (!p->err)
		p->err = activity_call(p->activity, cpu, &one);
}

/*
 * Reads kernel function calls first, then writes the events of the BPF programs together with these
 * calls, up to the time before which all calls have been read.
 */
int live_activity_pull(struct live_activity *a, struct event_writer *writer)
{
	struct activity_calls putting = { .activity = a->activity };
	uint64_t until = UINT64_MAX;

	if (!a->activity)
		return 0;
	for (uint32_t core = 0; a->functions && core < activity_cores(a->activity); core++) {
		const uint64_t known =
			funcgraph_pull(a->functions, writer, core, activity_put_call, &putting);

		if (known < until)
			until = known;
	}
	return putting.err ? putting.err : activity_pull(a->activity, writer, until);
}

/*
 * Records how often a CPU quota throttled control groups during the run. `hostlat diagnose` needs
 * this number to tell whether a quota delayed threads.
 */
static int activity_put_throttled(const struct live_activity *a, struct event_writer *writer)
{
	uint64_t times;
	char text[24];

	if (!a->throttled_known || event_writer_full(writer) || host_throttled(NULL, &times))
		return 0;
	/* The count decreases when a control group is removed. */
	snprintf(text, sizeof(text), "%" PRIu64, times > a->throttled ? times - a->throttled : 0);
	return event_put_fact(event_writer_sink(writer), clock_mono_ns(clock_system()),
			      DIAGNOSE_FACT_THROTTLED, text);
}

int live_activity_end(struct live_activity *a, struct event_writer *writer)
{
	int err = 0;

	if (!a->activity)
		return 0;
	if (a->functions) {
		funcgraph_stop(a->functions);
		err = live_activity_pull(a, writer);
	}
	if (!err)
		err = activity_end(a->activity, writer);
	return err ? err : activity_put_throttled(a, writer);
}

uint64_t live_activity_lost(const struct live_activity *a)
{
	return (a->activity ? activity_lost(a->activity) : 0) +
	       (a->functions ? funcgraph_lost(a->functions) : 0);
}

void live_activity_release(struct live_activity *a)
{
	funcgraph_free(a->functions);
	activity_free(a->activity);
}
