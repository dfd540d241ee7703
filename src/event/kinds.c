/* SPDX-License-Identifier: Apache-2.0 */
#include "event/kinds.h"

#include <string.h>

#include "stats/buckets.h"

static bool event_is_text(const char *text, size_t size)
{
	return size > 0 && memchr(text, '\0', size) == text + size - 1;
}

static bool event_check_fact(const void *payload, size_t size)
{
	const struct event_fact *fact = payload;

	return sizeof(*fact) + fact->key_size + fact->value_size == size &&
	       event_is_text(fact->text, fact->key_size) &&
	       event_is_text(fact->text + fact->key_size, fact->value_size);
}

static bool event_check_name(const void *payload, size_t size)
{
	const struct event_name *name = payload;

	return name->id != 0 && event_is_text(name->text, size - sizeof(*name));
}

static bool event_check_hist(const void *payload, size_t size)
{
	const struct event_hist *hist = payload;

	(void)size;
	return hist->schema >= BUCKET_SCHEMA_MIN && hist->schema <= BUCKET_SCHEMA_MAX;
}

static bool event_check_culprit(const void *payload, size_t size)
{
	const struct event_culprit *culprit = payload;

	(void)size;
	return memchr(culprit->comm, '\0', sizeof(culprit->comm)) != NULL;
}

static bool event_check_slow(const void *payload, size_t size)
{
	const struct event_slow *slow = payload;

	(void)size;
	return memchr(slow->comm, '\0', sizeof(slow->comm)) &&
	       memchr(slow->culprit, '\0', sizeof(slow->culprit));
}

static bool event_check_message(const void *payload, size_t size)
{
	const struct event_message *message = payload;
	const struct event_piece *pieces = (const void *)(message + 1);

	(void)size;
	for (uint32_t i = 0; i < message->n; i++) {
		if (pieces[i].end < pieces[i].begin)
			return false;
	}
	return true;
}

static bool event_check_domain(const void *payload, size_t size)
{
	const struct event_domain *domain = payload;

	(void)size;
	return domain->id > 0 && domain->id <= UINT16_MAX;
}

static bool event_check_clock_param(const void *payload, size_t size)
{
	const struct event_clock_param *param = payload;

	(void)size;
	return param->domain > 0 && param->domain <= UINT16_MAX && param->shift < 64;
}

static bool event_check_sample(const void *payload, size_t size)
{
	const struct event_sample *sample = payload;

	(void)size;
	return sample->intended <= sample->done;
}

static bool event_check_noise(const void *payload, size_t size)
{
	const struct event_noise *noise = payload;

	(void)size;
	return noise->begin <= noise->end;
}

static bool event_check_conn(const void *payload, size_t size)
{
	const struct event_conn *conn = payload;

	(void)size;
	return conn->from <= conn->to;
}

static bool event_check_call(const void *payload, size_t size)
{
	const struct event_call *call = payload;

	(void)size;
	return call->direction < DIR_MAX && call->state < CONN_AT_MAX && call->seq > 0;
}

#define PLAIN(type) .version = 1, .size = sizeof(struct type), .least = sizeof(struct type)
/*
 * A kind whose struct was extended by `member` and those after it, which older files lack:
 * consumers use event_copy().
 */
#define GROWN(type, member)                                                                        \
	.version = 1, .size = sizeof(struct type), .least = offsetof(struct type, member)
#define ARRAY(type, item)                                                                          \
	PLAIN(type), .item_size = sizeof(struct item), .item_count_at = offsetof(struct type, n)

static const struct event_kind_info infos[EV_KIND_MAX] = {
	[EV_FACT] = { PLAIN(event_fact), .check = event_check_fact },
	[EV_NAME] = { PLAIN(event_name), .defines = true, .check = event_check_name },
	[EV_CLOCK] = { PLAIN(event_clock) },
	[EV_HIST] = { ARRAY(event_hist, event_bucket), .check = event_check_hist },
	[EV_COUNT] = { GROWN(event_count, flags) },
	[EV_BINDING] = { PLAIN(event_binding) },
	[EV_SHARE] = { GROWN(event_share, stopped_ns) },
	[EV_CULPRIT] = { PLAIN(event_culprit), .check = event_check_culprit },
	[EV_INTERVAL] = { GROWN(event_interval, one_in) },
	[EV_GROUP] = { ARRAY(event_group, event_label), .defines = true },
	[EV_LOSS] = { PLAIN(event_loss) },
	[EV_DOMAIN] = { PLAIN(event_domain), .defines = true, .check = event_check_domain },
	[EV_CLOCK_PARAM] = { GROWN(event_clock_param, fraction), .defines = true,
			     .check = event_check_clock_param },
	[EV_FLOW] = { PLAIN(event_flow), .defines = true },
	[EV_MESSAGE] = { ARRAY(event_message, event_piece), .bulk = true,
			 .check = event_check_message },
	[EV_LOAD] = { GROWN(event_load, misses) },
	[EV_NOISE] = { PLAIN(event_noise), .check = event_check_noise },
	[EV_SLOW] = { GROWN(event_slow, at_socket_ns), .check = event_check_slow },
	[EV_QUEUE] = { PLAIN(event_queue) },
	[EV_SOFTNET] = { PLAIN(event_softnet) },
	[EV_PRESSURE] = { PLAIN(event_pressure) },
	[EV_TASK] = { PLAIN(event_task) },
	[EV_EDGE] = { PLAIN(event_edge), .bulk = true },
	[EV_SAMPLE] = { GROWN(event_sample, sched_ns), .bulk = true,
			 .check = event_check_sample },
	[EV_CONN] = { GROWN(event_conn, unknown_ns), .bulk = true, .check = event_check_conn },
	[EV_WAKE] = { PLAIN(event_wake), .bulk = true },
	[EV_CALL] = { PLAIN(event_call), .bulk = true, .check = event_check_call },
};

const struct event_kind_info *event_kind_info(uint32_t kind)
{
	return &infos[kind < EV_KIND_MAX ? kind : EV_NONE];
}

/*
 * Returns whether the array fits. It need not end with the payload: a later version may append
 * members, as to a struct without an array.
 */
static bool event_array_fits(const struct event_kind_info *info, const void *payload, size_t size)
{
	uint32_t n;

	memcpy(&n, (const char *)payload + info->item_count_at, sizeof(n));
	return n <= (size - info->size) / info->item_size;
}

enum event_check event_check(uint32_t kind, uint16_t version, const void *payload, size_t size)
{
	const struct event_kind_info *info = event_kind_info(kind);

	if (info->version == 0)
		return EVENT_UNKNOWN;
	if (version > info->version)
		return EVENT_NEWER;
	if (version == 0 || size < info->least)
		return EVENT_INVALID;
	if (info->item_size && !event_array_fits(info, payload, size))
		return EVENT_INVALID;
	if (info->check && !info->check(payload, size))
		return EVENT_INVALID;
	return EVENT_GOOD;
}
