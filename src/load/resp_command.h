/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of Redis that users write as text, "[WEIGHT:]WORD ...": words as in a shell, with the
 * placeholders of load/template.h. Each request is one of the commands, drawn by weight. Parsed
 * once, then immutable, so that threads share them.
 *
 * 	'single quotes'   everything as it stands
 * 	"double quotes"   \n, \r, \t, \xHH, \" and \\ are one byte, as in redis-cli
 * 	\                 outside of quotes, the next character as it stands
 */
#ifndef HOSTLAT_LOAD_RESP_COMMAND_H
#define HOSTLAT_LOAD_RESP_COMMAND_H

#include "base/opt.h"
#include "base/strbuf.h"
#include "load/protocol.h"
#include "load/workload.h"

#define RESP_COMMAND_TEXT_MAX 4096 /* bytes of a command's text */
#define RESP_REQUEST_MAX (1UL << 30) /* bytes of an encoded command, at most */

struct resp_commands;

/*
 * Parses commands. Returns 0; -EINVAL with a sentence in `why`, or -ENOMEM. Without commands, *out
 * becomes NULL.
 */
int resp_commands_new(struct resp_commands **out, const struct opt_list *texts,
		      struct strbuf *why);
void resp_commands_free(struct resp_commands *commands);

/* Returns a mask of the workload settings that the commands use (enum workload_setting). */
uint32_t resp_commands_settings(const struct resp_commands *commands);

/*
 * Computes the size in bytes of the largest request with values of this workload. Returns 0, or
 * -EINVAL with a sentence in `why` if it is above RESP_REQUEST_MAX.
 */
int resp_commands_size(const struct resp_commands *commands, const struct workload *workload,
		       size_t *size, struct strbuf *why);

/* Writes the first key of a request of workload->commands, as protocol_key(). */
size_t resp_command_key(const struct workload *workload, struct rng *rng, uint64_t number,
			char *to);

/* Encodes a request of workload->commands, as `encode` of struct protocol. */
int resp_command_encode(const struct workload *workload, struct rng *rng, void *buffer, size_t cap,
			struct encoded_request *out);

#endif
