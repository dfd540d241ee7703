/* SPDX-License-Identifier: Apache-2.0 */
#include "load/match.h"

static bool not_after(uint32_t a, uint32_t b)
{
	return (int32_t)(b - a) >= 0;
}

void match_init(struct match *match)
{
	*match = (struct match){};
	list_init(&match->list);
}

void match_expect(struct match *match, struct match_tx *tx, uint32_t last)
{
	unsigned int kind;

	*tx = (struct match_tx){ .last = last };
	list_append(&match->list, &tx->link);
	for (kind = 0; kind < MATCH_KINDS; kind++) {
		if (!match->without[kind])
			match->without[kind] = tx;
	}
}

static struct match_tx *match_next(struct match *match, struct match_tx *tx)
{
	return list_after(&match->list, tx, struct match_tx, link);
}

static void mark_again(struct match *match, uint32_t id)
{
	struct match_tx *tx = list_first(&match->list, struct match_tx, link);

	for (; tx && not_after(tx->last, id); tx = match_next(match, tx)) {
		if (tx->last == id)
			tx->again = true;
	}
}

unsigned int match_stamp(struct match *match, unsigned int kind, uint32_t id, uint64_t ns)
{
	struct match_tx *tx;
	unsigned int n = 0;

	for (tx = match->without[kind]; tx && not_after(tx->last, id); tx = match_next(match, tx)) {
		tx->ns[kind] = ns;
		n++;
	}
	match->without[kind] = tx;
	if (!n)
		mark_again(match, id);
	return n;
}

void match_forget(struct match *match, struct match_tx *tx)
{
	unsigned int kind;

	if (!tx->link.next)
		return;
	for (kind = 0; kind < MATCH_KINDS; kind++) {
		if (match->without[kind] == tx)
			match->without[kind] = match_next(match, tx);
	}
	list_remove(&tx->link);
}

uint32_t match_distance(uint64_t from, uint64_t to, uint64_t error)
{
	if (!from || !to || to + error < from)
		return 0;
	if (to <= from)
		return 1;
	return to - from > UINT32_MAX ? 0 : to - from;
}

bool match_place(uint64_t sent, uint64_t done, uint64_t at, uint64_t error, uint64_t length,
		 uint32_t *before, uint32_t *after)
{
	uint64_t first, last, begin;

	if (done < sent + 2 || length > done - sent - 2)
		return false;
	first = sent + 1;
	last = done - 1 - length;
	begin = at < first ? first : at > last ? last : at;
	if ((begin > at ? begin - at : at - begin) > error || begin - sent > UINT32_MAX ||
	    done - begin - length > UINT32_MAX)
		return false;
	*before = begin - sent;
	*after = done - begin - length;
	return true;
}
