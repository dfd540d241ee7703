/* SPDX-License-Identifier: Apache-2.0 */
/* The log of single calls: what is kept of it, whose it is, and how much it may take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/parse.h"
#include "conns/call_budget.h"
#include "conns_rig.h"
#include "event/kinds.h"

static const struct conns_options follow_7 = { .follows = true, .follow = 7 };

static void put_call(struct conns_rig *rig, uint64_t cookie, uint32_t seq, uint64_t us)
{
	const struct event_call call = {
		.time = rig->now + us * 1000, .cookie = cookie, .flow = 1, .seq = seq,
		.result = (int32_t)seq, .direction = DIR_EGRESS,
	};
	const struct event_block block = {
		.kind = EV_CALL, .core = EVENT_CORE_NONE, .count = 1, .record_size = sizeof(call),
		.size = sizeof(call), .data = &call,
	};
	size_t at = 0;

	assert_int_equal(event_check(EV_CALL, 1, &call, sizeof(call)), EVENT_GOOD);
	assert_int_equal(conns_feed_block(rig->c, &block, &at), CONNS_MORE);
}

static uint64_t cell(const struct table *t, size_t row, const char *column)
{
	const struct table_row *at = t->first;

	while (row--)
		at = at->next;
	return rig_cell(t, at, column)->u64;
}

/* Two threads may call at once. Calls of others are none of its own. */
static void calls_are_ordered_by_number(void **state)
{
	struct conns_rig rig;
	const struct table *t;
	struct report r;

	(void)state;
	rig_init(&rig, &follow_7);
	put_call(&rig, 7, 1, 10);
	put_call(&rig, 7, 3, 19);
	put_call(&rig, 8, 2, 19);
	put_call(&rig, 7, 2, 20);
	rig_interval(&rig);
	rig_report(&rig, CONNS_TOTAL, &r);
	t = rig_table(&r, "call_log");
	assert_int_equal(t->nrows, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(cell(t, i, "seq"), i + 1);
	assert_int_equal(cell(t, 1, "gap_ns"), 10000);
	assert_int_equal(rig_cell(t, t->first->next->next, "gap_ns")->type, VALUE_NULL);
	report_release(&r);
	rig_release(&rig);
}

/* Beyond the limit the oldest go, and are counted; no log at all is null. */
static void the_log_is_bounded(void **state)
{
	const uint32_t n = 25000;
	struct conns_rig rig;
	const struct table *t;
	struct report r;

	(void)state;
	rig_init(&rig, &follow_7);
	rig_interval(&rig);
	rig_report(&rig, CONNS_TOTAL, &r);
	assert_int_equal(rig_field(&r.body, "call_log")->type, VALUE_NULL);
	report_release(&r);
	for (uint32_t i = 1; i <= n; i++)
		put_call(&rig, 7, i, i);
	rig_interval(&rig);
	rig_report(&rig, CONNS_TOTAL, &r);
	t = rig_table(&r, "call_log");
	assert_int_equal(t->nrows + rig_field(&r.body, "call_log_left_out")->u64, n);
	assert_in_range(t->nrows, 5000, 10000);
	assert_int_equal(cell(t, t->nrows - 1, "seq"), n);
	report_release(&r);
	rig_release(&rig);
}

static void impossible_calls_are_refused(void **state)
{
	const struct event_call good = { .seq = 1 };
	struct event_call bad[] = { good, good, good };

	(void)state;
	bad[0].seq = 0;
	bad[1].direction = DIR_MAX;
	bad[2].state = CONN_AT_MAX;
	assert_int_equal(event_check(EV_CALL, 1, &good, sizeof(good)), EVENT_GOOD);
	for (int i = 0; i < 3; i++)
		assert_int_equal(event_check(EV_CALL, 1, &bad[i], sizeof(good)), EVENT_INVALID);
	assert_int_equal(event_check(EV_CALL, 1, &good, sizeof(good) - 4), EVENT_INVALID);
}

/* ---- choice of connections to follow ---- */

struct choice {
	uint64_t cookies[8];
	size_t n, most;
};

static int chosen(void *ctx, uint64_t cookie)
{
	struct choice *choice = ctx;

	if (choice->n == choice->most)
		return -1;
	choice->cookies[choice->n++] = cookie;
	return 0;
}

static bool keeps_odd(const struct conn_view *view, void *ctx)
{
	(void)ctx;
	return view->c->cookie % 2;
}

/* Those that are shown, but for what has ended and what has a log. */
static void shown_connections_are_chosen(void **state)
{
	const struct conns_options odd = { .select = keeps_odd };
	struct choice choice = { .most = 8 }, little = { .most = 1 };
	struct conns_rig rig;

	(void)state;
	rig_init(&rig, &odd);
	for (uint64_t cookie = 1; cookie <= 9; cookie++) {
		struct event_conn e = rig_conn(&rig, cookie, 0);

		e.flags = cookie == 3 ? CONN_CLOSED : cookie == 5 ? CONN_LOGGED : 0;
		rig_put(&rig, &e);
	}
	rig_interval(&rig);
	assert_int_equal(conns_choose_for_log(rig.c, chosen, &choice), 0);
	assert_int_equal(choice.n, 3);
	assert_int_equal(choice.cookies[0] + choice.cookies[1] + choice.cookies[2], 1 + 7 + 9);
	assert_int_equal(conns_choose_for_log(rig.c, chosen, &little), -1);
	assert_int_equal(little.n, 1);
	rig_release(&rig);
}

/* ---- how much ---- */

/* As many calls as it may, at a price of 1 us: after a second it takes its share, never more. */
static void log_keeps_its_share_of_the_budget(void **state)
{
	const uint64_t tick = NS_PER_S / 2;
	const double share = call_budget_share(0.01, 0.03), price = 1000;
	struct call_budget b;
	double used = 0;

	(void)state;
	call_budget_init(&b, share);
	for (int i = 0; i < 20; i++) {
		const uint64_t n = call_budget_grant(&b, tick);

		used = (double)n * price / (double)tick;
		assert_true(used <= share);
		call_budget_spend(&b, n, (uint64_t)((double)n * price));
	}
	assert_true(used > 0.7 * share);
	call_budget_spend(&b, 0, NS_PER_S); /* a reading without calls says nothing of them */
	assert_true((double)call_budget_grant(&b, tick) * price > 0.7 * share * (double)tick);
	call_budget_spend(&b, 5000, 5000ULL * 100000); /* all has become dearer */
	assert_true((double)call_budget_grant(&b, tick) * 100000 < 1.1 * share * (double)tick);
	call_budget_spend(&b, 1, 100 * NS_PER_S); /* one that took for ever: there is another try */
	assert_int_equal(call_budget_grant(&b, tick), 1);
	call_budget_init(&b, 0);
	assert_int_equal(call_budget_grant(&b, tick), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_ordered_by_number),
		cmocka_unit_test(the_log_is_bounded),
		cmocka_unit_test(impossible_calls_are_refused),
		cmocka_unit_test(shown_connections_are_chosen),
		cmocka_unit_test(log_keeps_its_share_of_the_budget),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
