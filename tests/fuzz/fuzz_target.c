/* SPDX-License-Identifier: Apache-2.0 */
/* Any text as a target. What is accepted is safe in a request line and as a name to resolve. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bug.h"
#include "base/parse.h"
#include "load/protocol.h"
#include "load/url_list.h"
#include "load/workload.h"

static void check(const struct target *t)
{
	uint64_t port;

	BUG_ON(!t->protocol || !memchr(t->host, 0, sizeof(t->host)));
	BUG_ON(!memchr(t->path, 0, sizeof(t->path)) || t->path[0] != '/');
	for (const char *p = t->path; *p; p++)
		BUG_ON(*p <= ' ' || *p > '~' || *p == '#');
	BUG_ON(!memchr(t->user, 0, sizeof(t->user)));
	BUG_ON(!memchr(t->password, 0, sizeof(t->password)));
	BUG_ON(t->has_user && t->protocol->has_path && strchr(t->user, ':'));
	BUG_ON(!t->protocol->no_network && !t->host[0]);
	if (t->protocol->no_network || t->unix_socket)
		return;
	BUG_ON(parse_u64(t->port, &port) || port < 1 || port > 65535);
	for (const char *p = t->host; *p; p++)
		BUG_ON(!strchr(t->host, ':') && (*p <= ' ' || *p > '~' || *p == '@'));
}

static void check_greeting(const struct target *t)
{
	char greeting[PROTOCOL_GREETING_MAX];
	unsigned int replies = 0;
	size_t size = t->protocol->greet ? t->protocol->greet(t, greeting, &replies) : 0;

	BUG_ON(size >= sizeof(greeting) || replies > 2 || !size != !replies);
}

/* The password is in what is shown only where it stands outside of its place, too. */
static void check_shown(const char *text, const struct target *t)
{
	struct strbuf shown = STRBUF_INIT(1 << 20);

	target_put_shown(text, &shown);
	BUG_ON(!t->has_user && !t->unix_socket && strcmp(strbuf_str(&shown), text) != 0);
	BUG_ON(t->has_user && *t->password && !strstr(strbuf_str(&shown), ":***@"));
	strbuf_release(&shown);
}

/* The same text as a file of --urls. */
static void check_list(const char *text)
{
	const int fd = memfd_create("urls", MFD_CLOEXEC);
	struct strbuf why = STRBUF_INIT(1 << 20), shown = STRBUF_INIT(1 << 20);
	struct url_list list;
	char path[64];
	uint32_t n = 0;
	int err;

	BUG_ON(fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = url_list_make(&list, NULL, 0, path, &why);
	BUG_ON((err != 0) != (why.len != 0) || (!err && !list.n));
	for (uint32_t i = 0; i < list.n; i++)
		BUG_ON(list.items[i].target >= list.n_targets || !(list.items[i].weight > 0));
	for (uint32_t i = 0; i < list.n_targets; i++) {
		url_list_put_target(&list, i, &shown);
		n += list.targets[i].n_urls;
	}
	BUG_ON(n != list.n);
	url_list_release(&list);
	strbuf_release(&shown);
	strbuf_release(&why);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct strbuf why = STRBUF_INIT(1 << 20);
	char *text = strndup((const char *)data, size);
	struct workload w;
	struct target t;
	int err;

	BUG_ON(!text);
	err = target_parse(text, &t, &why);
	BUG_ON((err != 0) != (why.len != 0));
	if (!err) {
		check(&t);
		check_greeting(&t);
		check_shown(text, &t);
		/* The path may hold a placeholder that is none. */
		if (!workload_parse(&w, NULL, &t, &why))
			workload_release(&w);
		else
			BUG_ON(!t.protocol->has_path || !strchr(t.path, '{') || !why.len);
	}
	check_list(text);
	strbuf_release(&why);
	free(text);
	return 0;
}
