/* SPDX-License-Identifier: Apache-2.0 */
#include "diagnose/words.h"

#include <stdio.h>

#include "base/bug.h"

/* include/linux/interrupt.h */
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

const char *words_softirq(char buf[WORDS_MAX], uint32_t vector)
{
	if (vector < ARRAY_LEN(softirqs))
		snprintf(buf, WORDS_MAX, "softirq %s", softirqs[vector]);
	else
		snprintf(buf, WORDS_MAX, "softirq %u", vector);
	return buf;
}

const char *words_hardirq(char buf[WORDS_MAX], uint32_t what)
{
	if (what >= SPAN_VECTOR && what - SPAN_VECTOR < VECTOR_MAX)
		snprintf(buf, WORDS_MAX, "interrupt %s", vectors[what - SPAN_VECTOR]);
	else
		snprintf(buf, WORDS_MAX, "irq %u", what);
	return buf;
}

const char *words_what(char buf[WORDS_MAX], const struct calls *calls, uint8_t cause,
		       uint32_t what)
{
	const char *name;

	if (cause == CAUSE_INTERRUPT)
		return words_hardirq(buf, what);
	if ((cause == CAUSE_SOFTIRQ && what) || cause == CAUSE_OTHER_RECEIVE)
		return words_softirq(buf, what);
	if (!what || cause == CAUSE_FUNCTION)
		return NULL;
	name = calls_name(calls, what - 1);
	if (name)
		snprintf(buf, WORDS_MAX, "%s", name);
	else
		snprintf(buf, WORDS_MAX, "system call %u", what - 1);
	return buf;
}
