/* SPDX-License-Identifier: Apache-2.0 */
#include "host/cap.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"

void cap_vec_init(struct cap_vec *caps)
{
	memset(caps, 0, sizeof(*caps));
	vec_init(caps, HOST_CAPS_MAX);
}

void cap_vec_release(struct cap_vec *caps)
{
	if (caps)
		vec_release(caps);
}

void cap_add(struct cap_vec *caps, const char *area, const char *name, enum cap_state state,
	     const char *takes, const char *fmt, ...)
{
	struct cap cap = { .area = area, .state = state };
	va_list args;
	int err;

	if (state != CAP_YES)
		cap.takes = takes;
	snprintf(cap.name, sizeof(cap.name), "%s", name);
	va_start(args, fmt);
	vsnprintf(cap.found, sizeof(cap.found), fmt, args);
	va_end(args);
	err = vec_push(caps, cap);
	if (err && !caps->error)
		caps->error = err;
}

void cap_without(struct cap_vec *caps, const char *without)
{
	struct cap *last = caps->len ? &caps->items[caps->len - 1] : NULL;

	if (last && last->state != CAP_YES)
		last->without = without;
}
