/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The follower of the realtime clock against a real kernel: it is told of every step, however
 * small, at once; its offset moves by just that; slewing and a new TAI offset leave it alone.
 *
 * Runs only in a guest of tests/guest/run, whose clock is nobody else's.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "clock/follow.h"

#define NS_PER_S 1000000000LL

static struct clock_follow *follow;
static struct clock_follow_params params;
static int failures;

static void expect(const char *what, int64_t wanted, int64_t seen, int64_t tolerance)
{
	bool ok = seen - wanted <= tolerance && wanted - seen <= tolerance;

	printf("%s: %s: %" PRId64 ", expected %" PRId64 " +- %" PRId64 "\n", ok ? "ok" : "FAILED",
	       what, seen, wanted, tolerance);
	failures += !ok;
}

static void adjust(struct timex timex)
{
	if (adjtimex(&timex) >= 0)
		return;
	printf("adjtimex: %s\n", strerror(errno));
	exit(1);
}

static bool told(void)
{
	struct pollfd fd = { .fd = clock_follow_fd(follow), .events = POLLIN };

	return poll(&fd, 1, 200) == 1;
}

/* Updates, and checks what the update says of a step since the last one. */
static void update(const char *what, int64_t step_ns)
{
	struct clock_follow_params before = params;
	int err = clock_follow_update(follow, &params);

	expect("update succeeds", 0, err, 0);
	expect(what, step_ns, params.offset_ns - before.offset_ns,
	       (int64_t)(before.error_ns + params.error_ns));
	expect("step is told apart", step_ns != 0, params.step_ns != 0, 0);
}

static void step(const char *what, int64_t ns)
{
	int64_t seconds = ns / NS_PER_S - (ns < 0 && ns % NS_PER_S);

	adjust((struct timex){
		.modes = ADJ_SETOFFSET | ADJ_NANO,
		.time = { .tv_sec = seconds, .tv_usec = ns - seconds * NS_PER_S },
	});
	expect("descriptor tells of the step", 1, told(), 0);
	update(what, ns);
	expect("and no more", 0, told(), 0);
}

static void slew(const char *what, long ppm)
{
	struct clock *clock = clock_system();

	adjust((struct timex){ .modes = ADJ_FREQUENCY, .freq = ppm * 65536 });
	clock_sleep_until(clock, clock_mono_ns(clock) + 2 * NS_PER_S);
	expect("descriptor stays silent", 0, told(), 0);
	update(what, 0);
}

int main(void)
{
	int err = clock_follow_open(&follow, clock_system());

	expect("opens", 0, err, 0);
	if (err)
		return 1;
	clock_follow_last(follow, &params);
	printf("offset %" PRId64 " +- %" PRIu64 " ns\n", params.offset_ns, params.error_ns);
	step("an hour ahead", 3600 * NS_PER_S);
	step("an hour back", -3600 * NS_PER_S);
	step("100 us ahead", 100000);
	step("100 us back", -100000);
	slew("slewed ahead", 500);
	slew("slewed back", -500);
	adjust((struct timex){ .modes = ADJ_TAI, .constant = 37 });
	update("new TAI offset", 0);
	expect("TAI offset", 37, params.tai_offset_s, 0);
	expect("TAI change counts as a step", 1, params.stepped, 0);
	clock_follow_free(follow);
	return failures != 0;
}
