/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/fleet_store.h"

#include "base/log.h"
#include "fleet/fleet.h"

#define WHY_MAX 4096u

struct store *fleet_store_open(const struct fleet_config *c, enum store_mode mode)
{
	struct strbuf why = STRBUF_INIT(WHY_MAX);
	struct store *store;

	if (store_open(c->store, mode, &store, &why))
		log_error("%s", strbuf_str(&why));
	strbuf_release(&why);
	return store;
}

struct store_shares *fleet_store_shares(struct store_connection *row, unsigned int class)
{
	struct store_shares *const all[FLEET_CLASSES] = {
		[FLEET_SEND_BUFFER] = &row->send_buffer,
		[FLEET_RECEIVER_WINDOW] = &row->receiver_window,
		[FLEET_DELAYED_ACK] = &row->delayed_ack,
		[FLEET_FAST_RETRANSMIT] = &row->fast_retransmit,
		[FLEET_TIMEOUT] = &row->timeout, [FLEET_SENDER_APP] = &row->sender_app,
	};

	return all[class];
}
