/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into hostlat: a kernel that refuses some of bpf(2), as policies do.
 *
 * HOSTLAT_REFUSE: terms between commas; a call that any of them fits fails.
 *	command=N     a command of bpf(2)
 *	program=NAME  a program that is loaded under this name
 *	type=T/A      programs of type T with expected attach type A
 *	hook=T/A/ID   ... and for this BTF type: one tracepoint, function or iterator
 *	map=T         maps of type T
 * HOSTLAT_REFUSE_ERRNO: with what, 1 (EPERM) if it is not set.
 * HOSTLAT_ATTACH_MS: each attachment of a program takes so much longer.
 * HOSTLAT_REFUSE_LOG: a file to which a line goes for each command, program and map that was asked
 * for, in these terms; a program has two.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TERMS 4
#define TERM_MAX 80

/* A call, in the terms that fit it. */
struct asked {
	char term[TERMS][TERM_MAX];
};

static void describe(long command, const union bpf_attr *attr, struct asked *a)
{
	memset(a, 0, sizeof(*a));
	snprintf(a->term[0], TERM_MAX, "command=%ld", command);
	if (command == BPF_PROG_LOAD) {
		snprintf(a->term[1], TERM_MAX, "program=%.15s", attr->prog_name);
		snprintf(a->term[2], TERM_MAX, "type=%u/%u", attr->prog_type,
			 attr->expected_attach_type);
		snprintf(a->term[3], TERM_MAX, "hook=%u/%u/%u", attr->prog_type,
			 attr->expected_attach_type, attr->attach_btf_id);
	} else if (command == BPF_MAP_CREATE) {
		snprintf(a->term[1], TERM_MAX, "map=%u", attr->map_type);
	}
}

static void log_terms(const struct asked *a)
{
	const char *path = getenv("HOSTLAT_REFUSE_LOG");
	int fd = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
	char line[2 * TERM_MAX];

	if (fd < 0)
		return;
	snprintf(line, sizeof(line), "%s%s%s\n", a->term[a->term[1][0] ? 1 : 0],
		 a->term[3][0] ? " " : "", a->term[3]);
	if (write(fd, line, strlen(line)) < 0)
		abort();
	close(fd);
}

static bool is_refused(const struct asked *a)
{
	const char *terms = getenv("HOSTLAT_REFUSE");

	while (terms && *terms) {
		size_t n = strcspn(terms, ",");

		for (int i = 0; i < TERMS; i++)
			if (n && strlen(a->term[i]) == n && !strncmp(a->term[i], terms, n))
				return true;
		terms += n + (terms[n] == ',');
	}
	return false;
}

static void delay_attachment(long command)
{
	const char *ms = getenv("HOSTLAT_ATTACH_MS");

	if (ms && (command == BPF_RAW_TRACEPOINT_OPEN || command == BPF_LINK_CREATE))
		usleep(1000 * atoi(ms));
}

long syscall(long number, ...)
{
	static long (*next)(long number, ...);
	long arg[6];
	va_list args;

	if (!next)
		next = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
	va_start(args, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_bpf) {
		const char *with = getenv("HOSTLAT_REFUSE_ERRNO");
		struct asked a;

		describe(arg[0], (const union bpf_attr *)arg[1], &a);
		log_terms(&a);
		if (is_refused(&a)) {
			errno = with ? atoi(with) : EPERM;
			return -1;
		}
		delay_attachment(arg[0]);
	}
	return next(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
