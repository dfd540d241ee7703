/* SPDX-License-Identifier: Apache-2.0 */
/* The names of arrival processes, and the distribution of gaps for each. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/bug.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "base/portable.h"
#include "load/arrival.h"

#define TEXT_MAX 64 /* size of the text of an arrival process, except a file */
#define SHAPE_MIN 0.01
#define SHAPE_MAX 100
/*
 * Least shape of a Pareto distribution, which has a mean only for shapes above 1. Closer to 1, any
 * run of practical length sends far faster than the rate, since most gaps are as short as the mean
 * times (shape - 1) / shape.
 */
#define TAIL_MIN 1.01
#define TIME_MIN NS_PER_US

enum arrival_arg {
	ARG_NONE,
	ARG_SHAPE,     /* a number from SHAPE_MIN to SHAPE_MAX */
	ARG_TAIL,      /* a number from TAIL_MIN to SHAPE_MAX */
	ARG_SPREAD,    /* a number above 0, up to 1 */
	ARG_AMPLITUDE, /* a number from 0 to 1 */
	ARG_FACTOR,    /* a number from 0 to SHAPE_MAX */
	ARG_TIME,      /* a duration of at least TIME_MIN ns */
};

struct arrival_row {
	const char *name, *takes;
	enum arrival_arg args[2];
	double def; /* default of a process's only argument; 0: it must be given */
};

static const struct arrival_row arrival_rows[] = {
	[ARRIVAL_POISSON] = { .name = "poisson", .takes = "poisson" },
	[ARRIVAL_FIXED] = { .name = "fixed", .takes = "fixed" },
	[ARRIVAL_UNIFORM] = { "uniform", "uniform[:SPREAD]", { ARG_SPREAD }, 1 },
	[ARRIVAL_LOGNORMAL] = { "lognormal", "lognormal:CV", { ARG_SHAPE }, 0 },
	[ARRIVAL_GAMMA] = { "gamma", "gamma:SHAPE", { ARG_SHAPE }, 0 },
	[ARRIVAL_PARETO] = { "pareto", "pareto:SHAPE", { ARG_TAIL }, 0 },
	[ARRIVAL_ONOFF] = { "onoff", "onoff:ON:OFF", { ARG_TIME, ARG_TIME }, 0 },
	[ARRIVAL_RAMP] = { "ramp", "ramp:FROM:TO", { ARG_FACTOR, ARG_FACTOR }, 0 },
	[ARRIVAL_SINE] = { "sine", "sine:AMPLITUDE:PERIOD", { ARG_AMPLITUDE, ARG_TIME }, 0 },
	[ARRIVAL_FILE] = { .name = "replay", .takes = "replay:SPEED:FILE" },
};

static const char *const arg_takes[] = {
	[ARG_NONE] = "",
	[ARG_SHAPE] = "a number from 0.01 to 100",
	[ARG_TAIL] = "a number from 1.01 to 100",
	[ARG_SPREAD] = "a number above 0, up to 1",
	[ARG_AMPLITUDE] = "a number from 0 to 1",
	[ARG_FACTOR] = "a number from 0 to 100",
	[ARG_TIME] = PARSE_DURATION_TAKES ", at least 1us",
};

static bool arg_holds(enum arrival_arg arg, double x)
{
	switch (arg) {
	case ARG_SHAPE:
		return x >= SHAPE_MIN && x <= SHAPE_MAX;
	case ARG_TAIL:
		return x >= TAIL_MIN && x <= SHAPE_MAX;
	case ARG_SPREAD:
		return x > 0 && x <= 1;
	case ARG_AMPLITUDE:
		return x >= 0 && x <= 1;
	case ARG_FACTOR:
		return x >= 0 && x <= SHAPE_MAX;
	case ARG_TIME:
		return x >= TIME_MIN;
	case ARG_NONE:
		break;
	}
	return false;
}

static int arrival_parse_arg(const char *text, enum arrival_arg arg, double *out)
{
	uint64_t ns;
	char *end;
	int err;

	if (arg == ARG_TIME) {
		err = parse_duration(text, &ns);
		if (err)
			return err;
		*out = (double)ns;
	} else {
		if (!*text || text[strspn(text, "0123456789.")])
			return -EINVAL;
		*out = strtod(text, &end);
		if (*end)
			return -EINVAL;
	}
	return arg_holds(arg, *out) ? 0 : -ERANGE;
}

static int arrival_parse_args(char *rest, struct arrival *out, struct strbuf *why)
{
	const struct arrival_row *kind = &arrival_rows[out->kind];
	double *to[] = { &out->a, &out->b };

	if (!rest && kind->def > 0) {
		out->a = kind->def;
		return 0;
	}
	for (size_t i = 0; i < ARRAY_LEN(to) && kind->args[i]; i++) {
		char *arg = strsep(&rest, ":");

		if (!arg || arrival_parse_arg(arg, kind->args[i], to[i])) {
			strbuf_printf(why, "'%s' in %s: must be %s", arg ? arg : "", kind->takes,
				      arg_takes[kind->args[i]]);
			return -EINVAL;
		}
	}
	if (rest) {
		strbuf_printf(why, "unexpected argument '%s': the form is %s", rest, kind->takes);
		return -EINVAL;
	}
	if (out->kind == ARRIVAL_RAMP && out->a == 0 && out->b == 0) {
		strbuf_puts(why, "a ramp from 0 to 0 sends nothing");
		return -EINVAL;
	}
	return 0;
}

