/* SPDX-License-Identifier: Apache-2.0 */
#include "virtual.h"

#include <errno.h>
#include <stddef.h>

#include "base/bug.h"

#define NS_PER_S 1000000000LL

static struct clock_virtual *to_virtual(struct clock *clock)
{
	return (struct clock_virtual *)((char *)clock - offsetof(struct clock_virtual, clock));
}

static int virtual_read(struct clock *clock, enum clock_domain domain, int64_t *ns)
{
	struct clock_virtual *virtual = to_virtual(clock);

	switch (domain) {
	case DOMAIN_MONO:
		*ns = virtual->mono_ns;
		break;
	case DOMAIN_RAW:
		*ns = virtual->raw_ns;
		break;
	case DOMAIN_REALTIME:
		*ns = virtual->mono_ns + virtual->real_offset_ns;
		break;
	case DOMAIN_TAI:
		*ns = virtual->mono_ns + virtual->real_offset_ns +
		      virtual->tai_offset_s * NS_PER_S;
		break;
	case DOMAIN_BOOTTIME:
		*ns = virtual->mono_ns + virtual->boot_offset_ns;
		break;
	default:
		return -EOPNOTSUPP;
	}
	clock_virtual_advance(virtual, virtual->read_cost_ns);
	return 0;
}

static int virtual_sleep_until(struct clock *clock, int64_t mono_ns)
{
	struct clock_virtual *virtual = to_virtual(clock);

	while (virtual->mono_ns < mono_ns) {
		__int128 left = mono_ns - virtual->mono_ns;
		int64_t raw = left * NS_PER_S / (NS_PER_S + virtual->slew_ppb);

		clock_virtual_advance(virtual, raw > 0 ? raw : 1);
	}
	return 0;
}

static int virtual_tai_offset(struct clock *clock, int32_t *seconds)
{
	*seconds = to_virtual(clock)->tai_offset_s;
	return 0;
}

static int virtual_set_watch(struct clock *clock)
{
	struct clock_virtual *virtual = to_virtual(clock);

	virtual->sets_seen = virtual->sets;
	return 0;
}

static int virtual_was_set(struct clock *clock, int watch)
{
	struct clock_virtual *virtual = to_virtual(clock);
	int was_set = virtual->sets != virtual->sets_seen;

	(void)watch;
	virtual->sets_seen = virtual->sets;
	return was_set;
}

static void virtual_set_unwatch(struct clock *clock, int watch)
{
	(void)clock;
	(void)watch;
}

void clock_virtual_init(struct clock_virtual *virtual, int64_t mono_ns, int64_t real_ns)
{
	static const struct clock_ops ops = {
		.read = virtual_read,
		.sleep_until = virtual_sleep_until,
		.tai_offset = virtual_tai_offset,
		.set_watch = virtual_set_watch,
		.was_set = virtual_was_set,
		.set_unwatch = virtual_set_unwatch,
	};

	*virtual = (struct clock_virtual){
		.clock.ops = &ops,
		.raw_ns = mono_ns,
		.mono_ns = mono_ns,
		.real_offset_ns = real_ns - mono_ns,
	};
}

void clock_virtual_advance(struct clock_virtual *virtual, int64_t raw_ns)
{
	__int128 slewed = (__int128)raw_ns * virtual->slew_ppb + virtual->slew_rest;

	BUG_ON(raw_ns < 0);
	virtual->raw_ns += raw_ns;
	virtual->mono_ns += raw_ns + (int64_t)(slewed / NS_PER_S);
	virtual->slew_rest = slewed % NS_PER_S;
	if (virtual->set_at_mono_ns && virtual->mono_ns >= virtual->set_at_mono_ns) {
		virtual->set_at_mono_ns = 0;
		clock_virtual_set(virtual, virtual->set_by_ns);
	}
}

void clock_virtual_set(struct clock_virtual *virtual, int64_t by_ns)
{
	virtual->real_offset_ns += by_ns;
	virtual->sets++;
}

void clock_virtual_set_at(struct clock_virtual *virtual, int64_t mono_ns, int64_t by_ns)
{
	virtual->set_at_mono_ns = mono_ns;
	virtual->set_by_ns = by_ns;
}

void clock_virtual_slew(struct clock_virtual *virtual, int64_t ppb)
{
	BUG_ON(ppb < -1000000 || ppb > 1000000);
	virtual->slew_ppb = ppb;
}

void clock_virtual_suspend(struct clock_virtual *virtual, int64_t ns)
{
	virtual->boot_offset_ns += ns;
	clock_virtual_set(virtual, ns);
}
