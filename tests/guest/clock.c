/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clock CONVERSIONS CHANGES SEED: TSC and the kernel's clocks, read in turn while the clock is
 * slewed by 500 ppm one way and the other every 15 ms. A TSC reading, converted, must lie between
 * the two readings of that clock around it; all of them, until both numbers are reached.
 *
 * What must fail: parameters that hold from `cycle_last` on, and a log without some of its changes;
 * these, left out before the log is kept, must be noticed. Then the clock is set.
 *
 * Runs only in a guest of tests/guest/run, whose clock is nobody else's.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>

#include "base/bug.h"
#include "base/rng.h"
#include "clock/changes.h"
#include "clock/clock.h"
#include "clock/tsc.h"
#include "probe/cpu/timekeeping_log.h"
#include "../unit/clock_log.h"

#define BATCH 30000 /* 160 ms: no slew shall fall between two batches only */
#define PAUSE_NS 800000 /* between two runs, at the most */
#define RUN 100 /* readings of one clock */
#define SLEW_NS 15000000LL
#define SLEW_PPM 500
#define DROPS 20
#define LEAVE_OUT 25 /* one of so many, for the control */
#define DROP_NS 50000000LL /* between two */
#define GIVE_UP_NS 1500000000000LL
#define NS_PER_S 1000000000LL
#define HOUR (3600 * NS_PER_S)
#define AGO_NS 50000000LL

static const enum clock_domain clocks[] = {
	DOMAIN_REALTIME, DOMAIN_MONO, DOMAIN_TAI,
};

/* ns[i] was read before ticks[i], ns[i + 1] after it. */
struct run {
	enum clock_domain clock;
	uint64_t ticks[RUN];
	int64_t ns[RUN + 1];
};

struct way {
	const char *name;
	struct clock_reconcile known;
	uint64_t conversions, violations, unknown;
	int64_t worst_ns;
};

enum { EXACT, CYCLE_LAST, DROPPED, WAYS };

static struct way ways[WAYS] = {
	{ .name = "switched when visible" },
	{ .name = "switched at cycle_last" },
	{ .name = "with changes left out" },
};
static struct run runs[BATCH / RUN];
static struct timekeeping_log *kernel;
static struct clock_changes exact, gappy;
static struct clock_change last, held; /* the newest; of `gappy`, and it may be left out */
static uint64_t gappy_seq, dropped, noticed, slews;
static int64_t drop_ns;  /* when one was left out last */
static bool just_dropped; /* true if the preceding change was left out of `gappy` */
static bool leave_out;    /* true if the next change of the kinds in DROPPED is to be left out */
static int failures;

static void expect(const char *what, bool ok, const char *format, int64_t a, int64_t b)
{
	printf("%s: %s: ", ok ? "ok" : "FAILED", what);
	printf(format, a, b);
	printf("\n");
	failures += !ok;
}

