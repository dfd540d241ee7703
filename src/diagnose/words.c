/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/words.h"

#include <stdio.h>

#include "base/bug.h"
#include "report/human.h"

/* Names of softirqs: include/linux/interrupt.h */
static const char *const softirqs[] = {
	"hi", "timer", "net-tx", "net-rx", "block",
	"irq-poll", "tasklet", "sched", "hrtimer", "rcu",
};

static const char *const vectors[VECTOR_MAX] = {
	[VECTOR_TIMER] = "timer",
	[VECTOR_RESCHEDULE] = "reschedule",
	[VECTOR_CALL] = "function call",
	[VECTOR_CALL_SINGLE] = "function call",
	[VECTOR_IRQ_WORK] = "irq work",
};

const char *words_count(struct report *r, uint64_t n, const char *noun)
{
	char buf[HUMAN_MAX];

	return report_format(r, "%s %s%s", human_count(buf, n), noun, n == 1 ? "" : "s");
}

const char *words_softirq(char buf[WORDS_MAX], uint32_t vector)
{
	if (vector < ARRAY_LEN(softirqs))
		snprintf(buf, WORDS_MAX, "softirq %s", softirqs[vector]);
	else
		snprintf(buf, WORDS_MAX, "softirq %u", vector);
	return buf;
}

const char *words_hardirq(char buf[WORDS_MAX], uint32_t detail)
{
	if (detail >= SPAN_VECTOR && detail - SPAN_VECTOR < VECTOR_MAX)
		snprintf(buf, WORDS_MAX, "interrupt %s", vectors[detail - SPAN_VECTOR]);
	else
		snprintf(buf, WORDS_MAX, "irq %u", detail);
	return buf;
}

static const char *words_flow(char buf[WORDS_MAX], const struct recorded *rec, uint32_t id)
{
	const struct event_flow *flow = recorded_flows_find(&rec->flows, id);
	char from[HUMAN_ADDRESS_MAX], to[HUMAN_ADDRESS_MAX];

	if (!flow || !human_address(from, flow->family, flow->remote, flow->remote_port) ||
	    !human_address(to, flow->family, flow->local, flow->local_port))
		return NULL;
	snprintf(buf, WORDS_MAX, "from %s to %s", from, to);
	return buf;
}

const char *words_detail(char buf[WORDS_MAX], const struct recorded *rec, uint8_t cause,
			 uint32_t detail)
{
	const char *name;

	if (cause == CAUSE_KERNEL_QUEUE || (cause == CAUSE_OTHER_RECEIVE && detail & DETAIL_FLOW))
		return detail & DETAIL_FLOW ? words_flow(buf, rec, detail & ~DETAIL_FLOW) : NULL;
	if (cause == CAUSE_INTERRUPT)
		return words_hardirq(buf, detail);
	if ((cause == CAUSE_SOFTIRQ && detail) || cause == CAUSE_OTHER_RECEIVE)
		return words_softirq(buf, detail);
	if (!detail || cause == CAUSE_FUNCTION)
		return NULL;
	name = calls_name(&rec->calls, detail - 1);
	if (name)
		snprintf(buf, WORDS_MAX, "%s", name);
	else
		snprintf(buf, WORDS_MAX, "system call %u", detail - 1);
	return buf;
}
