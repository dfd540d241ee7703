/* SPDX-License-Identifier: Apache-2.0 */
#include "load/addresses.h"

#include <string.h>

#include "load/setup.h"

static void addresses_find_used(const struct addresses *a, const struct load_target *target,
				bool used[NET_ADDRESSES_MAX])
{
	for (const struct load_thread *t = a->threads; t < a->threads + a->n_threads; t++) {
		for (uint32_t i = 0; i < t->n_conns; i++) {
			const struct load_conn *c = &t->conns[i];

			if (c->target == target)
				used[c->address % target->n_addresses] = true;
		}
	}
}

/* Puts an EV_FACT event per address used for a host name, unless the URL shows the address. */
static int addresses_put_used(const struct addresses *a, const struct load_target *target,
			      struct event_sink *sink)
{
	bool used[NET_ADDRESSES_MAX] = { false };
	struct strbuf text = STRBUF_INIT(1024);
	int err = 0;

	addresses_find_used(a, target, used);
	for (uint32_t i = 0; i < target->n_addresses && !err; i++) {
		if (!used[i])
			continue;
		strbuf_reset(&text);
		net_address_text(&target->addresses[i], &text);
		if (strstr(strbuf_str(&text), target->host))
			continue;
		strbuf_reset(&text);
		strbuf_printf(&text, "%s is ", target->host);
		net_address_text(&target->addresses[i], &text);
		err = event_put_fact(sink, clock_now(), LOAD_FACT_ADDRESS, strbuf_str(&text));
	}
	strbuf_release(&text);
	return err;
}

/* Puts an EV_FACT event per address to which no connection could be opened. */
static int addresses_put_dead(const struct load_target *target, struct event_sink *sink)
{
	struct strbuf text = STRBUF_INIT(1024);
	int err = 0;

	for (uint32_t i = 0; i < target->n_addresses && !err; i++) {
		if (!target->errors[i])
			continue;
		strbuf_reset(&text);
		net_address_text(&target->addresses[i], &text);
		strbuf_printf(&text, " of %s: %s", target->host,
			      strerror(-target->errors[i]));
		err = event_put_fact(sink, clock_now(), LOAD_FACT_DEAD_ADDRESS,
				     strbuf_str(&text));
	}
	strbuf_release(&text);
	return err;
}

int addresses_put(const struct addresses *a, struct event_sink *sink)
{
	int err = 0;

	for (const struct load_target *t = a->targets; t < a->targets + a->n_targets; t++) {
		if (err || !t->n_addresses || t->target.unix_socket)
			continue;
		err = addresses_put_used(a, t, sink);
		if (!err && t->n_addresses > 1)
			err = addresses_put_dead(t, sink);
	}
	return err;
}