static void must(const char *what, int err)
{
	if (!err)
		return;
	printf("FAILED: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void adjust(struct timex timex)
{
	must("adjtimex", adjtimex(&timex) < 0 ? -errno : 0);
}

static int64_t now_ns(void)
{
	return clock_mono_ns(clock_system());
}

/* ---- the logs ---- */

/* The gappy log gets every change of the exact log except for an occasional change of the rate. */
static int put(void *ctx, enum clock_domain domain, const struct clock_stretch *s)
{
	const bool rate = !s->flags && domain == DOMAIN_TSC;

	(void)ctx;
	must("exact log", clock_reconcile_add(&ways[EXACT].known, domain, s));
	if (rate && leave_out)
		return 0;
	/* After one was left out, what is told may contradict it. */
	clock_reconcile_add(&ways[DROPPED].known, domain, s);
	return 0;
}

static int put_gappy(void *ctx, enum clock_domain domain, const struct clock_stretch *s)
{
	(void)ctx;
	(void)domain;
	(void)s;
	return 0;
}

static bool is_slew(const struct clock_timekeeper *a, const struct clock_timekeeper *b)
{
	const int64_t more = (int64_t)b->mono.mult - a->mono.mult;

	return llabs(more) > (int64_t)b->mono.mult / 1000000 * SLEW_PPM;
}

static void feed_gappy(const struct clock_change *change)
{
	const uint64_t losses = gappy.losses;
	struct clock_change next = *change;

	next.seq = ++gappy_seq; /* the numbers shall not tell */
	must("log with gaps", clock_changes_add(&gappy, &next));
	noticed += just_dropped && gappy.losses > losses;
	just_dropped = false;
}

/* One that holds a while is left out: it differs enough for the next one to show. */
static void take_gappy(const struct clock_change *change)
{
	const bool slew = gappy.begun && is_slew(&gappy.tk, &held.tk);

	if (held.seq && slew && dropped < DROPS && change->before_ns - held.before_ns > 1000000 &&
	    held.before_ns - drop_ns > DROP_NS) {
		dropped++;
		just_dropped = true;
		drop_ns = held.before_ns;
	} else if (held.seq) {
		feed_gappy(&held);
	}
	held = *change;
}

/* The line as it is published, from where it is anchored. */
static void take_cycle_last(const struct clock_change *change)
{
	const struct clock_line *line = &change->tk.mono;
	const uint64_t mask = (1ULL << line->shift) - 1;
	struct clock_reconcile *known = &ways[CYCLE_LAST].known;
	struct clock_stretch s = {
		.from = line->cycle_last, .fraction = line->fraction & mask, .mult = line->mult,
		.mono_ns = line->base_ns + (int64_t)(line->fraction >> line->shift),
		.shift = line->shift,
	};

	if (known->logs[DOMAIN_TSC].known.len) {
		struct clock_known *before = vec_last(&known->logs[DOMAIN_TSC].known);

		if (before->line.from == s.from) {
			before->line = s;
			return;
		}
		before->until = s.from; /* which may be earlier than what it was said to reach */
	}
	must("log by cycle_last", clock_reconcile_add(known, DOMAIN_TSC, &s));
}

static int take(void *ctx, const struct clock_change *change)
{
	(void)ctx;
	leave_out = exact.begun && is_slew(&last.tk, &change->tk) && ++slews % LEAVE_OUT == 0;
	last = *change;
	take_cycle_last(change);
	take_gappy(change);
	return clock_changes_add(&exact, change);
}

/* Until all that was read so far is known. */
static void pull(void)
{
	const int64_t now = now_ns();
	int64_t complete = 0;
	struct clock_known *end;

	for (int tries = 0; complete < now && tries < 1000; tries++)
		must("pull", timekeeping_log_pull(kernel, take, NULL, &complete));
	if (complete < now)
		must("pull", -ETIMEDOUT);
	must("hold", clock_changes_hold(&exact, complete));
	end = vec_last(&ways[CYCLE_LAST].known.logs[DOMAIN_TSC].known);
	end->until = clock_tsc();
}

/* ---- conversions ---- */

static void read_run(struct run *run, enum clock_domain clock)
{
	struct clock *system = clock_system();

	run->clock = clock;
	must("read", clock_read(system, clock, &run->ns[0]));
	for (int i = 0; i < RUN; i++) {
		run->ticks[i] = clock_tsc();
		must("read", clock_read(system, clock, &run->ns[i + 1]));
	}
}

static void check_run(struct way *way, const struct run *run)
{
	for (int i = 0; i < RUN; i++) {
		struct clock_time t;
		int64_t off;

		way->conversions++;
		if (clock_reconcile_convert(&way->known, DOMAIN_TSC, run->clock,
					    (int64_t)run->ticks[i], &t)) {
			way->unknown++;
			continue;
		}
		off = t.value < run->ns[i] ? run->ns[i] - t.value :
		      t.value > run->ns[i + 1] ? t.value - run->ns[i + 1] : 0;
		way->violations += off != 0;
		way->worst_ns = off > way->worst_ns ? off : way->worst_ns;
	}
}

/* The offsets didn't change, and are the exact log's. */
static void check_batch(void)
{
	for (int i = 0; i < BATCH / RUN; i++) {
		check_run(&ways[EXACT], &runs[i]);
		check_run(&ways[DROPPED], &runs[i]);
		if (runs[i].clock == DOMAIN_MONO)
			check_run(&ways[CYCLE_LAST], &runs[i]);
	}
}

static void slew_if_due(int64_t *due)
{
	static int sign = 1;

	if (now_ns() < *due)
		return;
	sign = -sign;
	adjust((struct timex){ .modes = ADJ_FREQUENCY, .freq = sign * SLEW_PPM * 65536 });
	*due = now_ns() + SLEW_NS;
}

static void convert_many(uint64_t conversions, uint64_t changes, struct rng *rng)
{
	const int64_t end = now_ns() + GIVE_UP_NS;
	int64_t due;

	while (now_ns() < end && (ways[EXACT].conversions < conversions ||
				  exact.changes < changes || dropped < DROPS)) {
		due = now_ns() + SLEW_NS;
		for (int i = 0; i < BATCH / RUN; i++) {
			slew_if_due(&due);
			clock_sleep_until(clock_system(),
					  now_ns() + (int64_t)rng_below(rng, PAUSE_NS));
			read_run(&runs[i], clocks[rng_below(rng, ARRAY_LEN(clocks))]);
		}
		pull();
		check_batch();
	}
	adjust((struct timex){ .modes = ADJ_FREQUENCY });
	for (int i = 0; i < WAYS; i++)
		printf("%s: %" PRIu64 " conversions, %" PRIu64 " violations, worst %" PRId64
		       " ns, %" PRIu64 " unknown\n", ways[i].name, ways[i].conversions,
		       ways[i].violations, ways[i].worst_ns, ways[i].unknown);
	expect("conversions", ways[EXACT].conversions >= conversions,
	       "%" PRId64 " of %" PRId64, (int64_t)ways[EXACT].conversions, (int64_t)conversions);
	expect("changes of the rate", exact.changes >= changes, "%" PRId64 " of %" PRId64,
	       (int64_t)exact.changes, (int64_t)changes);
	expect("no violation", ways[EXACT].violations == 0, "%" PRId64 ", worst %" PRId64 " ns",
	       (int64_t)ways[EXACT].violations, ways[EXACT].worst_ns);
	/* The kernel may be held up while it publishes: then it isn't known, and said so. */
	expect("unknown", ways[EXACT].unknown <= ways[EXACT].conversions / 100,
	       "%" PRId64 "; %" PRId64 " losses", (int64_t)ways[EXACT].unknown,
	       (int64_t)exact.losses);
	expect("must fail: cycle_last", ways[CYCLE_LAST].violations > 0,
	       "%" PRId64 " violations, worst %" PRId64 " ns",
	       (int64_t)ways[CYCLE_LAST].violations, ways[CYCLE_LAST].worst_ns);
	expect("must fail: changes left out", ways[DROPPED].violations > 0,
	       "%" PRId64 " violations, worst %" PRId64 " ns", (int64_t)ways[DROPPED].violations,
	       ways[DROPPED].worst_ns);
	expect("changes left out are noticed", dropped == DROPS && noticed == dropped,
	       "%" PRId64 " of %" PRId64, (int64_t)noticed, (int64_t)dropped);
}

/* ---- steps ---- */

static void convert(const char *what, enum clock_domain from, enum clock_domain to, int64_t t,
		    bool known, int64_t wanted, int64_t tolerance)
{
	struct clock_time result = { 0 };
	int err = clock_reconcile_convert(&ways[EXACT].known, from, to, t, &result);
	bool ok = known ? !err && llabs(result.value - wanted) <= tolerance : err == -ERANGE;

	expect(what, ok, "%" PRId64 ", off by %" PRId64, (int64_t)err,
	       err ? 0 : result.value - wanted);
}

/* Realtime and the TSC at one moment. */
static int64_t both(uint64_t *ticks)
{
	int64_t ns;

	must("read", clock_read(clock_system(), DOMAIN_REALTIME, &ns));
	*ticks = clock_tsc();
	return ns;
}

/* Sets the clock by `ns`, and lets it go on for a while. */
static void step(const char *what, int64_t ns, int64_t *before_ns, int64_t *after_ns)
{
	const size_t breaks = clock_log_breaks(&ways[EXACT].known, DOMAIN_REALTIME);
	const uint64_t losses = exact.losses;
	const int64_t below = (ns % NS_PER_S + NS_PER_S) % NS_PER_S;
	uint64_t before, after;

	*before_ns = both(&before);
	adjust((struct timex){
		.modes = ADJ_SETOFFSET | ADJ_NANO,
		.time = { .tv_sec = (ns - below) / NS_PER_S, .tv_usec = below },
	});
	*after_ns = both(&after);
	clock_sleep_until(clock_system(), now_ns() + 2 * AGO_NS);
	pull();
	printf("%s\n", what);
	expect("one discontinuity", clock_log_breaks(&ways[EXACT].known, DOMAIN_REALTIME) ==
	       breaks + 1 && exact.losses == losses, "%" PRId64 " before; %" PRId64 " losses",
	       (int64_t)breaks, (int64_t)exact.losses);
	convert("before", DOMAIN_TSC, DOMAIN_REALTIME, (int64_t)before, true, *before_ns, 1000000);
	convert("after", DOMAIN_TSC, DOMAIN_REALTIME, (int64_t)after, true, *after_ns, 1000000);
	expect("flagged as a step", vec_last(&ways[EXACT].known.logs[DOMAIN_REALTIME].known)
	       ->line.flags == (STRETCH_STEP | STRETCH_LOST), "%" PRId64 "%.0" PRId64, 1, 0);
}

static void check_steps(void)
{
	size_t breaks = clock_log_breaks(&ways[EXACT].known, DOMAIN_TAI);
	const size_t real = clock_log_breaks(&ways[EXACT].known, DOMAIN_REALTIME);
	int64_t before_ns, after_ns, at;
	struct clock_time t;

	step("an hour ahead", HOUR, &before_ns, &after_ns);
	convert("what was skipped is unknown", DOMAIN_REALTIME, DOMAIN_MONO,
		before_ns + HOUR / 2, false, 0, 0);
	step("an hour back", -HOUR, &before_ns, &after_ns);
	step("a little back", -AGO_NS, &before_ns, &after_ns);
	convert("what was shown twice is unknown", DOMAIN_REALTIME, DOMAIN_MONO,
		before_ns - AGO_NS / 2, false, 0, 0);
	convert("what was shown once is known", DOMAIN_REALTIME, DOMAIN_TAI,
		before_ns - 3 * AGO_NS / 2, true, before_ns - 3 * AGO_NS / 2, 0);
	adjust((struct timex){ .modes = ADJ_TAI, .constant = 37 });
	at = now_ns();
	pull();
	expect("TAI's steps", clock_log_breaks(&ways[EXACT].known, DOMAIN_TAI) ==
	       breaks + 4, "%" PRId64 "%.0" PRId64,
	       (int64_t)clock_log_breaks(&ways[EXACT].known, DOMAIN_TAI), 0);
	expect("REALTIME's", clock_log_breaks(&ways[EXACT].known, DOMAIN_REALTIME) ==
	       real + 3, "%" PRId64 "%.0" PRId64, (int64_t)real, 0);
	must("convert", clock_reconcile_convert(&ways[EXACT].known, DOMAIN_MONO,
						DOMAIN_REALTIME, at, &t));
	convert("TAI less REALTIME", DOMAIN_MONO, DOMAIN_TAI, at, true,
		t.value + 37 * NS_PER_S, 0);
}

int main(int argc, char **argv)
{
	struct rng rng;
	char why[200];

	if (argc != 4)
		return 1;
	setvbuf(stdout, NULL, _IOLBF, 0);
	rng_init(&rng, strtoull(argv[3], NULL, 10));
	printf("seed %s\n", argv[3]);
	for (int i = 0; i < WAYS; i++)
		clock_reconcile_init(&ways[i].known);
	clock_changes_init(&exact, (struct clock_taker){ .put = put });
	clock_changes_init(&gappy, (struct clock_taker){ .put = put_gappy });
	if (timekeeping_log_open(&kernel, why, sizeof(why))) {
		printf("FAILED: %s\n", why);
		return 1;
	}
	clock_sleep_until(clock_system(), now_ns() + NS_PER_S / 10);
	pull();
	convert_many(strtoull(argv[1], NULL, 10), strtoull(argv[2], NULL, 10), &rng);
	check_steps();
	timekeeping_log_free(kernel);
	for (int i = 0; i < WAYS; i++)
		clock_reconcile_release(&ways[i].known);
	return failures != 0;
}
