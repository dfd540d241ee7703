/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "plan.h"

#define NSEC_PER_SEC  1000000000ull
#define NSEC_PER_MSEC 1e6

static const struct {
	const char *word;
	bool has_number;
} ops[] = {
	[OP_WRITE] = { "write", true },   [OP_READ] = { "read", true },
	[OP_SOME] = { "some", true },     [OP_DRAIN] = { "drain", false },
	[OP_SLEEP] = { "sleep", true },   [OP_EVERY] = { "every", true },
	[OP_MARK] = { "mark", false },    [OP_BARRIER] = { "barrier", false },
	[OP_RELAY] = { "relay", true },   [OP_LOOP] = { "(", true },
	[OP_UNTIL] = { "{", true },        [OP_TURN] = { "turn", false },
};

/* A loop that is being run. */
struct frame {
	int step;
	double left;
};

uint64_t plan_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

/* ---- text ---- */

static const char *parse_step(struct plan *plan, const char *word, char **save)
{
	struct step *step = &plan->step[plan->count];
	const char *number;
	char *end;

	for (size_t op = 0; op < sizeof(ops) / sizeof(*ops); op++) {
		if (strcmp(ops[op].word, word))
			continue;
		*step = (struct step){ .op = op };
		if (ops[op].has_number) {
			number = strtok_r(NULL, " ", save);
			if (!number)
				return "a number is missing";
			step->n = strtod(number, &end);
			if (*end || !(step->n >= 0))
				return "not a number";
		}
		if (step->n > CALL_MAX && (op == OP_SOME || op == OP_RELAY))
			return "too much for one call";
		plan->count++;
		return NULL;
	}
	return "no such step";
}

static const char *parse_end(struct plan *plan, const char *word, const int *open, int *depth)
{
	enum op begins = *word == ')' ? OP_LOOP : OP_UNTIL;

	if (!*depth || plan->step[open[*depth - 1]].op != begins)
		return "it ends what did not begin";
	(*depth)--;
	plan->step[plan->count] = (struct step){ .op = OP_END, .other = open[*depth] };
	plan->step[open[*depth]].other = plan->count++;
	return NULL;
}

const char *plan_parse(struct plan *plan, const char *text)
{
	char copy[TEXT_MAX], *save = NULL;
	int open[DEPTH_MAX], depth = 0;
	const char *wrong = NULL;

	if (strlen(text) >= sizeof(copy))
		return "too long";
	snprintf(copy, sizeof(copy), "%s", text);
	for (char *word = strtok_r(copy, " ", &save); word && !wrong;
	     word = strtok_r(NULL, " ", &save)) {
		if (plan->count == STEPS_MAX || (depth == DEPTH_MAX && strchr("({", *word)))
			return "too many steps";
		if (strchr("({", *word))
			open[depth++] = plan->count;
		wrong = strchr(")}", *word) ? parse_end(plan, word, open, &depth) :
					      parse_step(plan, word, &save);
	}
	return wrong ? wrong : depth ? "a loop has no end" : NULL;
}

/* ---- calls ---- */

