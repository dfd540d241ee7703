/* SPDX-License-Identifier: Apache-2.0 */
#include "load/resp_key.h"

#include <string.h>
#include <strings.h>

#include "base/bug.h"

/* Where a command's first key is, unless it is the second word. */
enum resp_key_place {
	NONE,      /* it has no key */
	THIRD = 2, /* behind a subcommand, an operation or a number */
	FOURTH = 3,
	NUMBERED,  /* the fourth word, unless the third, the number of keys, is 0 */
	STREAMS,   /* behind the word STREAMS */
};

static const struct {
	const char *name;
	enum resp_key_place place;
} resp_key_places[] = {
	{ "acl", NONE }, { "asking", NONE }, { "auth", NONE }, { "bgrewriteaof", NONE },
	{ "bgsave", NONE }, { "client", NONE }, { "cluster", NONE }, { "command", NONE },
	{ "config", NONE }, { "dbsize", NONE }, { "discard", NONE }, { "echo", NONE },
	{ "exec", NONE }, { "failover", NONE }, { "flushall", NONE }, { "flushdb", NONE },
	{ "function", NONE }, { "info", NONE }, { "keys", NONE }, { "lastsave", NONE },
	{ "latency", NONE }, { "module", NONE }, { "multi", NONE }, { "ping", NONE },
	{ "publish", NONE }, { "pubsub", NONE }, { "randomkey", NONE }, { "readonly", NONE },
	{ "readwrite", NONE }, { "replicaof", NONE }, { "role", NONE }, { "save", NONE },
	{ "scan", NONE }, { "script", NONE }, { "select", NONE }, { "shutdown", NONE },
	{ "slowlog", NONE }, { "swapdb", NONE }, { "time", NONE }, { "unwatch", NONE },
	{ "wait", NONE }, { "waitaof", NONE },
	{ "bitop", THIRD }, { "debug", THIRD }, { "lmpop", THIRD }, { "memory", THIRD },
	{ "object", THIRD }, { "sintercard", THIRD }, { "xgroup", THIRD }, { "xinfo", THIRD },
	{ "zdiff", THIRD }, { "zinter", THIRD }, { "zintercard", THIRD }, { "zmpop", THIRD },
	{ "zunion", THIRD },
	{ "blmpop", FOURTH }, { "bzmpop", FOURTH }, { "migrate", FOURTH },
	{ "eval", NUMBERED }, { "eval_ro", NUMBERED }, { "evalsha", NUMBERED },
	{ "evalsha_ro", NUMBERED }, { "fcall", NUMBERED }, { "fcall_ro", NUMBERED },
	{ "xread", STREAMS }, { "xreadgroup", STREAMS },
};

static size_t resp_key_after_streams(const struct strbuf *words, size_t n)
{
	size_t i = 1;

	while (i < n && strcasecmp(strbuf_str(&words[i]), "streams") != 0)
		i++;
	return i + 1;
}

size_t resp_key_find(const struct strbuf *words, size_t n)
{
	size_t at = 1;

	for (size_t i = 0; i < ARRAY_LEN(resp_key_places); i++) {
		if (strcasecmp(strbuf_str(&words[0]), resp_key_places[i].name) == 0)
			at = resp_key_places[i].place;
	}
	if (at == NUMBERED)
		at = n > 2 && strcmp(strbuf_str(&words[2]), "0") != 0 ? FOURTH : NONE;
	else if (at == STREAMS)
		at = resp_key_after_streams(words, n);
	return at < n ? at : 0;
}
