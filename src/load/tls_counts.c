/* SPDX-License-Identifier: Apache-2.0 */
#include "load/tls_counts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/parse.h"

int tls_counts_put(const struct tls_counts *counts, struct event_sink *sink, uint64_t now)
{
	char value[64];

	if (!counts->handshakes)
		return 0;
	snprintf(value, sizeof(value), "%" PRIu64 " %" PRIu64, counts->handshakes,
		 counts->resumed);
	return event_put_fact(sink, now, LOAD_FACT_TLS, value);
}

int tls_counts_add_fact(struct tls_counts *counts, const char *value)
{
	const char *space = strchr(value, ' ');
	uint64_t handshakes, resumed;
	char first[24] = "";

	if (!space || (size_t)(space - value) >= sizeof(first))
		return -EBADMSG;
	memcpy(first, value, (size_t)(space - value));
	if (parse_u64(first, &handshakes) || parse_u64(space + 1, &resumed) ||
	    resumed > handshakes || handshakes > INT64_MAX)
		return -EBADMSG;
	counts->handshakes += handshakes;
	counts->resumed += resumed;
	return 0;
}
