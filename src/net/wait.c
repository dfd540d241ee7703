/* SPDX-License-Identifier: Apache-2.0 */
#include "net/wait.h"

#include <errno.h>
#include <poll.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/parse.h"
#include "clock/clock.h"

#define SLACK_MIN_NS 1000
#define SLACK_MAX_NS NET_WAIT_GAP_NS
#define SLACK_FIRST_NS 50000
#define SLEEP_MIN_NS 1000
/* Calls shorter than 2 us did not sleep: a switch to another task and back takes longer. */
#define SLEPT_NS 2000

int net_wait_init(struct net_wait *wait)
{
	wait->slack_ns = SLACK_FIRST_NS;
	wait->epoll = epoll_create1(EPOLL_CLOEXEC);
	return wait->epoll < 0 ? -errno : 0;
}

void net_wait_release(struct net_wait *wait)
{
	if (wait->epoll > 0)
		close(wait->epoll);
	wait->epoll = -1;
}

int net_wait_add(struct net_wait *wait, int fd, uint64_t tag)
{
	struct epoll_event event = {
		.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET,
		.data.u64 = tag,
	};

	return epoll_ctl(wait->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int wait_events_now(struct net_wait *wait)
{
	return epoll_wait(wait->epoll, wait->events, NET_WAIT_EVENTS, 0);
}

static int wait_sleep_ppoll(struct net_wait *wait, const struct timespec *ts)
{
	struct pollfd fd = { .fd = wait->epoll, .events = POLLIN };

	return ppoll(&fd, 1, ts, NULL) < 0 ? -1 : wait_events_now(wait);
}

static int wait_sleep_for(struct net_wait *wait, uint64_t ns)
{
	const struct timespec ts = { .tv_sec = ns / NS_PER_S, .tv_nsec = ns % NS_PER_S };
	int n;

	if (!wait->no_pwait2) {
		n = epoll_pwait2(wait->epoll, wait->events, NET_WAIT_EVENTS, &ts, NULL);
		if (n >= 0 || errno != ENOSYS)
			return n;
		wait->no_pwait2 = true;
	}
	return wait_sleep_ppoll(wait, &ts);
}

static void wait_learn_slack(struct net_wait *wait, uint64_t late_ns)
{
	const uint64_t step = wait->slack_ns / 16;

	if (late_ns > wait->slack_ns)
		wait->slack_ns += step;
	else
		wait->slack_ns -= (step + 63) / 64;
	if (wait->slack_ns < SLACK_MIN_NS)
		wait->slack_ns = SLACK_MIN_NS;
	if (wait->slack_ns > SLACK_MAX_NS)
		wait->slack_ns = SLACK_MAX_NS;
}

static void wait_note_gap(struct net_wait *wait, uint64_t from_ns, uint64_t to_ns)
{
	if (to_ns <= from_ns || to_ns - from_ns <= NET_WAIT_GAP_NS)
		return;
	if (!wait->gap_ns)
		wait->gap_ns = from_ns;
	wait->gap_end_ns = to_ns;
}

static int wait_sleep_until(struct net_wait *wait, uint64_t at_ns)
{
	int n;

	wait->entered_ns = clock_now();
	n = wait_sleep_for(wait, at_ns > wait->entered_ns ? at_ns - wait->entered_ns : 0);
	wait->woken_ns = clock_now();
	wait->slept = wait->woken_ns - wait->entered_ns >= SLEPT_NS;
	if (!n && wait->woken_ns > at_ns)
		wait_learn_slack(wait, wait->woken_ns - at_ns);
	wait_note_gap(wait, at_ns, wait->woken_ns);
	return n;
}

static int wait_spin_until(struct net_wait *wait, uint64_t from_ns, uint64_t at_ns)
{
	uint64_t last = from_ns;
	int n;

	wait->slept = false;
	do {
		wait->entered_ns = last;
		n = wait_events_now(wait);
		wait->woken_ns = clock_now();
		wait_note_gap(wait, last, wait->woken_ns);
		/*
		 * Spun time excludes gaps, in which the thread had no CPU, and single looks at the
		 * descriptors while a request is already due.
		 */
		if (wait->woken_ns - last <= NET_WAIT_GAP_NS && at_ns > from_ns)
			wait->spun_ns += wait->woken_ns - last;
		last = wait->woken_ns;
	} while (!n && last < at_ns);
	return n;
}

int net_wait(struct net_wait *wait, uint64_t now_ns, uint64_t due_ns, uint64_t until_ns,
	     bool busy)
{
	const uint64_t end = due_ns < until_ns ? due_ns : until_ns;
	const uint64_t early = due_ns - (wait->frugal ? 0 : wait->slack_ns);
	const uint64_t timer = early < until_ns ? early : until_ns;
	int n;

	wait->gap_ns = 0;
	wait->woken_ns = now_ns;
	if (!busy && !wait->spin && end > now_ns && timer > now_ns + SLEEP_MIN_NS) {
		n = wait_sleep_until(wait, timer);
		if (n || wait->woken_ns >= end)
			goto out;
		now_ns = wait->woken_ns;
	}
	n = wait_spin_until(wait, now_ns, end);
out:
	return n < 0 && errno != EINTR ? -errno : n < 0 ? 0 : n;
}
