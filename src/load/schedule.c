/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generates schedules. Time is in fixed point, 2^-32 ns, so that its precision does not depend on
 * the number of requests or the length of the run. Ramp and sine are thinned from a Poisson process
 * of their peak rate (Lewis and Shedler, Naval Research Logistics Quarterly 26(3), 1979).
 */
#include "load/schedule.h"

#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "base/sort.h"
#include "base/vec.h"
#include "load/arrival.h"
#include "load/replay_file.h"

/* XORed into the seed, so that the schedule is independent of other draws (keys, sizes). */
#define SEED_OF_SCHEDULE 0x7363686564756c65ULL

#define BUFFER_BYTES 65536
#define LINE_MAX_BYTES 24 /* bytes of a line: a time below 10^20, and a newline */

struct schedule_times VEC_OF(uint64_t);

typedef unsigned __int128 fine_time; /* a time in units of 2^-32 ns */

struct schedule_maker {
	const struct arrival *arrival;
	double rate, mean_ns;
	uint64_t end_ns;
	struct rng rng;
	fine_time now;
	struct schedule_times at;
};

static uint64_t whole_ns(fine_time t)
{
	return (uint64_t)((t + (1ULL << 31)) >> 32);
}

/* Advances the time by a gap, limited to the run's length: later times do not matter. */
static void schedule_advance(struct schedule_maker *m, double ns)
{
	m->now += (fine_time)(fmin(ns, (double)m->end_ns) * 0x1p32);
}

/* Adds a request at the current time. Returns 0, 1 at the end of the run, or -errno. */
static int add_now(struct schedule_maker *m)
{
	uint64_t at = whole_ns(m->now);

	return at >= m->end_ns ? 1 : vec_push(&m->at, at);
}

static int make_renewal(struct schedule_maker *m, const struct dist *gap)
{
	int err;

	do {
		schedule_advance(m, dist_draw(gap, &m->rng));
		err = add_now(m);
	} while (!err);
	return err;
}

static int make_thinned(struct schedule_maker *m, double peak)
{
	const struct arrival *a = m->arrival;
	int err = 0;

	while (!err) {
		uint64_t at;

		schedule_advance(m, rng_exponential(&m->rng, m->mean_ns / peak));
		at = whole_ns(m->now);
		if (at >= m->end_ns ||
		    rng_uniform(&m->rng) * peak < arrival_intensity(a, m->end_ns, at))
			err = add_now(m);
	}
	return err;
}

/*
 * Gaps, bursts and pauses are exponential, hence memoryless: a gap that exceeds its burst is drawn
 * again in the next burst.
 */
static int make_onoff(struct schedule_maker *m)
{
	double on = m->arrival->a, off = m->arrival->b, busy = on / (on + off);
	double left = rng_exponential(&m->rng, on);
	int err = 0;

	if (rng_uniform(&m->rng) >= busy)
		schedule_advance(m, rng_exponential(&m->rng, off));
	while (!err) {
		double gap = rng_exponential(&m->rng, m->mean_ns * busy);

		if (gap < left) {
			left -= gap;
			schedule_advance(m, gap);
			err = add_now(m);
		} else {
			schedule_advance(m, left);
			schedule_advance(m, rng_exponential(&m->rng, off));
			left = rng_exponential(&m->rng, on);
			err = whole_ns(m->now) >= m->end_ns;
		}
	}
	return err;
}

/*
 * Times are round(n / rate), exactly. With rate = mantissa 2^-shift, n 10^9 2^shift is divided by
 * the mantissa by summing quotient and remainder of each step. `rest` starts at one half of the
 * mantissa, for rounding.
 */
static int make_fixed(struct schedule_maker *m)
{
	int exponent, shift, err = 0;
	uint64_t mantissa = (uint64_t)ldexp(frexp(m->rate, &exponent), DBL_MANT_DIG);
	fine_time step, rest = mantissa / 2;
	uint64_t at = 0;

	shift = DBL_MANT_DIG - exponent;
	step = (fine_time)NS_PER_S << shift;
	while (!err && at < m->end_ns) {
		err = vec_push(&m->at, at);
		rest += step % mantissa;
		at += (uint64_t)(step / mantissa) + (uint64_t)(rest / mantissa);
		rest %= mantissa;
	}
	return err;
}

