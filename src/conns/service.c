/* SPDX-License-Identifier: Apache-2.0 */
#include "conns/service.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "conns/conn_share.h"
#include "stats/special.h"

/* Address and port that a service's connections have in common; no padding: compared. */
struct service_key {
	uint8_t address[16];
	uint64_t netns_cookie;
	uint16_t family, port;
	uint32_t accepted;
};

/* Hash table from keys to services, open addressing: index + 1; 0: free. */
struct service_table {
	uint32_t *slots;
	size_t n_slots;                /* power of two */
	struct service_key *keys;      /* by service */
};

static struct service_key service_key_of(const struct event_flow *f, const struct event_conn *e)
{
	const bool accepted = e->flags & CONN_ACCEPTED;
	struct service_key key = {
		.family = f->family, .accepted = accepted, .netns_cookie = f->netns_cookie,
		.port = accepted ? f->local_port : f->remote_port,
	};

	_Static_assert(sizeof(key) == sizeof(key.address) + 2 * sizeof(uint64_t),
		       "compared as bytes");
	memcpy(key.address, accepted ? f->local : f->remote, sizeof(key.address));
	return key;
}

static size_t service_slot(const struct service_table *t, const struct service_key *key)
{
	size_t at = hash_bytes(key, sizeof(*key)) & (t->n_slots - 1);

	while (t->slots[at] && memcmp(&t->keys[t->slots[at] - 1], key, sizeof(*key)) != 0)
		at = (at + 1) & (t->n_slots - 1);
	return at;
}

uint64_t service_lost(const struct event_conn *e)
{
	return conn_all_spurious(e) ? 0 : conn_retransmitted(e) - conn_spurious(e);
}

/* Returns how often segments were lost, however many at once: each is one event for chance. */
static uint64_t service_episodes(const struct event_conn *e)
{
	const uint64_t lost = service_lost(e), times = (uint64_t)e->recoveries + e->rto + e->tlp;

	return lost && !times ? 1 : lost < times ? lost : times;
}

static void service_add(struct conn_service *s, const struct event_conn *e)
{
	double n, of_none = -1; /* all shares of 0 have one number of equal samples */

	s->connections++;
	for (int which = 0; which < CONN_SHARES; which++) {
		const bool none = !conn_share_hits(e, (enum conn_share_kind)which);
		double share = 0;

		if (!none || of_none < 0)
			share = conn_share_of(e, (enum conn_share_kind)which, &n);
		else
			n = of_none;
		of_none = none ? n : of_none;
		if (n > 0)
			shrink_add(&s->sums[which], share, n);
	}
	s->retransmitted += (double)service_lost(e);
	s->episodes += (double)service_episodes(e);
	s->bytes += (double)e->bytes_sent;
}

static int service_add_conn(const struct conns *c, enum conns_span span, uint32_t conn,
			    struct service_table *t, struct conn_services *out)
{
	const struct event_flow *flow = conns_flow_of(c, &c->all.items[conn]);
	struct event_conn room;
	const struct event_conn *e = flow && flow->family ?
				     conns_record(c, span, &c->all.items[conn], &room) : NULL;
	struct service_key key;
	size_t slot;
	int err;

	if (!e)
		return 0;
	key = service_key_of(flow, e);
	slot = service_slot(t, &key);
	if (!t->slots[slot]) {
		err = vec_push(&out->items, (struct conn_service){ 0 });
		if (err)
			return err;
		t->keys[out->items.len - 1] = key;
		t->slots[slot] = (uint32_t)out->items.len;
	}
	out->of[conn] = t->slots[slot];
	service_add(&out->items.items[t->slots[slot] - 1], e);
	return 0;
}

static int service_add_all(const struct conns *c, enum conns_span span, struct service_table *t,
			   struct conn_services *out)
{
	int err = 0;

	if (span == CONNS_INTERVAL) {
		vec_for_each(&c->interval_records, record)
			if (!err)
				err = service_add_conn(c, span, record->conn, t, out);
		return err;
	}
	for (uint32_t i = 0; i < c->all.len && !err; i++)
		err = service_add_conn(c, span, i, t, out);
	return err;
}

int service_gather(const struct conns *c, enum conns_span span, struct conn_services *out)
{
	const size_t n = span == CONNS_INTERVAL ? c->interval_records.len : c->all.len;
	struct service_table t = { .n_slots = 1 };
	int err;

	*out = (struct conn_services){ .n = c->all.len };
	vec_init(&out->items, n);
	while (t.n_slots < 2 * n + 1)
		t.n_slots *= 2;
	t.slots = calloc(t.n_slots, sizeof(*t.slots));
	t.keys = calloc(n + 1, sizeof(*t.keys));
	out->of = calloc(c->all.len + 1, sizeof(*out->of));
	err = t.slots && t.keys && out->of ? service_add_all(c, span, &t, out) : -ENOMEM;
	free(t.slots);
	free(t.keys);
	if (err)
		return err;
	vec_for_each(&out->items, s)
		for (int which = 0; which < CONN_SHARES; which++)
			s->laws[which] = shrink_fit(&s->sums[which]);
	return 0;
}

void service_release(struct conn_services *services)
{
	vec_release(&services->items);
	free(services->of);
	*services = (struct conn_services){ 0 };
}

const struct conn_service *service_of(const struct conn_services *services, uint32_t conn)
{
	const uint32_t at = conn < services->n && services->of ? services->of[conn] : 0;

	return at ? &services->items.items[at - 1] : NULL;
}

double service_other_losses(const struct conn_service *service, const struct event_conn *e)
{
	const double bytes = service->bytes - (double)e->bytes_sent;

	return bytes > 0 ? fmax(service->retransmitted - (double)service_lost(e), 0) / bytes : 0;
}

double service_loss_chance(const struct conn_service *service, const struct event_conn *e)
{
	const double own = (double)service_episodes(e), bytes = (double)e->bytes_sent;
	const double others = fmax(service->episodes - own, 0);

	if (!(bytes > 0) || !(service->bytes > bytes) || !(own > 0))
		return 1;
	return beta_sf(1 - bytes / service->bytes, others + 1, own);
}