static int arrival_reject(const char *text, struct strbuf *why)
{
	struct nearest nearest;

	nearest_init(&nearest, text);
	strbuf_printf(why, "'%s' is not an arrival process: use ", text);
	for (size_t i = 0; i < ARRAY_LEN(arrival_rows); i++) {
		strbuf_printf(why, "%s, ", arrival_rows[i].takes);
		nearest_offer(&nearest, arrival_rows[i].name);
	}
	strbuf_puts(why, "or a file with a dot or a slash in its name");
	if (nearest.best)
		strbuf_printf(why, " (did you mean %s?)", nearest.best);
	return -EINVAL;
}

/* Parses "SPEED:FILE", the arguments of replay; FILE may contain colons. Returns 0 or -EINVAL. */
static int parse_replay(const char *text, struct arrival *out, struct strbuf *why)
{
	char speed[TEXT_MAX];
	const char *colon = strchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;

	if (!len || len >= sizeof(speed) || !colon[1]) {
		strbuf_printf(why, "'%s': the form is %s", text, arrival_rows[ARRIVAL_FILE].takes);
		return -EINVAL;
	}
	memcpy(speed, text, len);
	speed[len] = '\0';
	if (arrival_parse_arg(speed, ARG_FACTOR, &out->a) || out->a == 0) {
		strbuf_printf(why, "'%s' in %s: must be a number above 0, up to 100", speed,
			      arrival_rows[ARRIVAL_FILE].takes);
		return -EINVAL;
	}
	out->file = colon + 1;
	return 0;
}

int arrival_parse(const char *text, struct arrival *out, struct strbuf *why)
{
	char copy[TEXT_MAX], *rest = copy;
	size_t len = strcspn(text, ":");
	struct arrival arrival = { 0 };
	size_t i = 0;
	int err;

	while (i < ARRAY_LEN(arrival_rows) &&
	       (strlen(arrival_rows[i].name) != len || memcmp(arrival_rows[i].name, text, len)))
		i++;
	arrival.kind = (enum arrival_kind)i;
	if (i == ARRIVAL_FILE && text[len]) {
		err = parse_replay(text + len + 1, &arrival, why);
	} else if (i < ARRIVAL_FILE) {
		if (strlen(text) >= sizeof(copy))
			return arrival_reject(text, why);
		memcpy(copy, text, strlen(text) + 1);
		strsep(&rest, ":");
		err = arrival_parse_args(rest, &arrival, why);
	} else if (strpbrk(text, "./")) {
		arrival = (struct arrival){ .kind = ARRIVAL_FILE, .a = 1, .file = text };
		err = 0;
	} else {
		err = arrival_reject(text, why);
	}
	if (!err)
		*out = arrival;
	return err;
}

/*
 * A Pareto variate of shape s and mean m starts at m (s - 1) / s. As a generalized Pareto variate,
 * its scale is this start divided by s, and its shape is 1 / s.
 */
bool arrival_gap(const struct arrival *arrival, double mean, struct dist *out)
{
	double a = arrival->a, start;

	switch (arrival->kind) {
	case ARRIVAL_POISSON:
		*out = (struct dist){ .kind = DIST_KIND_EXPONENTIAL, .a = mean };
		return true;
	case ARRIVAL_UNIFORM:
		*out = (struct dist){ .kind = DIST_KIND_UNIFORM, .a = mean * (1 - a),
				      .b = mean * (1 + a) };
		return true;
	case ARRIVAL_LOGNORMAL:
		*out = (struct dist){ .kind = DIST_KIND_LOGNORMAL, .a = mean, .b = a };
		return true;
	case ARRIVAL_GAMMA:
		*out = (struct dist){ .kind = DIST_KIND_GAMMA, .a = mean, .b = a };
		return true;
	case ARRIVAL_PARETO:
		start = mean * (a - 1) / a;
		*out = (struct dist){ .kind = DIST_KIND_PARETO, .a = start, .b = start / a,
				      .c = 1 / a };
		return true;
	default:
		return false;
	}
}

double arrival_intensity(const struct arrival *arrival, uint64_t duration_ns, uint64_t at_ns)
{
	uint64_t period;

	switch (arrival->kind) {
	case ARRIVAL_RAMP:
		return arrival->a +
		       (arrival->b - arrival->a) * ((double)at_ns / (double)duration_ns);
	case ARRIVAL_SINE:
		period = (uint64_t)arrival->b;
		return 1 + arrival->a *
			   portable_sin_turn((double)(at_ns % period) / (double)period);
	default:
		return 1;
	}
}

double arrival_gap_probability(const struct arrival *arrival, double rate, uint64_t duration_ns,
			       double from_ns, double to_ns)
{
	double mean = (double)NS_PER_S / rate, gap = to_ns - from_ns, turn;
	double a = arrival->a, b = arrival->b;
	struct dist law;

	if (arrival_gap(arrival, mean, &law))
		return dist_cdf(&law, gap);
	switch (arrival->kind) {
	case ARRIVAL_FIXED:
		return gap / mean;
	case ARRIVAL_RAMP:
		/*
		 * The rate is linear in time, so its mean over the gap is the rate in the middle of
		 * the gap.
		 */
		return -expm1(-gap / mean *
			      (a + (b - a) * (from_ns + to_ns) / 2 / (double)duration_ns));
	case ARRIVAL_SINE:
		/*
		 * The integral of the sine rate over the gap is a difference of cosines, written as
		 * a product of sines.
		 */
		turn = M_PI / b;
		return -expm1(-gap / mean -
			      a / mean / turn * sin(turn * (from_ns + to_ns)) * sin(turn * gap));
	default:
		return NAN;
	}
}