static int schedule_make_times(struct schedule_maker *m)
{
	const struct arrival *a = m->arrival;
	struct dist gap;

	if (arrival_gap(a, m->mean_ns, &gap))
		return make_renewal(m, &gap);
	switch (a->kind) {
	case ARRIVAL_FIXED:
		return make_fixed(m);
	case ARRIVAL_ONOFF:
		return make_onoff(m);
	case ARRIVAL_RAMP:
		return make_thinned(m, fmax(a->a, a->b));
	default:
		BUG_ON(a->kind != ARRIVAL_SINE);
		return make_thinned(m, 1 + a->a);
	}
}

/* Reserves space for the due times of almost any random schedule, to avoid moving the array. */
static int schedule_reserve(struct schedule_maker *m, struct strbuf *why)
{
	const struct arrival *a = m->arrival;
	double mean = (double)m->end_ns / m->mean_ns;
	double bursts = a->kind == ARRIVAL_ONOFF ? (double)m->end_ns / (a->a + a->b) : 0;

	if (a->kind == ARRIVAL_RAMP)
		mean *= (a->a + a->b) / 2;
	if (bursts > SCHEDULE_MAX) {
		strbuf_printf(why, "more than %llu bursts for one agent: use longer ON and OFF "
			      "times or a shorter run", SCHEDULE_MAX);
		return -E2BIG;
	}
	if (mean > SCHEDULE_MAX)
		return -E2BIG;
	return vec_reserve(&m->at, (size_t)fmin(mean + 6 * sqrt(mean) + 1, SCHEDULE_MAX));
}

static int too_many(int err, struct strbuf *why)
{
	if (err == -E2BIG && !why->len)
		strbuf_printf(why, "more than %llu requests for one agent: use a lower rate, a "
			      "shorter run or more agents", SCHEDULE_MAX);
	else if (err != -E2BIG)
		strbuf_puts(why, "no memory for the schedule");
	return err;
}

/* ---- files of request times ---- */

struct schedule_reading {
	struct schedule_times *at;
	double speed;
	uint64_t end_ns;        /* times from here on are left out: the schedule ends */
	/* last time read and longest gap between times so far: both in ns, divided by `speed` */
	uint64_t last, longest;
	uint64_t line, value;
	unsigned int digits;
	bool over; /* a time at or beyond end_ns was read */
};

static int schedule_line_error(const struct schedule_reading *r, const char *what,
			       struct strbuf *why)
{
	strbuf_printf(why, "line %llu: %s", (unsigned long long)r->line, what);
	return -EINVAL;
}

static int schedule_add_time(struct schedule_reading *r, struct strbuf *why)
{
	uint64_t at = r->value;
	double scaled;

	if (r->speed != 1) {
		scaled = floor((double)at / r->speed + 0.5);
		at = scaled >= (double)r->end_ns ? r->end_ns : (uint64_t)scaled;
	}
	if (at < r->last)
		return schedule_line_error(r, "earlier than the line before; times must ascend",
					   why);
	if (at >= r->end_ns) {
		r->over = true;
		return 0;
	}
	if (at - r->last > r->longest)
		r->longest = at - r->last;
	r->last = at;
	return vec_push(r->at, at);
}

static int schedule_add_byte(struct schedule_reading *r, char c, struct strbuf *why)
{
	int err;

	if (c >= '0' && c <= '9') {
		if (__builtin_mul_overflow(r->value, (uint64_t)10, &r->value) ||
		    __builtin_add_overflow(r->value, (uint64_t)(c - '0'), &r->value))
			return schedule_line_error(r, "too large; write a time in ns", why);
		r->digits = 1;
		return 0;
	}
	if (c != '\n' || !r->digits)
		return schedule_line_error(r, "must be a time in ns, digits only", why);
	err = schedule_add_time(r, why);
	r->line++;
	r->value = r->digits = 0;
	return err;
}

