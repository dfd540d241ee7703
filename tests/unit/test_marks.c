/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's reads and marks, joined to messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cmd/mark_names.h"
#include "probe/packet/marks.h"

#define TEXT 4096
#define SINCE 1000
#define OLD 900
#define YOUNG 1100

static struct marks *marks;
static char said[TEXT];
static uint32_t n_done;
static uint64_t clock_now, lost, born;

/* "socket: arrival-end, bytes", with a + where its thread was not at it. */
static void done(void *ctx, const struct marked *message)
{
	const struct msg_record *m = &message->m;
	size_t at = strlen(said);

	assert_null(ctx);
	n_done++;
	if (at + 64 < TEXT)
		snprintf(said + at, TEXT - at, "%llu:%llu-%llu,%u%s ",
			 (unsigned long long)m->flow.sk,
			 (unsigned long long)(m->enqueued - m->link),
			 (unsigned long long)message->ended, m->bytes, message->handed ? "+" : "");
}

static void begin(bool by_id)
{
	marks_free(marks);
	said[0] = '\0';
	n_done = 0;
	clock_now = 2000;
	lost = 7;
	born = YOUNG;
	assert_int_equal(marks_new(&marks, by_id, SINCE, lost, done, NULL), 0);
}

/* A packet that came so long ago. */
static void reads(uint32_t tid, uint64_t sk, uint32_t bytes, uint32_t ago)
{
	struct msg_record m = { .tid = tid, .bytes = bytes, .flow = { .sk = sk } };

	m.read = ++clock_now;
	m.enqueued = clock_now;
	m.link = ago;
	m.youngest = clock_now - ago;
	marks_add_read(marks, &m);
}

static void fires(uint32_t tid, bool end, uint64_t id)
{
	const struct msg_mark m = {
		.tid = tid, .pid = 1, .end = end, .has_id = id != 0, .id = id,
		.time = ++clock_now, .born = born, .lost = lost,
	};

	marks_add_mark(marks, &m);
}

/*
 * Plays one thread: r, s: a read from the first or second socket; (, ): begin and end; !: a loss.
 */
static void does(const char *what)
{
	for (; *what; what++) {
		if (*what == 'r' || *what == 's')
			reads(1, *what, 10, 1);
		else if (*what == '(' || *what == ')')
			fires(1, *what == ')', 0);
		else
			lost++;
	}
}

static uint64_t missed_in_all(void)
{
	uint64_t n = 0;

	for (uint32_t i = MARKS_MET + 1; i < MARKS_MAX; i++)
		n += marks_missed(marks, i);
	return n;
}

static void by_thread(void **state)
{
	static const struct {
		const char *what;
		uint32_t messages;
		enum marks_missed why; /* MARKS_MET: nothing is missed, else once */
	} rows[] = {
		{ "r()", 1, MARKS_MET },
		{ "r()r()", 2, MARKS_MET },
		{ "rr()", 1, MARKS_MET },
		{ "r(s)r()", 2, MARKS_MET },
		{ "r(rs)", 1, MARKS_MET },
		{ "(r)", 0, MARKS_NOTHING },
		{ "(r)r()", 1, MARKS_NOTHING },
		{ "r()()", 1, MARKS_NOTHING },
		{ "rs()", 0, MARKS_SEVERAL },
		{ "rs()r()", 1, MARKS_SEVERAL },
		{ "r)", 0, MARKS_NO_BEGIN },
		{ "r)r()", 1, MARKS_NO_BEGIN },
		{ "r(r()", 0, MARKS_NO_END },
		{ "r((()r()", 1, MARKS_NO_END },
		{ "r(!)", 0, MARKS_LOST },
		{ "r()!r()r()", 2, MARKS_LOST },
		{ "r()r!)r()", 2, MARKS_LOST },
		{ "!r()r()", 1, MARKS_LOST },
		{ "r(!()r()", 1, MARKS_LOST },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		begin(false);
		does(rows[i].what);
		if (n_done != rows[i].messages || missed_in_all() != !!rows[i].why ||
		    (rows[i].why && marks_missed(marks, rows[i].why) != 1))
			fail_msg("%s: %u messages, %llu missed", rows[i].what, n_done,
				 (unsigned long long)missed_in_all());
	}
}

