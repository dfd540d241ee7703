/* SPDX-License-Identifier: Apache-2.0 */
/* Which messages are targets, references, usual, and near the targets. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/bug.h"
#include "diagnose_rig.h"

#define N 400u

struct choice {
	struct recorded rec;
	uint32_t targets, references, usual, near;
	uint64_t slowest_reference, fastest_usual, fastest_near, fastest_target;
};

/* Message i takes fast_us + i * step_us; with their order in time mixed. */
static char *script(unsigned int fast_us, unsigned int step_us)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	BUG_ON(!f);
	fprintf(f, HOST "2us 0 run app\n");
	for (unsigned int i = 0; i < N; i++) {
		const unsigned int at = 1000 * (1 + i), rank = i * 7 % N;

		fprintf(f, "message %u app %uus %uus %uus 0\n", i + 1, at, at + 1,
			at + fast_us + rank * step_us);
	}
	fclose(f);
	return text;
}

static void count(struct choice *c)
{
	vec_for_each(&c->rec.subjects, s) {
		const uint64_t ns = message_latency(&c->rec.messages.all.items[s->message]);

		c->targets += s->target;
		c->references += s->reference;
		c->usual += s->usual;
		c->near += s->near;
		if (s->reference && ns > c->slowest_reference)
			c->slowest_reference = ns;
		if (s->usual && ns < c->fastest_usual)
			c->fastest_usual = ns;
		if (s->near && ns < c->fastest_near)
			c->fastest_near = ns;
		if (s->target && ns < c->fastest_target)
			c->fastest_target = ns;
	}
}

static void choose(struct choice *c, const struct message_selection *s, unsigned int fast_us,
		   unsigned int step_us)
{
	char *text = script(fast_us, step_us);
	const int fd = rig_file(text);
	struct event_reader *reader;

	*c = (struct choice){ .fastest_usual = UINT64_MAX, .fastest_near = UINT64_MAX,
			      .fastest_target = UINT64_MAX };
	BUG_ON(event_reader_new(&reader, fd));
	BUG_ON(recorded_read(&c->rec, reader, s));
	count(c);
	recorded_release(&c->rec);
	event_reader_free(reader);
	close(fd);
	free(text);
}

static const struct message_selection automatic = {
	.from = 0.99, .to = 1, .against = AGAINST_AUTO, .against_from = 0.4, .against_to = 0.6,
	.wider = true,
};

/* The usual message is 6 times as slow as p5: the references are the fastest tenth. */
static void test_usual_is_slow(void **state)
{
	struct choice c;

	(void)state;
	choose(&c, &automatic, 10, 1);
	assert_int_equal(c.references, N / 10);
	assert_int_equal(c.slowest_reference, (10 + N / 10 - 1) * 1000);
	assert_int_equal(c.usual, N / 5);
	assert_int_equal(c.fastest_usual, (10 + N * 2 / 5) * 1000);
}

/* Control: it is not twice as slow. Also, explicit slices stay what they are. */
static void test_usual_is_fast(void **state)
{
	struct message_selection slice = automatic;
	struct choice c;

	(void)state;
	choose(&c, &automatic, 200, 1);
	assert_int_equal(c.references, N / 5);
	assert_int_equal(c.slowest_reference, (200 + N * 3 / 5 - 1) * 1000);
	assert_int_equal(c.usual, N / 5);
	slice.against = AGAINST_SLICE;
	choose(&c, &slice, 10, 1);
	assert_int_equal(c.references, N / 5);
}

/* Five times as many of the slowest messages as are targets; without `wider`, only targets. */
static void test_near(void **state)
{
	struct message_selection narrow = automatic;
	struct choice c;

	(void)state;
	choose(&c, &automatic, 200, 1);
	assert_int_equal(c.targets, N / 100);
	assert_int_equal(c.near, 4 * N / 100);
	assert_int_equal(c.fastest_target, (200 + N - N / 100) * 1000);
	assert_int_equal(c.fastest_near, (200 + N - 5 * N / 100) * 1000);
	narrow.wider = false;
	choose(&c, &narrow, 200, 1);
	assert_int_equal(c.near + c.usual, 0);
	assert_int_equal(c.targets, N / 100);
	narrow = automatic;
	narrow.to = 0.995;
	choose(&c, &narrow, 200, 1);
	assert_int_equal(c.near, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual_is_slow),
		cmocka_unit_test(test_usual_is_fast),
		cmocka_unit_test(test_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
