/* SPDX-License-Identifier: Apache-2.0 */
#include "clock/clock.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "base/bug.h"

#define NS_PER_S 1000000000LL

static int clock_system_read(struct clock *clock, enum clock_domain domain, int64_t *ns)
{
	static const struct {
		clockid_t id;
		bool known;
	} ids[DOMAIN_COUNT] = {
		[DOMAIN_MONO] = { CLOCK_MONOTONIC, true },
		[DOMAIN_RAW] = { CLOCK_MONOTONIC_RAW, true },
		[DOMAIN_REALTIME] = { CLOCK_REALTIME, true },
		[DOMAIN_TAI] = { CLOCK_TAI, true },
		[DOMAIN_BOOTTIME] = { CLOCK_BOOTTIME, true },
	};
	struct timespec ts;

	(void)clock;
	if ((unsigned int)domain >= DOMAIN_COUNT || !ids[domain].known)
		return -EOPNOTSUPP;
	if (clock_gettime(ids[domain].id, &ts))
		return -errno;
	*ns = ts.tv_sec * NS_PER_S + ts.tv_nsec;
	return 0;
}

static int clock_system_sleep_until(struct clock *clock, int64_t mono_ns)
{
	struct timespec ts = { .tv_sec = mono_ns / NS_PER_S, .tv_nsec = mono_ns % NS_PER_S };

	(void)clock;
	return mono_ns <= 0 ? 0 : -clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

static int clock_system_tai_offset(struct clock *clock, int32_t *seconds)
{
	struct timex timex = { .modes = 0 };

	(void)clock;
	if (adjtimex(&timex) < 0)
		return -errno;
	*seconds = timex.tai;
	return 0;
}

/* The last second in the kernel's 64-bit nanoseconds, in 2262. */
#define NEVER_S (INT64_MAX / NS_PER_S)

/* Creates a timer for a time that never comes: it becomes readable only when the clock is set. */
static int clock_system_set_watch(struct clock *clock)
{
	struct itimerspec never = { .it_value.tv_sec = NEVER_S };
	int fd = timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
	int err;

	(void)clock;
	if (fd < 0)
		return -errno;
	if (timerfd_settime(fd, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &never, NULL)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* Returns 1 if the clock was set: reading ECANCELED acknowledges it, and the timer stays armed. */
static int clock_system_was_set(struct clock *clock, int watch)
{
	uint64_t expirations;

	(void)clock;
	if (read(watch, &expirations, sizeof(expirations)) >= 0 || errno == ECANCELED)
		return 1;
	return errno == EAGAIN ? 0 : -errno;
}

static void clock_system_set_unwatch(struct clock *clock, int watch)
{
	(void)clock;
	close(watch);
}

struct clock *clock_system(void)
{
	static const struct clock_ops ops = {
		.read = clock_system_read,
		.sleep_until = clock_system_sleep_until,
		.tai_offset = clock_system_tai_offset,
		.set_watch = clock_system_set_watch,
		.was_set = clock_system_was_set,
		.set_unwatch = clock_system_set_unwatch,
	};
	static struct clock clock = { .ops = &ops };

	return &clock;
}

int clock_read(struct clock *clock, enum clock_domain domain, int64_t *ns)
{
	return clock->ops->read(clock, domain, ns);
}

static int64_t clock_read_or_bug(struct clock *clock, enum clock_domain domain)
{
	int64_t ns = 0;

	BUG_ON(clock_read(clock, domain, &ns));
	return ns;
}

int64_t clock_mono_ns(struct clock *clock)
{
	return clock_read_or_bug(clock, DOMAIN_MONO);
}

uint64_t clock_now(void)
{
	return (uint64_t)clock_mono_ns(clock_system());
}

static uint64_t clock_cpu_time(clockid_t of)
{
	struct timespec t;

	clock_gettime(of, &t);
	return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

uint64_t clock_cpu(void)
{
	return clock_cpu_time(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_thread_cpu(void)
{
	return clock_cpu_time(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_real_ns(struct clock *clock)
{
	return clock_read_or_bug(clock, DOMAIN_REALTIME);
}

int clock_sleep_until(struct clock *clock, int64_t mono_ns)
{
	return clock->ops->sleep_until(clock, mono_ns);
}

int clock_tai_offset(struct clock *clock, int32_t *seconds)
{
	return clock->ops->tai_offset(clock, seconds);
}

int clock_set_watch(struct clock *clock)
{
	return clock->ops->set_watch(clock);
}

int clock_was_set(struct clock *clock, int watch)
{
	return clock->ops->was_set(clock, watch);
}

void clock_set_unwatch(struct clock *clock, int watch)
{
	clock->ops->set_unwatch(clock, watch);
}