static int schedule_read_lines(struct schedule_reading *r, int fd, struct strbuf *why)
{
	char buffer[BUFFER_BYTES];
	ssize_t n;
	int err = 0;

	do {
		n = read(fd, buffer, sizeof(buffer));
		for (ssize_t i = 0; i < n && !err && !r->over; i++)
			err = schedule_add_byte(r, buffer[i], why);
	} while (n > 0 && !err && !r->over);
	if (n < 0)
		return -errno;
	/* The last line may lack a newline. */
	if (!err && !r->over && r->digits)
		err = schedule_add_byte(r, '\n', why);
	return err;
}

/*
 * Reads the times below `end_ns`, divided by `speed` (> 0), into `out`; stops at the first time
 * beyond. Sets `complete` to false if the time from the last request to the end of the run exceeds
 * all gaps. Returns 0, -EINVAL (`why` names the line), -E2BIG at out->max, or a read error; `why`
 * has a sentence.
 */
static int schedule_read(struct schedule_times *out, bool *complete, const char *path, double speed,
			 uint64_t end_ns, struct strbuf *why)
{
	struct schedule_reading r = { .at = out, .speed = speed, .end_ns = end_ns, .line = 1 };
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	err = fd < 0 ? -errno : schedule_read_lines(&r, fd, why);
	if (!err && !out->len && !r.over)
		err = schedule_line_error(&r, "the file contains no time", why);
	if (fd >= 0)
		close(fd);
	if (err == -E2BIG)
		strbuf_printf(why, "more than %zu times", out->max);
	else if (err && err != -EINVAL)
		strbuf_puts(why, strerror(-err));
	if (err)
		strbuf_printf(why, " (%s)", path);
	/* Times are rounded, so allow 1 ns more. */
	*complete = r.over || end_ns - r.last <= r.longest + 1;
	return err;
}

/* ---- files of recorded requests ---- */

static int schedule_order(const void *a, const void *b)
{
	return sort_order(*(const uint64_t *)a, *(const uint64_t *)b);
}

/*
 * Spreads the times from index `from` on, which are equal, over the second (`width`, at the speed
 * of the replay) that begins there: cache-trace has whole seconds. Independent, uniform times are
 * what a Poisson process has in a second of so many requests.
 */
static void schedule_spread(struct schedule_times *at, size_t from, uint64_t width,
			    struct rng *rng)
{
	for (size_t i = from; i < at->len; i++)
		at->items[i] += rng_below(rng, width);
	if (at->len > from)
		qsort(at->items + from, at->len - from, sizeof(*at->items), schedule_order);
}

/* Reads all rows; with `width` > 0, spreads those of a second. Returns 0 or an error. */
static int schedule_read_rows(struct schedule_reading *r, struct replay_file *file, uint64_t width,
			      struct rng *rng, struct strbuf *why)
{
	struct replay_row row;
	size_t from = 0;
	int ret = 0;

	while (!r->over && (ret = replay_file_next(file, &row, why)) > 0) {
		const uint64_t last = r->last;

		r->value = row.at_ns;
		ret = schedule_add_time(r, why);
		if (ret)
			break;
		if (width && r->last != last && !r->over) {
			/* The new time is the first of its second. */
			const uint64_t at = r->at->items[--r->at->len];

			schedule_spread(r->at, from, width, rng);
			from = r->at->len;
			r->at->items[r->at->len++] = at;
		}
	}
	if (width)
		schedule_spread(r->at, from, width, rng);
	/* The last second may reach beyond the end of the run. */
	while (r->at->len && r->at->items[r->at->len - 1] >= r->end_ns)
		r->at->len--;
	return ret;
}

