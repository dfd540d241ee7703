/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the data plane alone: loadrun [KEY=VALUE...] URL... KEYs are below. Checks what must hold
 * at every tick, prints what it counted as one JSON object, and with samples=FILE each sample as a
 * line of numbers. Exit code 1: something that must hold doesn't; 2: it could not run.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "base/stop.h"
#include "base/vec.h"
#include "clock/clock.h"
#include "load/engine.h"

#define VALUES_MAX (1 << 26)
#define RUN_MAX_NS (600 * NS_PER_S)

struct values VEC_OF(uint64_t);
struct span {
	uint64_t begin, end;
};
struct spans VEC_OF(struct span);

static const char *broken;
static bool collect = true; /* collect=0: only count, for benches of the data plane's own cost */
static FILE *sample_file;
static struct values lags, quiet_lags, latencies, wires;
static struct spans sends, gaps; /* from intended to sent; when a thread didn't run */
static struct event_load final;
static uint64_t n_samples, n_failed, n_flows, n_clocks, gap_ns, n_gaps, longest_gap;
static uint64_t flags_seen[16], noise_seen[NOISE_MAX], ticks;
static uint64_t last_done[LOAD_THREADS_MAX * LOAD_AGENTS_MAX];

static void must(bool holds, const char *what)
{
	if (!holds && !broken)
		broken = what;
}

static int by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t quantile(struct values *v, double q)
{
	if (!v->len)
		return 0;
	qsort(v->items, v->len, sizeof(v->items[0]), by_value);
	return v->items[(size_t)(q * (v->len - 1))];
}

/* Looks in one thread's gaps, which are in order and do not overlap. */
static bool in_gap(const struct span *send)
{
	size_t lo = 0, hi = gaps.len;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (gaps.items[mid].begin < send->end)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && gaps.items[lo - 1].end > send->begin;
}

static int by_begin(const void *a, const void *b)
{
	return by_value(&((const struct span *)a)->begin, &((const struct span *)b)->begin);
}

/* Requests that queued behind one that a gap delayed are late by the same gap. */
static void find_quiet_lags(void)
{
	uint64_t late_until = 0;

	if (sends.len)
		qsort(sends.items, sends.len, sizeof(sends.items[0]), by_begin);
	vec_for_each(&sends, send) {
		if (in_gap(send) || send->begin < late_until)
			late_until = send->end > late_until ? send->end : late_until;
		else
			must(!vec_push(&quiet_lags, send->end - send->begin), "memory");
	}
}

static void take_sample(const struct event_sample *s, uint32_t core)
{
	unsigned int bit;

	n_samples++;
	must(s->done >= last_done[core], "samples of a thread are in order of done");
	must(s->intended <= s->sent && s->sent <= s->done, "intended <= sent <= done");
	last_done[core] = s->done;
	for (bit = 0; bit < 16; bit++)
		flags_seen[bit] += s->flags >> bit & 1;
	if (sample_file)
		fprintf(sample_file, "%llu %llu %llu %llu %llu %u %u %u %u %u %u %u %u %u %u %u "
			"%u\n", s->intended, s->sent, s->done, s->tx_offset, s->rx_offset,
			s->tx_bytes, s->rx_bytes, s->flow, s->type, s->flags, s->sched_ns,
			s->snd_ns, s->ack_ns, s->rx_ns, s->wake_ns, s->server_in_ns,
			s->server_out_ns);
	n_failed += s->flags & SAMPLE_FAILED ? 1 : 0;
	if (s->flags & SAMPLE_FAILED || !collect)
		return;
	must(!vec_push(&lags, s->sent - s->intended), "memory");
	must(!vec_push(&sends, (struct span){ s->intended, s->sent }), "memory");
	must(!vec_push(&latencies, s->done - s->intended), "memory");
	if (s->snd_ns && s->rx_ns && !(s->flags & SAMPLE_CENSORED))
		must(!vec_push(&wires, s->done - s->rx_ns - s->sent - s->snd_ns), "memory");
}

static void take_load(const struct event_load *l)
{
	ticks++;
	must(l->scheduled == l->completed + l->failed + l->unsent + l->in_flight, "balance");
	must(l->completed + l->failed == n_samples + l->samples_lost, "samples before their tick");
	must(l->failed == l->timeouts + l->resets + l->refused + l->garbled, "reasons");
	must(l->misses <= l->completed && l->flags & LOAD_MISSES, "misses are completed");
	must(l->scheduled >= final.scheduled, "scheduled grows");
	must(!(final.flags & LOAD_FINAL), "nothing comes after the last tick");
	final = *l;
}

