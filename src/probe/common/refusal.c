/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/common/refusal.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/lockdown.h"

static char refused[64];

/* Reads libbpf's two messages (since 0.6) that name a refused program or map. */
static int refusal_read_message(enum libbpf_print_level level, const char *format, va_list args)
{
	char line[512], name[64];
	va_list copy;

	if (level != LIBBPF_WARN)
		return 0;
	va_copy(copy, args);
	vsnprintf(line, sizeof(line), format, args);
	if (getenv("HOSTLAT_DEBUG"))
		vfprintf(stderr, format, copy);
	va_end(copy);
	if ((strstr(line, "BPF program load failed") &&
	     sscanf(line, "libbpf: prog '%63[^']'", name) == 1) ||
	    (strstr(line, "failed to create") &&
	     sscanf(line, "libbpf: map '%63[^']'", name) == 1))
		snprintf(refused, sizeof(refused), "%s", name);
	return 0;
}

void refusal_listen(void)
{
	libbpf_set_print(refusal_read_message);
}

const char *refusal_name(void)
{
	return refused;
}

void refusal_forget(void)
{
	refused[0] = '\0';
}

const char *refusal_cause(int err)
{
	const bool may_be = err == -EPERM || err == -EINVAL;

	return may_be && host_is_confidential(NULL) ? ", as " LOCKDOWN_READS : "";
}

static int refusals_append(struct refusals *r, const char *name, const char *what, int err)
{
	struct refusal *it = &r->items[r->n];

	if (r->n == REFUSALS_MAX || refusals_of(r, name))
		return err;
	snprintf(it->name, sizeof(it->name), "%s", name);
	snprintf(it->why, sizeof(it->why), "%s%s (%.60s)", what, refusal_cause(err),
		 strerror(-err));
	r->n++;
	return -EAGAIN;
}

int refusals_load(struct refusals *r, struct bpf_object_skeleton *skeleton)
{
	int err;

	refusal_listen();
	refusal_forget();
	err = bpf_object__load_skeleton(skeleton);
	return err && refused[0] ? refusals_append(r, refused, "refused by this kernel", err) : err;
}

int refusals_add(struct refusals *r, const char *program, int err)
{
	return refusals_append(r, program, "cannot be attached", err);
}

const char *refusals_of(const struct refusals *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (!strcmp(r->items[i].name, name))
			return r->items[i].why;
	return NULL;
}
