/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/follow.h"

#include <errno.h>
#include <stdlib.h>

#include "clock/cross.h"
#include "config.h"

#define SAMPLE_TRIES 32
#define UPDATE_TRIES 4

/* A broken build, which the tests of clock steps must detect: it keeps the first sample. */
#ifdef HOSTLAT_FROZEN_CLOCK
static const bool frozen = true;
#else
static const bool frozen = false;
#endif

struct clock_follow {
	struct clock *clock;
	int watch;
	bool was_set;             /* the clock was set since the last update */
	struct clock_cross known; /* realtime - monotonic since the clock was last set */
	struct clock_follow_params last;
};

static int clock_follow_note_if_set(struct clock_follow *follow)
{
	int was_set = clock_was_set(follow->clock, follow->watch);

	if (was_set > 0)
		follow->was_set = true;
	return was_set;
}

/* Takes a sample during which the clock was not set. 0 or -errno; -EAGAIN: it was set each time. */
static int clock_follow_sample(struct clock_follow *follow, struct clock_cross *cross)
{
	for (int i = 0; i < UPDATE_TRIES; i++) {
		int err = clock_follow_note_if_set(follow);

		if (err < 0)
			return err;
		err = clock_cross_sample(follow->clock, DOMAIN_REALTIME, SAMPLE_TRIES, cross);
		if (err == -EAGAIN) {
			follow->was_set = true;
			continue;
		}
		if (err)
			return err;
		err = clock_follow_note_if_set(follow);
		if (err <= 0)
			return err;
	}
	return -EAGAIN;
}

static void clock_follow_add_sample(struct clock_follow *follow, const struct clock_cross *cross)
{
	if (!follow->was_set && clock_cross_intersect(&follow->known, cross))
		follow->was_set = true;
	if (follow->was_set)
		follow->known = *cross;
}

static void clock_follow_publish(struct clock_follow *follow)
{
	struct clock_follow_params *last = &follow->last;
	int64_t offset_ns = clock_cross_offset_ns(&follow->known);
	int32_t tai = last->tai_offset_s;

	/* Ignores errors: if even reading is forbidden, the previous offset stays. */
	(void)clock_tai_offset(follow->clock, &tai);
	*last = (struct clock_follow_params){
		.mono_ns = follow->known.mono_ns,
		.offset_ns = offset_ns,
		.error_ns = clock_cross_error_ns(&follow->known),
		.tai_offset_s = tai,
		.stepped = follow->was_set || tai != last->tai_offset_s,
		.step_ns = follow->was_set ? offset_ns - last->offset_ns : 0,
	};
	follow->was_set = false;
}

int clock_follow_open(struct clock_follow **result, struct clock *clock)
{
	struct clock_follow *follow = calloc(1, sizeof(*follow));
	int err;

	if (!follow)
		return -ENOMEM;
	follow->clock = clock;
	follow->watch = clock_set_watch(clock);
	err = follow->watch < 0 ? follow->watch : clock_follow_sample(follow, &follow->known);
	if (err) {
		clock_follow_free(follow);
		return err;
	}
	clock_follow_publish(follow);
	follow->last.stepped = false;
	follow->last.step_ns = 0;
	*result = follow;
	return 0;
}

void clock_follow_free(struct clock_follow *follow)
{
	if (!follow)
		return;
	if (follow->watch >= 0)
		clock_set_unwatch(follow->clock, follow->watch);
	free(follow);
}

int clock_follow_fd(const struct clock_follow *follow)
{
	return follow->clock == clock_system() ? follow->watch : -1;
}

int clock_follow_update(struct clock_follow *follow, struct clock_follow_params *params)
{
	struct clock_cross cross;
	int err = 0;

	if (frozen) {
		(void)clock_follow_note_if_set(follow);
		goto out;
	}
	err = clock_follow_sample(follow, &cross);
	if (err)
		goto out;
	clock_follow_add_sample(follow, &cross);
	clock_follow_publish(follow);
out:
	*params = follow->last;
	return err;
}

void clock_follow_last(const struct clock_follow *follow, struct clock_follow_params *params)
{
	*params = follow->last;
}