/* Reads the times of recorded requests, as schedule_read() does those of a file of times. */
static int schedule_read_requests(struct schedule *out, struct schedule_maker *m,
				  struct strbuf *why)
{
	const struct arrival *a = m->arrival;
	struct schedule_reading r = { .at = &m->at, .speed = a->a, .end_ns = m->end_ns };
	struct replay_file *file;
	uint64_t width = 0;
	int err = replay_file_open(&file, a->file, why);

	if (err)
		return err;
	if (replay_file_format(file) == REPLAY_CACHE)
		width = (uint64_t)fmax(1, (double)NS_PER_S / a->a);
	err = schedule_read_rows(&r, file, width, &m->rng, why);
	replay_file_close(file);
	if (err == -E2BIG)
		strbuf_printf(why, "%s: more than %zu requests", a->file, m->at.max);
	else if (err == -ENOMEM && !why->len)
		strbuf_printf(why, "%s: no memory for the times", a->file);
	out->span_ns = r.last + (width ? width : 1);
	out->complete = r.over || m->end_ns - r.last <= r.longest + width + 1;
	return err;
}

static int schedule_replay(struct schedule *out, struct schedule_maker *m, struct strbuf *why)
{
	const struct arrival *a = m->arrival;
	struct schedule s = { 0 };
	int err;

	if (replay_file_is(a->file)) {
		err = schedule_read_requests(&s, m, why);
	} else {
		err = schedule_read(&m->at, &s.complete, a->file, a->a, m->end_ns, why);
		s.span_ns = m->at.len ? m->at.items[m->at.len - 1] + 1 : 0;
	}
	if (err) {
		vec_release(&m->at);
		return err;
	}
	*out = s;
	out->at_ns = m->at.items;
	out->n = m->at.len;
	return 0;
}

/* ---- making a schedule ---- */

int schedule_make(struct schedule *out, const struct arrival *arrival, double rate,
		  uint64_t duration_ns, uint64_t seed, struct strbuf *why)
{
	struct schedule_maker m = { .arrival = arrival,
				    .rate = rate,
				    .mean_ns = (double)NS_PER_S / rate,
				    .end_ns = duration_ns };
	int err;

	*out = (struct schedule){ 0 };
	BUG_ON(duration_ns > SCHEDULE_DURATION_MAX);
	vec_init(&m.at, SCHEDULE_MAX);
	rng_init(&m.rng, seed ^ SEED_OF_SCHEDULE);
	if (arrival->kind == ARRIVAL_FILE)
		return schedule_replay(out, &m, why);
	if (!(rate >= SCHEDULE_RATE_MIN && rate <= SCHEDULE_RATE_MAX)) {
		strbuf_printf(why, "a rate is from %g to %g per second", SCHEDULE_RATE_MIN,
			      SCHEDULE_RATE_MAX);
		return -EINVAL;
	}
	err = schedule_reserve(&m, why);
	if (!err)
		err = schedule_make_times(&m);
	if (err < 0) {
		vec_release(&m.at);
		return too_many(err, why);
	}
	*out = (struct schedule){ .at_ns = m.at.items, .n = m.at.len, .complete = true };
	return 0;
}

void schedule_release(struct schedule *schedule)
{
	if (!schedule)
		return;
	free(schedule->at_ns);
	*schedule = (struct schedule){ 0 };
}

int schedule_dump(const struct schedule *schedule, struct outfile *file)
{
	char buffer[BUFFER_BYTES];
	size_t used = 0;

	for (size_t i = 0; i < schedule->n && !file->error; i++) {
		char digits[LINE_MAX_BYTES], *p = digits + sizeof(digits);
		uint64_t at = schedule->at_ns[i];
		size_t len;

		*--p = '\n';
		do
			*--p = (char)('0' + at % 10);
		while (at /= 10);
		len = (size_t)(digits + sizeof(digits) - p);
		if (used + len > sizeof(buffer)) {
			outfile_write(file, buffer, used);
			used = 0;
		}
		memcpy(buffer + used, p, len);
		used += len;
	}
	return outfile_write(file, buffer, used);
}
