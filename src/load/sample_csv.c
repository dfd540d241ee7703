/* SPDX-License-Identifier: Apache-2.0 */
#include "load/sample_csv.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "report/human.h"

#define FLOW_AGENT(id) ((id) >> 26)
#define FLOW_NUMBER(id) ((id) & 0x3ffffffU)

void sample_csv_init(struct sample_csv *csv)
{
	*csv = (struct sample_csv){ .n_flows = 0 };
	for (int i = 0; i < LOAD_AGENTS_MAX; i++)
		vec_init(&csv->flows[i], LOAD_FLOWS_MAX);
}

void sample_csv_release(struct sample_csv *csv)
{
	for (int i = 0; i < LOAD_AGENTS_MAX; i++)
		vec_release(&csv->flows[i]);
}

/*
 * Extends an agent's list of connection addresses to `len` entries. Returns 0, -ENOMEM, or -E2BIG
 * above LOAD_FLOWS_MAX.
 */
static int sample_csv_reserve(struct sample_csv *csv, struct load_flows *flows, uint32_t len)
{
	const uint32_t more = len - (uint32_t)flows->len;
	int err = more > LOAD_FLOWS_MAX - csv->n_flows ? -E2BIG : vec_reserve(flows, len);

	if (err)
		return err;
	memset(&flows->items[flows->len], 0, more * sizeof(flows->items[0]));
	flows->len = len;
	csv->n_flows += more;
	return 0;
}

int sample_csv_add_flow(struct sample_csv *csv, const struct event *event)
{
	struct event_flow flow;
	struct load_flows *flows;
	uint32_t n;
	int err;

	event_copy(event, &flow, sizeof(flow));
	flows = &csv->flows[FLOW_AGENT(flow.id)];
	n = FLOW_NUMBER(flow.id);
	err = n < flows->len ? 0 : sample_csv_reserve(csv, flows, n + 1);
	if (err == -E2BIG) {
		csv->flows_full = true;
		return 0;
	}
	if (!err)
		flows->items[n] = flow;
	return err;
}

static void sample_csv_put_address(struct strbuf *out, const struct event_flow *flow,
				   const void *address, uint16_t port)
{
	char text[HUMAN_ADDRESS_MAX];

	if (human_address(text, flow->family, address, port))
		strbuf_puts(out, text);
}

static void sample_csv_put_flow(struct sample_csv *csv, uint32_t id, struct strbuf *out)
{
	static const struct event_flow unknown;
	const struct load_flows *flows = &csv->flows[FLOW_AGENT(id)];
	const struct event_flow *flow = FLOW_NUMBER(id) < flows->len
						? &flows->items[FLOW_NUMBER(id)] : &unknown;

	csv->unaddressed += flow == &unknown && csv->flows_full;
	if (flow->netns_cookie)
		strbuf_printf(out, "%" PRIu64, (uint64_t)flow->netns_cookie);
	strbuf_putc(out, ',');
	sample_csv_put_address(out, flow, flow->local, flow->local_port);
	strbuf_putc(out, ',');
	sample_csv_put_address(out, flow, flow->remote, flow->remote_port);
}

/* Writes the time `from` + `distance`; an empty cell if `distance` is 0 (unknown). */
static void sample_csv_put_after(struct strbuf *out, uint64_t from, uint32_t distance)
{
	if (distance)
		strbuf_printf(out, "%" PRIu64, from + distance);
	strbuf_putc(out, ',');
}

static void sample_csv_put_before(struct strbuf *out, uint64_t to, uint32_t distance)
{
	if (distance)
		strbuf_printf(out, "%" PRIu64, to - distance);
	strbuf_putc(out, ',');
}

static const char *sample_csv_status(const struct event_sample *s)
{
	if (!(s->flags & SAMPLE_FAILED))
		return "ok";
	if (s->flags & SAMPLE_UNSENT)
		return "unsent";
	return s->flags & SAMPLE_TIMEOUT ? "timeout" : "failed";
}

/* Writes the names of a sample's flags, separated by spaces. */
static void sample_csv_put_flags(struct strbuf *out, uint16_t flags)
{
	static const struct {
		uint16_t flag;
		const char *name;
	} names[] = {
		{ SAMPLE_NIC_TX, "nic-tx" },	 { SAMPLE_NIC_RX, "nic-rx" },
		{ SAMPLE_WARMUP, "warmup" },	 { SAMPLE_CENSORED, "censored" },
		{ SAMPLE_ASLEEP, "asleep" },	 { SAMPLE_RETRANSMIT, "retransmit" },
		{ SAMPLE_PROBE, "probe" },	 { SAMPLE_RESENT, "resent" },
	};
	const char *between = "";

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!(flags & names[i].flag))
			continue;
		strbuf_printf(out, "%s%s", between, names[i].name);
		between = " ";
	}
}

void sample_csv_put(struct sample_csv *csv, const struct event_sample *s, struct strbuf *out)
{
	strbuf_printf(out, "%" PRIu64 ",", (uint64_t)s->intended);
	if (!(s->flags & SAMPLE_UNSENT))
		strbuf_printf(out, "%" PRIu64, (uint64_t)s->sent);
	strbuf_putc(out, ',');
	sample_csv_put_after(out, s->sent, s->sched_ns);
	sample_csv_put_after(out, s->sent, s->snd_ns);
	sample_csv_put_after(out, s->sent, s->ack_ns);
	sample_csv_put_after(out, s->sent, s->server_in_ns);
	sample_csv_put_before(out, s->done, s->server_out_ns);
	sample_csv_put_before(out, s->done, s->rx_ns);
	sample_csv_put_before(out, s->done, s->wake_ns);
	strbuf_printf(out, "%" PRIu64 ",%" PRIu32 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",",
		      (uint64_t)s->done, (uint32_t)s->tx_bytes, (uint32_t)s->rx_bytes,
		      (uint64_t)s->tx_offset, (uint64_t)s->rx_offset);
	sample_csv_put_flow(csv, s->flow, out);
	strbuf_printf(out, ",%u,%s,", s->type, sample_csv_status(s));
	sample_csv_put_flags(out, s->flags);
	strbuf_putc(out, '\n');
}