static bool stopped(const struct plan *plan)
{
	struct pollfd p = { .fd = plan->stop_fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static void wait_until(const struct plan *plan, uint64_t end, struct done *done)
{
	struct pollfd p = { .fd = plan->stop_fd, .events = POLLIN };
	uint64_t now = plan_now(), begin = now;

	for (; now < end; now = plan_now()) {
		struct timespec ts = { .tv_sec = (end - now) / NSEC_PER_SEC,
				       .tv_nsec = (end - now) % NSEC_PER_SEC };

		if (ppoll(&p, 1, &ts, NULL) > 0)
			break;
	}
	done->slept += now - begin;
}

static long times_slept(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void note_stall(const struct plan *plan, struct done *done, bool write, uint64_t at,
		       uint64_t ns)
{
	if (!plan->stall_ns || ns < plan->stall_ns || done->stalls == STALLS_MAX)
		return;
	done->stall[done->stalls].at = at;
	done->stall[done->stalls].ns = ns;
	done->stall[done->stalls++].write = write;
}

/* false: the connection is at its end */
static bool put(const struct plan *plan, int fd, const char *buffer, size_t len, struct done *done)
{
	long slept = times_slept();
	uint64_t begin = plan_now(), passed;
	ssize_t n = send(fd, buffer, len, MSG_NOSIGNAL);

	passed = plan_now() - begin;
	done->writes++;
	done->in_write += passed;
	if (times_slept() != slept)
		done->blocked += passed;
	note_stall(plan, done, true, begin, passed);
	if (n > 0)
		done->written += n;
	if (n < 0)
		done->error = errno;
	return n == (ssize_t)len;
}

static ssize_t get(const struct plan *plan, int fd, char *buffer, size_t len, struct done *done)
{
	uint64_t begin = plan_now(), passed;
	ssize_t n = recv(fd, buffer, len, 0);

	passed = plan_now() - begin;
	done->reads++;
	done->in_read += passed;
	note_stall(plan, done, false, begin, passed);
	if (n > 0)
		done->read += n;
	else if (n == 0)
		done->eof = true;
	else
		done->error = errno;
	return n;
}

static bool get_all(const struct plan *plan, int fd, char *buffer, uint64_t left, struct done *done)
{
	while (left) {
		ssize_t n = get(plan, fd, buffer, left < CALL_MAX ? left : CALL_MAX, done);

		if (n <= 0)
			return false;
		left -= n;
	}
	return true;
}

static bool put_all(const struct plan *plan, int fd, char *buffer, uint64_t left, struct done *done)
{
	for (uint64_t n; left; left -= n) {
		n = left < CALL_MAX ? left : CALL_MAX;
		if (!put(plan, fd, buffer, n, done))
			return false;
	}
	return true;
}

/* false: there is no other one */
static bool turn(int *fds)
{
	const int fd = fds[0];

	fds[0] = fds[1];
	fds[1] = fd;
	return fds[0] >= 0;
}

static bool relay(const struct plan *plan, int fd, int next, char *buffer, size_t len,
		  struct done *done)
{
	ssize_t n = get(plan, fd, buffer, len, done);

	return n > 0 && put(plan, next, buffer, n, done);
}

/* ---- steps ---- */

/* fds: the connection, and its next one. false: that was the end */
static bool run_step(const struct plan *plan, const struct step *step, int *fds, char *buffer,
		     struct done *done)
{
	uint64_t ns = step->n * NSEC_PER_MSEC;
	const int fd = fds[0];

	switch (step->op) {
	case OP_WRITE:
		return put_all(plan, fd, buffer, step->n, done);
	case OP_READ:
		return get_all(plan, fd, buffer, step->n, done);
	case OP_SOME:
		return get(plan, fd, buffer, step->n, done) > 0;
	case OP_DRAIN:
		while (get(plan, fd, buffer, CALL_MAX, done) > 0);
		return !done->error;
	case OP_SLEEP:
		wait_until(plan, plan_now() + ns, done);
		break;
	case OP_EVERY:
		if (ns)
			wait_until(plan, plan_now() + ns - (plan_now() - done->begin) % ns, done);
		break;
	case OP_MARK:
		if (done->marks < MARKS_MAX)
			done->mark[done->marks++] = plan_now();
		break;
	case OP_BARRIER:
		if (plan->barrier)
			pthread_barrier_wait(plan->barrier);
		break;
	case OP_RELAY:
		return fds[1] >= 0 && relay(plan, fd, fds[1], buffer, step->n, done);
	case OP_TURN:
		return turn(fds);
	default:
		break;
	}
	return !stopped(plan);
}

static bool goes_on(const struct plan *plan, const struct frame *frame, const struct done *done)
{
	const struct step *loop = &plan->step[frame->step];

	if (loop->op == OP_UNTIL)
		return plan_now() - done->begin < loop->n * NSEC_PER_MSEC;
	return !loop->n || frame->left >= 1;
}

void plan_run(const struct plan *plan, int fd, int next, struct done *done)
{
	int fds[] = { fd, next };
	struct frame frame[DEPTH_MAX];
	char *buffer = calloc(1, CALL_MAX);
	int depth = 0;

	done->begin = plan_now();
	if (!buffer)
		done->error = ENOMEM;
	for (int at = 0; buffer && at < plan->count; at++) {
		const struct step *step = &plan->step[at];

		if (step->op == OP_LOOP || step->op == OP_UNTIL) {
			frame[depth++] = (struct frame){ .step = at, .left = step->n };
		} else if (step->op == OP_END) {
			frame[depth - 1].left--;
		} else {
			if (!run_step(plan, step, fds, buffer, done))
				break;
			continue;
		}
		/* At either end of the innermost loop: once more, or on behind it. */
		at = frame[depth - 1].step;
		if (!goes_on(plan, &frame[depth - 1], done)) {
			at = plan->step[at].other;
			depth--;
		}
	}
	done->end = plan_now();
	free(buffer);
}