static void marks_with_numbers(void **state)
{
	(void)state;
	begin(false);
	reads(1, 5, 10, 1);   /* at 2001 */
	reads(1, 5, 20, 500); /* it came before the other: at 1502 */
	reads(2, 6, 40, 2);   /* another thread's: at 2001 */
	fires(1, false, 0);
	fires(2, false, 0);
	fires(1, true, 0);
	fires(2, true, 0);
	assert_string_equal(said, "5:1502-2006,30 6:2001-2007,40 ");
	assert_int_equal(missed_in_all(), 0);
}

static void threads_and_reads_from_before(void **state)
{
	(void)state;
	begin(false);
	born = OLD; /* it may have read something unseen, but not for its second message */
	does("r()r()");
	assert_int_equal(n_done, 1);
	assert_int_equal(marks_missed(marks, MARKS_OLDER), 1);
	born = OLD + 1; /* another thread, whose number is the same */
	does("r()");
	assert_int_equal(marks_missed(marks, MARKS_OLDER), 2);
	begin(false);
	born = OLD;
	does("()r()r()"); /* the first was read unseen, and told with the second */
	assert_int_equal(n_done, 1);
	assert_int_equal(marks_missed(marks, MARKS_OLDER), 2);
	begin(false);
	born = OLD;
	does("()()()"); /* it reads nothing */
	assert_int_equal(marks_missed(marks, MARKS_OLDER), 1);
	assert_int_equal(marks_missed(marks, MARKS_NOTHING), 2);
	begin(false);
	does("r()!r()"); /* the loss cannot concern threads that come later */
	born = clock_now + 1;
	clock_now += 2;
	does("r()");
	assert_int_equal(n_done, 2);
	assert_int_equal(marks_missed(marks, MARKS_LOST), 1);
	begin(false);
	lost++; /* maybe of the thread that comes to word after this one */
	fires(2, false, 0);
	does("r()");
	assert_int_equal(n_done, 0);
	assert_int_equal(marks_missed(marks, MARKS_LOST), 1);
	begin(false);
	born = OLD;
	does("(()");
	assert_int_equal(marks_missed(marks, MARKS_NO_END), 1);
	assert_int_equal(missed_in_all(), 1);
	begin(false);
	does("r()r"); /* ends with something read */
	born = clock_now + 1;
	clock_now += 2;
	does("()"); /* by another one, that has read nothing */
	assert_int_equal(n_done, 1);
	assert_int_equal(marks_missed(marks, MARKS_NOTHING), 1);
	does("r");
	born = clock_now + 1;
	clock_now += 2;
	does("r()"); /* reads from both sockets */
	assert_int_equal(n_done, 1);
	assert_int_equal(marks_missed(marks, MARKS_SEVERAL), 1);
}

static void reads_without_arrival(void **state)
{
	(void)state;
	begin(false);
	reads(1, 5, 10, UINT32_MAX);
	does("()");
	reads(0, 5, 10, 1); /* the reader does not matter */
	assert_int_equal(n_done, 0);
	assert_int_equal(marks_missed(marks, MARKS_ARRIVAL), 2);
}

