/* SPDX-License-Identifier: Apache-2.0 */
#include "load/parts.h"

static const char *const words[LOAD_PARTS] = {
	[PART_CLIENT_QUEUE] = "client queue",
	[PART_TRANSMIT] = "tx stack",
	[PART_WIRE_SERVER] = "wire + server",
	[PART_RECEIVE] = "rx stack",
	[PART_WAKEUP] = "wakeup",
	[PART_UNEXPLAINED] = "unexplained",
};

const char *load_part_words(enum load_part part)
{
	return words[part];
}

static bool both_stamps(const struct event_sample *sample)
{
	const uint64_t outside = (uint64_t)sample->snd_ns + sample->rx_ns;

	return sample->snd_ns && sample->rx_ns && outside <= sample->done - sample->sent;
}

bool load_kernel_ns(const struct event_sample *sample, uint64_t *ns)
{
	if (sample->flags & SAMPLE_CENSORED || !both_stamps(sample))
		return false;
	*ns = sample->done - sample->sent - sample->snd_ns - sample->rx_ns;
	return true;
}

bool load_kernel_censored(const struct event_sample *sample)
{
	return sample->flags & SAMPLE_CENSORED && both_stamps(sample);
}

/*
 * Splits the time from the reply's receive stamp to its read into PART_WAKEUP and PART_RECEIVE, at
 * the time when the reading thread woke up.
 */
static void divide_receive(const struct event_sample *sample, uint64_t out[LOAD_PARTS])
{
	uint64_t wakeup = 0;

	if (sample->flags & SAMPLE_ASLEEP && sample->wake_ns && sample->wake_ns < sample->rx_ns)
		wakeup = sample->rx_ns - sample->wake_ns;
	out[PART_WAKEUP] = wakeup;
	out[PART_RECEIVE] = sample->rx_ns - wakeup;
}

void load_parts(const struct event_sample *sample, uint64_t out[LOAD_PARTS])
{
	const uint64_t total = sample->done - sample->sent;
	/* SAMPLE_CENSORED: the receive stamp belongs to a later reply and is not used. */
	const uint64_t rx_ns = sample->flags & SAMPLE_CENSORED ? 0 : sample->rx_ns;
	uint64_t wire;

	for (int i = 0; i < LOAD_PARTS; i++)
		out[i] = 0;
	out[PART_CLIENT_QUEUE] = sample->sent - sample->intended;
	if (load_kernel_ns(sample, &wire)) {
		/* For a request sent twice, the time before the second send is unexplained. */
		if (sample->flags & SAMPLE_RESENT)
			out[PART_UNEXPLAINED] = sample->snd_ns;
		else
			out[PART_TRANSMIT] = sample->snd_ns;
		out[PART_WIRE_SERVER] = wire;
		divide_receive(sample, out);
	} else if (sample->snd_ns && !rx_ns && sample->snd_ns <= total &&
		   !(sample->flags & SAMPLE_RESENT)) {
		out[PART_TRANSMIT] = sample->snd_ns;
		out[PART_UNEXPLAINED] = total - sample->snd_ns;
	} else if (rx_ns && !sample->snd_ns && rx_ns <= total) {
		divide_receive(sample, out);
		out[PART_UNEXPLAINED] = total - rx_ns;
	} else {
		out[PART_UNEXPLAINED] = total; /* stamps are missing or contradict each other */
	}
}
