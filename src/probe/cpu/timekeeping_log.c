/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/cpu/timekeeping_log.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "bpf/abi_timekeeping.h"
#include "clock/clock.h"
#include "clock/tsc.h"
#include "host/root.h"
#include "probe/common/hook.h"
#include "bpf/timekeeping.skel.h"

#define FUNCTION "update_vsyscall"
#define CLOCKSOURCE "/devices/system/clocksource/clocksource0/current_clocksource"

struct timekeeping_log {
	struct timekeeping_bpf *skel;
	struct ring_buffer *ring;
	int (*on_change)(void *ctx, const struct clock_change *change);
	void *ctx;
	uint64_t last; /* sequence number of the last update of the clock parameters */
	int err;       /* error of on_change(), or -ENODATA: the clocksource is not the TSC */
};

/* Returns true for the TSC's clocksources (arch/x86/kernel/tsc.c). */
static bool is_tsc(const char *name)
{
	return CLOCK_HAS_TSC && (!strcmp(name, "tsc") || !strcmp(name, "tsc-early"));
}

static struct clock_line line_of(const struct tk_line *line)
{
	return (struct clock_line){
		.cycle_last = line->cycle_last, .fraction = line->xtime_nsec,
		.base_ns = line->base, .mult = line->mult, .shift = line->shift,
	};
}

static int on_update(void *ctx, void *data, size_t size)
{
	struct timekeeping_log *log = ctx;
	const struct tk_update *u = data;
	struct clock_change change;

	if (size < sizeof(*u) || log->err)
		return 0;
	log->last = u->seq;
	if (!memchr(u->clock, '\0', sizeof(u->clock)) || !is_tsc(u->clock)) {
		log->err = -ENODATA;
		return 0;
	}
	change = (struct clock_change){
		.tk = { .mono = line_of(&u->mono), .real_ns = u->offs_real,
			.tai_ns = u->offs_tai },
		.seq = u->seq, .before_ns = (int64_t)u->before_ns, .after_ns = (int64_t)u->after_ns,
	};
	log->err = log->on_change(log->ctx, &change);
	return 0;
}

static int try_clocksource(char *why, size_t size)
{
	char name[64];

	if (host_read(name, sizeof(name), "%s" CLOCKSOURCE, host_root_or_live(NULL)->sys) < 0) {
		snprintf(why, size, "the kernel does not show its clocksource");
		return -EOPNOTSUPP;
	}
	if (is_tsc(name))
		return 0;
	snprintf(why, size, "the clocksource is %s", name);
	return -EOPNOTSUPP;
}

int timekeeping_log_try(char *why, size_t size)
{
	static const struct hook needed[] = {
		{ .kind = HOOK_FENTRY, .target = FUNCTION },
		{ .kind = HOOK_FEXIT, .target = FUNCTION },
	};
	int err = try_clocksource(why, size);

	for (size_t i = 0; i < ARRAY_LEN(needed) && !err; i++)
		err = hook_try(&needed[i], why, size);
	return err;
}

int timekeeping_log_open(struct timekeeping_log **out, char *why, size_t size)
{
	struct timekeeping_log *log;
	int err = timekeeping_log_try(why, size);

	*out = NULL;
	if (err)
		return err;
	log = calloc(1, sizeof(*log));
	if (!log)
		return -ENOMEM;
	log->skel = timekeeping_bpf__open_and_load();
	err = log->skel ? 0 : -errno;
	if (!err) {
		log->ring = ring_buffer__new(bpf_map__fd(log->skel->maps.updates), on_update, log,
					     NULL);
		err = log->ring ? timekeeping_bpf__attach(log->skel) : -errno;
	}
	if (err) {
		snprintf(why, size, "cannot trace the kernel's clocks: %s", strerror(-err));
		timekeeping_log_free(log);
		return err;
	}
	*out = log;
	return 0;
}

void timekeeping_log_free(struct timekeeping_log *log)
{
	if (!log)
		return;
	ring_buffer__free(log->ring);
	timekeeping_bpf__destroy(log->skel);
	free(log);
}

int timekeeping_log_pull(struct timekeeping_log *log,
			 int (*on_change)(void *ctx, const struct clock_change *change), void *ctx,
			 int64_t *complete_ns)
{
	/*
	 * The time is read before `begun`, the number of clock updates that the kernel has begun.
	 * An update that is visible at `now` had begun, so that `begun` counts it.
	 */
	const int64_t now = clock_mono_ns(clock_system());
	uint64_t begun;
	int n;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	begun = __atomic_load_n(&log->skel->bss->begun, __ATOMIC_ACQUIRE);
	log->on_change = on_change;
	log->ctx = ctx;
	log->err = 0;
	n = ring_buffer__consume(log->ring);
	*complete_ns = 0;
	if (log->err || n < 0)
		return log->err ? log->err : n;
	if (log->last && log->last >= begun)
		*complete_ns = now;
	return 0;
}
