/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/cause.h"

static const struct {
	const char *name, *kind, *phrase;
} causes[CAUSE_MAX] = {
	[CAUSE_CPU_WAIT] = { "cpu-wait", "context", "waited for a CPU" },
	[CAUSE_STOPPED] = { "stopped", "gap", "was stopped by a signal or a tracer" },
	[CAUSE_THROTTLED] = { "throttled", "gap", "was kept from an idle CPU (quota)" },
	[CAUSE_CORE_STALL] = { "core-stall", "gap", "waited for a CPU that did not start" },
	[CAUSE_LOCK] = { "lock", "gap", "waited for another thread" },
	[CAUSE_IO_WAIT] = { "io-wait", "gap", "waited for a file or a device" },
	[CAUSE_INTERRUPT] = { "interrupt", "context", "was interrupted" },
	[CAUSE_SOFTIRQ] = { "softirq", "context", "gave way to softirqs" },
	[CAUSE_PAGE_FAULT] = { "page-fault", "gap", "waited in a page fault" },
	[CAUSE_IDLE_EXIT] = { "idle-exit", "gap", "waited for an idle CPU to wake up" },
	[CAUSE_HEAD_OF_LINE] = { "head-of-line", "overlap", "was behind another message" },
	[CAUSE_OTHER_RECEIVE] = { "other-receive", "overlap", "gave way to others' receive work" },
	[CAUSE_KERNEL_QUEUE] = { "kernel-queue", "overlap",
				 "was behind other packets in the kernel" },
	[CAUSE_APPLICATION] = { "application", "function", "waited for the application itself" },
	[CAUSE_FUNCTION] = { "function", "function", "took the kernel longer" },
	[CAUSE_WINDOW] = { "window", "gap", "waited for room to send" },
	[CAUSE_PACING] = { "pacing", "gap", "was held back by pacing" },
	[CAUSE_QDISC] = { "qdisc", "gap", "waited in the device's queue" },
	[CAUSE_HOSTLAT] = { "hostlat", "context", "waited for hostlat itself" },
	[CAUSE_BLIND] = { "blind", "blind", "was out of sight" },
	[CAUSE_UNEXPLAINED] = { "unexplained", "blind", "is not explained" },
	[CAUSE_EXPECTED] = { "expected", "function", "is what the reference takes" },
	[CAUSE_OFFSET] = { "offset", "function", "was faster than in the reference" },
};

static const char *const wheres[WHERE_MAX] = {
	[WHERE_APPLICATION] = "application",
	[WHERE_RECEIVE] = "receive",
	[WHERE_TRANSMIT] = "transmit",
};

const char *cause_name(unsigned int cause)
{
	return cause < CAUSE_MAX ? causes[cause].name : "unknown";
}

const char *where_name(unsigned int where)
{
	return where < WHERE_MAX ? wheres[where] : "unknown";
}

const char *cause_kind(unsigned int cause)
{
	return cause < CAUSE_MAX ? causes[cause].kind : "unknown";
}

const char *cause_phrase(unsigned int cause)
{
	return cause < CAUSE_MAX ? causes[cause].phrase : "unknown";
}
