/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of --abort-on as people write them, and when counters meet them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "load/abort_on.h"

#define TICK_NS 100000000ULL

static struct abort_on_limits limits_of(const char *text)
{
	struct strbuf why = STRBUF_INIT(1024);
	struct abort_on_limits limits;

	if (abort_on_parse(text, &limits, &why))
		fail_msg("'%s': %s", text, strbuf_str(&why));
	strbuf_release(&why);
	return limits;
}

static void test_parse(void **state)
{
	static const char *const refused[] = {
		"", "errors", "errors>", ">5%", "errors>5", "errors<5%", "errors>=5%", "errors>-1%",
		"errors>101%", "errors>5%,", ",errors>5%", "errors>5%,errors>6%", "error>5%",
		"errors>5 0%", "err ors>5%", "p99>5ms",
		"errors>0.00000000000000000000000000000000001%",
	};
	struct strbuf why = STRBUF_INIT(1024);
	struct abort_on_limits limits = limits_of("unsent>1/2,errors>0.05,timeouts>0");

	(void)state;
	assert_int_equal(limits.given, 7);
	assert_true(limits.most[ABORT_ON_ERRORS] == 0.05);
	assert_true(limits.most[ABORT_ON_TIMEOUTS] == 0);
	assert_true(limits.most[ABORT_ON_UNSENT] == 0.5);
	assert_int_equal(limits_of(NULL).given, 0);
	assert_true(limits_of("errors > 5 %, timeouts>1%").most[ABORT_ON_ERRORS] == 0.05);
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		strbuf_reset(&why);
		if (!abort_on_parse(refused[i], &limits, &why))
			fail_msg("'%s' was taken", refused[i]);
		assert_non_null(strstr(strbuf_str(&why), "unsent>SHARE"));
		assert_non_null(strstr(strbuf_str(&why), refused[i]));
	}
	strbuf_release(&why);
}

/* A server and what it does in each tick from `from` on, requests per tick. */
struct change {
	uint32_t from, ok, fails, times_out, waits;
};

/* Returns the first tick, from 1, at which a condition is met; 0: at none of `ticks`. */
static uint32_t met_at(const char *text, const struct change *changes, size_t n, uint32_t ticks,
		       struct abort_on_watch *watch)
{
	const struct abort_on_limits limits = limits_of(text);
	struct abort_on_counts c = { 0 };

	abort_on_init(watch, &limits);
	for (uint32_t i = 1; i <= ticks; i++) {
		const struct change *now = changes;

		for (size_t k = 1; k < n; k++)
			now = changes[k].from <= i ? &changes[k] : now;
		c.at_ns = i * TICK_NS;
		c.completed += now->ok;
		c.failed += now->fails + now->times_out;
		c.timeouts += now->times_out;
		c.unsent = now->waits;
		c.scheduled = c.completed + c.failed + c.unsent;
		if (abort_on_feed(watch, &c))
			return i;
	}
	return 0;
}

/* The run ends at tick `tick`, 0: never. */
#define ENDS_AT(tick, text, ...)                                                                   \
	do {                                                                                       \
		const struct change changes_[] = { __VA_ARGS__ };                                  \
		assert_int_equal(met_at(text, changes_, ARRAY_LEN(changes_), 20000, &watch), tick);\
	} while (0)

static void test_met(void **state)
{
	struct strbuf text = STRBUF_INIT(1024);
	struct abort_on_watch watch;

	(void)state;
	/* All fail from 100.1 s on: more than 5 % of the last second's requests at once. */
	ENDS_AT(1001, "errors>5%", { .ok = 100 }, { .from = 1001, .fails = 100 });
	abort_on_evidence(&watch, &text);
	assert_string_equal(strbuf_str(&text), "errors>5%: 100 of the 1 000 requests that ended "
			    "from 99.1 s to 100.1 s failed");
	/* 10 % fail: half a second of it is 5 %, more than that is too much. */
	ENDS_AT(1006, "errors>5%", { .ok = 100 }, { .from = 1001, .ok = 90, .fails = 10 });
	ENDS_AT(0, "errors>5%", { .ok = 95, .fails = 5 });
	/* From the start on: a second has to pass. */
	ENDS_AT(10, "errors>5%", { .fails = 1000 });
	/* Slowly: 20 requests are needed, and one failure of few is not 5 %. */
	ENDS_AT(20, "errors>5%", { .fails = 1 });
	ENDS_AT(0, "errors>50%", { .ok = 1 }, { .from = 7, .fails = 1 }, { .from = 8, .ok = 1 });
	/* A limit of 0.1 % needs 1000 requests for one failure not to exceed it. */
	ENDS_AT(0, "errors>0.1%", { .ok = 10 }, { .from = 500, .ok = 9, .fails = 1 },
		{ .from = 501, .ok = 10 });
	ENDS_AT(500, "errors>0.1%", { .ok = 10 }, { .from = 500, .ok = 8, .fails = 2 },
		{ .from = 501, .ok = 10 });
	/* The first failure. */
	ENDS_AT(77, "errors>0", { .ok = 10 }, { .from = 77, .ok = 9, .fails = 1 },
		{ .from = 78, .ok = 10 });
	ENDS_AT(0, "errors>0", { .ok = 10 });
	/* A server that stops: nothing ends, nothing is known, and then all time out. */
	ENDS_AT(321, "timeouts>5%", { .ok = 100 }, { .from = 301 },
		{ .from = 321, .times_out = 100 });
	ENDS_AT(0, "timeouts>5%", { .ok = 100 }, { .from = 301, .fails = 100 });
	strbuf_release(&text);
}

static void test_unsent(void **state)
{
	struct strbuf text = STRBUF_INIT(1024);
	struct abort_on_watch watch;

	(void)state;
	ENDS_AT(0, "unsent>50%", { .ok = 100 }, { .from = 300, .ok = 100, .waits = 490 });
	ENDS_AT(300, "errors>1%,unsent>50%", { .ok = 100 },
		{ .from = 300, .ok = 50, .waits = 10000 });
	abort_on_evidence(&watch, &text);
	assert_string_equal(strbuf_str(&text), "unsent>50%: 10 000 requests waited for a free "
			    "connection at 30.0 s; 10 950 came due since 29.0 s");
	/* A condition stays met. */
	assert_true(abort_on_feed(&watch, &(struct abort_on_counts){ .at_ns = 400 * TICK_NS,
								     .scheduled = 1 << 20 }));
	strbuf_release(&text);
}

/* Whatever the ticks and rates, the window is found and not much longer than it has to be. */
static void test_windows(void **state)
{
	static const uint32_t rates[] = { 1, 3, 19, 1000, 1000000 };
	struct abort_on_watch watch;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rates); i++) {
		const struct change changes[] = {
			{ .ok = rates[i] }, { .from = 50000, .fails = rates[i] },
		};
		const uint32_t met = met_at("errors>20%", changes, 2, 60000, &watch);
		const uint64_t window = watch.to.at_ns - watch.from.at_ns;
		const uint64_t least = rates[i] > 2 ? 10 * TICK_NS : 20 / rates[i] * TICK_NS;

		assert_in_range(met, 50000, 50005);
		assert_in_range(window, least, 2 * least);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse), cmocka_unit_test(test_met),
		cmocka_unit_test(test_unsent), cmocka_unit_test(test_windows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
