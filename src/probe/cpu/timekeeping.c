/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/cpu/timekeeping.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>

#include "clock/changes.h"
#include "clock/clock.h"
#include "clock/pairs.h"
#include "event/clocks.h"
#include "probe/cpu/timekeeping_log.h"
#include "probe/cpu/timekeeping_pairs.h"

#define FACT "clock-conversion"
#define HOLD_NS 1000000000LL /* ns between reports that the relation of two clocks still holds */
#define WHY_MAX 160

struct timekeeping {
	struct event_clocks_out out;
	struct clock_taker taker;
	/* records changes of the kernel's clock rates; NULL: clocks are compared by readings */
	struct timekeeping_log *log;
	struct clock_changes changes;
	struct timekeeping_pairs *pairs;
	int64_t held_ns;
};

/*
 * Adds a change of the kernel's clock parameters. A change with unusable parameters counts as lost.
 */
static int timekeeping_add_change(void *ctx, const struct clock_change *change)
{
	int err = clock_changes_add(ctx, change);

	if (err != -EINVAL)
		return err;
	clock_changes_lose(ctx);
	return 0;
}

static int timekeeping_put_fact(struct event_sink *sink, const char *method, const char *why)
{
	char text[WHY_MAX + 16];

	snprintf(text, sizeof(text), "%s%s%s", method, *why ? ": " : "", why);
	return event_put_fact(sink, clock_now(), FACT, text);
}

int timekeeping_start(struct timekeeping **out, struct event_sink *sink)
{
	struct timekeeping *tk = calloc(1, sizeof(*tk));
	char why[WHY_MAX] = "";
	int err;

	*out = NULL;
	if (!tk)
		return -ENOMEM;
	tk->taker = event_clocks_taker(&tk->out, sink);
	clock_changes_init(&tk->changes, tk->taker);
	err = timekeeping_log_open(&tk->log, why, sizeof(why));
	err = err == -ENOMEM ? err : timekeeping_put_fact(sink, tk->log ? "exact" : "pairs", why);
	if (!err)
		err = timekeeping_pairs_open(&tk->pairs, tk->taker, tk->log != NULL);
	if (!err)
		err = timekeeping_pull(tk);
	if (err) {
		timekeeping_pairs_free(tk->pairs);
		timekeeping_log_free(tk->log);
		free(tk);
		return err;
	}
	*out = tk;
	return 0;
}

/*
 * Changes from the kernel's clock parameters to pairs of clock readings, as the clocksource is not
 * the TSC any more.
 */
static int timekeeping_change_to_pairs(struct timekeeping *tk)
{
	struct event_sink *sink = tk->out.sink;
	int err;

	timekeeping_log_free(tk->log);
	timekeeping_pairs_free(tk->pairs);
	tk->log = NULL;
	err = timekeeping_pairs_open(&tk->pairs, tk->taker, false);
	return err ? err : timekeeping_put_fact(sink, "pairs", "the clocksource has changed");
}

static int timekeeping_pull_log(struct timekeeping *tk, int64_t every_ns)
{
	int64_t complete_ns;
	int err = timekeeping_log_pull(tk->log, timekeeping_add_change, &tk->changes, &complete_ns);

	if (err == -ENODATA)
		return timekeeping_change_to_pairs(tk);
	if (err || !complete_ns || complete_ns - tk->held_ns < every_ns)
		return err;
	tk->held_ns = complete_ns;
	return clock_changes_hold(&tk->changes, complete_ns);
}

int timekeeping_pull(struct timekeeping *tk)
{
	int err = tk->log ? timekeeping_pull_log(tk, HOLD_NS) : 0;

	if (!err && tk->pairs)
		err = timekeeping_pairs_pull(tk->pairs);
	return err;
}

int timekeeping_stop(struct timekeeping *tk)
{
	int err;

	if (!tk)
		return 0;
	err = tk->log ? timekeeping_pull_log(tk, 0) : 0;
	if (!err && tk->pairs)
		err = timekeeping_pairs_pull(tk->pairs);
	if (!err && tk->pairs)
		err = timekeeping_pairs_hold(tk->pairs);
	timekeeping_pairs_free(tk->pairs);
	timekeeping_log_free(tk->log);
	free(tk);
	return err;
}

/* ---- capabilities ---- */

static int timekeeping_ignore(void *ctx, enum clock_domain domain,
			      const struct clock_stretch *stretch)
{
	(void)ctx;
	(void)domain;
	(void)stretch;
	return 0;
}

static void timekeeping_pair_cap(struct cap_vec *caps, const struct timekeeping_pairs *pairs,
				 enum clock_domain domain, const char *name, const char *takes)
{
	const uint64_t bound = pairs ? timekeeping_pairs_bound_ns(pairs, domain) : 0;

	if (bound)
		cap_add(caps, "clock conversion", name, CAP_YES, NULL,
			"accurate to %" PRIu64 " ns, with both clocks read every %lld ms and a "
			"drift of at most %d ppm", bound,
			TIMEKEEPING_PAIR_NS / 1000000, PAIRS_DRIFT_PPM);
	else
		cap_add(caps, "clock conversion", name, CAP_NO, takes, "cannot be read");
}

/*
 * Adds how accurately pairs of readings convert clocks, as capabilities. Takes three pairs, i.e.
 * two stretches of time between pairs, as one stretch may be interrupted.
 */
static void timekeeping_pairs_caps(struct cap_vec *caps)
{
	const struct clock_taker taker = { .put = timekeeping_ignore };
	struct timekeeping_pairs *pairs;
	struct clock *clock = clock_system();

	timekeeping_pairs_open(&pairs, taker, false);
	for (int i = 0; pairs && i < 3; i++) {
		timekeeping_pairs_pull(pairs);
		clock_sleep_until(clock, clock_mono_ns(clock) + TIMEKEEPING_PAIR_NS);
	}
	timekeeping_pair_cap(caps, pairs, DOMAIN_TSC, "TSC by pairs", "an x86 CPU");
	timekeeping_pair_cap(caps, pairs, DOMAIN_SCHED, "sched_clock by pairs",
			     "perf_event_open(): CAP_PERFMON, or kernel.perf_event_paranoid <= 2");
	timekeeping_pairs_free(pairs);
}

void timekeeping_caps(struct cap_vec *caps)
{
	char why[WHY_MAX] = "";
	int err = timekeeping_log_try(why, sizeof(why));
	const bool refused = err == -EPERM || err == -EACCES;

	if (!err)
		cap_add(caps, "clock conversion", "exact", CAP_YES, NULL,
			"fentry and fexit update_vsyscall");
	else if (refused && !host_may(NULL, CAP_SYS_ADMIN) && !host_may(NULL, CAP_PERFMON))
		cap_add(caps, "clock conversion", "exact", CAP_UNKNOWN, "run as root (sudo)",
			"not permitted to try");
	else
		cap_add(caps, "clock conversion", "exact", CAP_NO,
			"fentry, and the TSC as clocksource (the conversions below need neither)",
			"%s", why);
	timekeeping_pairs_caps(caps);
}