static void take_event(const struct event *e)
{
	const struct event_noise *noise = e->payload;

	if (e->kind == EV_LOAD)
		take_load(e->payload);
	n_flows += e->kind == EV_FLOW;
	n_clocks += e->kind == EV_CLOCK;
	if (e->kind != EV_NOISE)
		return;
	noise_seen[noise->what] += noise->amount;
	if (noise->what == NOISE_GAP) {
		n_gaps++;
		must(!vec_push(&gaps, (struct span){ noise->begin, noise->end }), "memory");
		gap_ns += noise->amount;
		longest_gap = noise->amount > longest_gap ? noise->amount : longest_gap;
	}
}

static void take(const struct event_block *block)
{
	struct event event;
	size_t at = 0;
	uint32_t i;

	if (block->kind == EV_SAMPLE) {
		for (i = 0; i < block->count; i++)
			take_sample((const void *)((const char *)block->data +
						   i * block->record_size), block->core);
		return;
	}
	while (event_block_next(block, &at, &event))
		take_event(&event);
}

static uint64_t number(const char *text)
{
	uint64_t value;

	if (parse_u64(text, &value) && parse_duration(text, &value)) {
		fprintf(stderr, "loadrun: '%s' is not a number\n", text);
		exit(2);
	}
	return value;
}

static const struct {
	const char *key;
	size_t at, size;
} keys[] = {
#define KEY(name, member)                                                                          \
	{ name, offsetof(struct load_config, member),                                              \
	  sizeof(((struct load_config *)0)->member) }
	KEY("loop", loop), KEY("stamps", stamps), KEY("role", role),
	KEY("connections", connections),
	KEY("outstanding", outstanding), KEY("threads", threads), KEY("agent", agent),
	KEY("churn", requests_per_connection), KEY("duration", duration_ns),
	KEY("timeout", timeout_ns), KEY("drain", drain_ns), KEY("seed", seed), KEY("pin", pin),
	KEY("spin", spin), KEY("preload", preload), KEY("insecure", insecure),
};

static void set(struct load_config *config, const char *arg)
{
	const char *value = strchr(arg, '=') + 1;
	uint64_t n;
	size_t i;

	if (!strncmp(arg, "arrival=", 8))
		config->arrival = value;
	else if (!strncmp(arg, "workload=", 9))
		config->workload = value;
	else if (!strncmp(arg, "ca=", 3))
		config->ca_file = value;
	else if (!strncmp(arg, "samples=", 8))
		sample_file = fopen(value, "w");
	else if (!strncmp(arg, "collect=", 8))
		collect = number(value);
	else if (!strncmp(arg, "rate=", 5))
		config->rate = number(value);
	for (i = 0; i < ARRAY_LEN(keys); i++) {
		if (strncmp(arg, keys[i].key, value - arg - 1) || keys[i].key[value - arg - 1])
			continue;
		n = number(value);
		memcpy((char *)config + keys[i].at, &n, keys[i].size);
	}
}