static void marks_joined_by_id(void **state)
{
	(void)state;
	begin(true);
	reads(1, 5, 10, 1); /* 2001 */
	fires(1, false, 11);
	reads(1, 6, 20, 1); /* 2003 */
	fires(1, false, 12);
	fires(2, true, 12); /* 2005, elsewhere */
	fires(1, true, 11); /* 2006; it began another one meanwhile */
	reads(1, 7, 30, 1); /* 2007 */
	fires(1, false, 11);
	fires(1, true, 11); /* 2009: nothing between */
	assert_string_equal(said, "6:2002-2005,20+ 5:2000-2006,10+ 7:2006-2009,30 ");
	assert_int_equal(missed_in_all(), 0);
	fires(1, true, 11);
	fires(1, false, 13); /* nothing was read for it */
	fires(1, true, 13);
	fires(1, false, 0);
	assert_int_equal(marks_missed(marks, MARKS_NO_BEGIN), 1);
	assert_int_equal(marks_missed(marks, MARKS_NOTHING), 1);
	assert_int_equal(marks_missed(marks, MARKS_NO_ID), 1);
	reads(1, 5, 10, 1);
	fires(1, true, 99); /* is what was read part of this one? */
	fires(1, false, 14);
	fires(1, true, 14);
	assert_int_equal(marks_missed(marks, MARKS_UNCLEAR), 1);
	reads(1, 5, 10, 1);
	fires(1, false, 15);
	reads(1, 5, 10, 1);
	fires(1, false, 15);
	assert_int_equal(marks_missed(marks, MARKS_NO_END), 1);
	lost++;
	fires(1, true, 15);
	assert_int_equal(marks_missed(marks, MARKS_LOST), 1);
	assert_int_equal(n_done, 3);
	begin(true);
	reads(3, 5, 10, 1);
	fires(3, false, 16); /* its first mark */
	fires(4, true, 98);
	said[0] = '\0';
	fires(4, true, 16); /* the second one of another thread */
	assert_non_null(strchr(said, '+'));
}

/* Many marks at once, ended in another order: each finds its own. */
static void many_overlapping_marks(void **state)
{
	const uint32_t n = 30000;

	(void)state;
	begin(true);
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 1; i <= n; i++) {
			reads(1, i, i, 1);
			fires(1, false, i);
		}
		for (uint32_t i = 1; i <= n; i++) {
			const uint64_t id = 1 + i * 7919ULL % n;

			said[0] = '\0';
			fires(2, true, id);
			assert_int_equal(strtoull(said, NULL, 10), id);
		}
	}
	assert_int_equal(n_done, 3 * n);
	assert_int_equal(missed_in_all(), 0);
}

static void more_threads_than_places(void **state)
{
	(void)state;
	begin(true);
	for (uint32_t i = 1; i <= MARK_THREADS + 1; i++) {
		reads(1, 5, 1, 1);
		fires(1, false, i);
	}
	assert_int_equal(marks_missed(marks, MARKS_FULL), MARK_THREADS);
	fires(1, true, MARK_THREADS + 1);
	assert_int_equal(n_done, 1);
	begin(false);
	for (uint32_t i = 1; i <= MARK_THREADS; i++) {
		reads(i, 5, 1, 1);
		fires(i, false, 0);
	}
	reads(MARK_THREADS + 1, 5, 1, 1); /* all are forgotten */
	assert_int_equal(marks_missed(marks, MARKS_FULL), MARK_THREADS);
	fires(MARK_THREADS + 1, false, 0);
	fires(MARK_THREADS + 1, true, 0);
	assert_int_equal(n_done, 0);
	assert_int_equal(marks_missed(marks, MARKS_OLDER), 1);
}

static void names_of_reasons(void **state)
{
	struct pkt_mark mark;
	char buf[MARK_TEXT];

	(void)state;
	for (uint32_t i = MARKS_MET + 1; i < MARKS_MAX; i++)
		assert_non_null(marks_reason(i));
	assert_true(mark_parse("/a:b/c:pro:name", buf, &mark));
	assert_string_equal(mark.path, "/a:b/c");
	assert_string_equal(mark.provider, "pro");
	assert_string_equal(mark.name, "name");
	assert_true(mark_parse("pro:name", buf, &mark));
	assert_null(mark.path);
	assert_string_equal(mark.provider, "pro");
	assert_false(mark_parse("name", buf, &mark));
	assert_false(mark_parse("", buf, &mark));
	assert_false(mark_parse(":name", buf, &mark));
	assert_false(mark_parse("pro:", buf, &mark));
	assert_false(mark_parse(":pro:name", buf, &mark));
	assert_false(mark_parse("/a::name", buf, &mark));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_thread),
		cmocka_unit_test(marks_with_numbers),
		cmocka_unit_test(threads_and_reads_from_before),
		cmocka_unit_test(reads_without_arrival),
		cmocka_unit_test(marks_joined_by_id),
		cmocka_unit_test(many_overlapping_marks),
		cmocka_unit_test(more_threads_than_places),
		cmocka_unit_test(names_of_reasons),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	marks_free(marks);
	return failed;
}