static void print(void)
{
	printf("{\"scheduled\": %llu, \"completed\": %llu, \"failed\": %llu, \"unsent\": %llu, "
	       "\"in_flight\": %llu, \"misses\": %llu, \"timeouts\": %llu, \"resets\": %llu, "
	       "\"refused\": %llu, \"garbled\": %llu, \"connects\": %llu, "
	       "\"samples_lost\": %llu, \"stamps_missing\": %llu, \"bytes_sent\": %llu, "
	       "\"bytes_received\": %llu, \"cpu_ns\": %llu, \"spin_ns\": %llu, \"flags\": %u, "
	       "\"open\": %llu, ",
	       final.scheduled, final.completed, final.failed, final.unsent, final.in_flight,
	       final.misses, final.timeouts, final.resets, final.refused, final.garbled,
	       final.connects, final.samples_lost, final.stamps_missing, final.bytes_sent,
	       final.bytes_received, final.cpu_ns, final.spin_ns, final.flags,
	       final.open_connections);
	printf("\"ticks\": %" PRIu64 ", \"samples\": %" PRIu64 ", \"failed_samples\": %" PRIu64
	       ", \"flows\": %" PRIu64 ", \"clocks\": %" PRIu64 ", \"gaps\": %" PRIu64
	       ", \"gap_ns\": %" PRIu64 ", \"longest_gap_ns\": %" PRIu64 ", ", ticks, n_samples,
	       n_failed, n_flows, n_clocks, n_gaps, gap_ns, longest_gap);
	printf("\"steal_ns\": %" PRIu64 ", \"softirq_ns\": %" PRIu64 ", \"preempted_ns\": %" PRIu64
	       ", \"censored\": %" PRIu64 ", \"asleep\": %" PRIu64 ", \"retransmitted\": %" PRIu64
	       ", \"unsent_samples\": %" PRIu64 ", ", noise_seen[NOISE_STEAL],
	       noise_seen[NOISE_SOFTIRQ], noise_seen[NOISE_PREEMPTED], flags_seen[4], flags_seen[5],
	       flags_seen[6], flags_seen[9]);
	find_quiet_lags();
	printf("\"quiet_lag_ns\": [%" PRIu64 ", %" PRIu64 "], \"quiet_sends\": %zu, ",
	       quantile(&quiet_lags, .5), quantile(&quiet_lags, .99), quiet_lags.len);
	printf("\"lag_ns\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64 "], \"latency_ns\": [%" PRIu64
	       ", %" PRIu64 ", %" PRIu64 "], \"kernel_ns\": [%" PRIu64 ", %" PRIu64 ", %" PRIu64
	       "], \"broken\": \"%s\"}\n", quantile(&lags, .5), quantile(&lags, .99),
	       quantile(&lags, 1), quantile(&latencies, .5), quantile(&latencies, .99),
	       quantile(&latencies, 1), quantile(&wires, .5), quantile(&wires, .99),
	       quantile(&wires, 1), broken ? broken : "");
}

static int run(struct load_engine *engine, int stop_fd)
{
	struct event_source *source = load_engine_source(engine);
	struct event_block block;
	uint64_t begin = clock_mono_ns(clock_system());
	bool stopping = false;
	int ret = 0;

	ret = load_engine_start(engine, begin + 10 * NS_PER_MS);
	while (!ret && !(final.flags & LOAD_FINAL)) {
		if (load_engine_wait(engine, stopping ? -1 : stop_fd, NS_PER_S) == -EINTR) {
			load_engine_stop(engine);
			stopping = true;
		}
		while ((ret = event_source_next(source, &block)) > 0)
			take(&block);
		if (clock_mono_ns(clock_system()) - begin > RUN_MAX_NS) {
			must(false, "it ends");
			break;
		}
	}
	must(event_source_next(source, &block) == 0, "nothing follows the end");
	return ret;
}

int main(int argc, char **argv)
{
	struct load_config config = {
		.rate = 1000, .arrival = "poisson",
		.connections = 1, .outstanding = 1, .threads = 1,
		.duration_ns = NS_PER_S, .timeout_ns = NS_PER_S, .drain_ns = NS_PER_S, .seed = 1,
	};
	struct strbuf why = STRBUF_INIT(4096);
	struct load_engine *engine = NULL;
	struct stop stop;
	int i, err;

	for (i = 1; i < argc; i++) {
		if (strchr(argv[i], '=') && !strchr(argv[i], '/'))
			set(&config, argv[i]);
		else if (!strncmp(argv[i], "samples=", 8) || !strncmp(argv[i], "ca=", 3) ||
			 !strncmp(argv[i], "workload=", 9) || !strncmp(argv[i], "arrival=", 8))
			set(&config, argv[i]);
		else
			config.targets[config.n_targets++] = argv[i];
	}
	vec_init(&lags, VALUES_MAX);
	vec_init(&quiet_lags, VALUES_MAX);
	vec_init(&sends, VALUES_MAX);
	vec_init(&gaps, VALUES_MAX);
	vec_init(&latencies, VALUES_MAX);
	vec_init(&wires, VALUES_MAX);
	err = stop_init(&stop);
	if (!err)
		err = load_engine_new(&engine, &config, &why);
	if (!err)
		err = load_engine_connect(engine, stop.fd, &why);
	if (!err) {
		fprintf(stderr, "running\n");
		err = run(engine, stop.fd);
	}
	load_engine_free(engine);
	if (err)
		fprintf(stderr, "loadrun: %s (%s)\n", strbuf_str(&why), strerror(-err));
	else
		print();
	if (sample_file)
		fclose(sample_file);
	strbuf_release(&why);
	vec_release(&lags);
	vec_release(&quiet_lags);
	vec_release(&sends);
	vec_release(&gaps);
	vec_release(&latencies);
	vec_release(&wires);
	return err ? 2 : broken ? 1 : 0;
}
