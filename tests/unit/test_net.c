/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses, streams and waiting, over loopback and Unix sockets. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/parse.h"
#include "clock/clock.h"
#include "net/stream.h"
#include "net/wait.h"

static uint64_t now(void)
{
	return clock_mono_ns(clock_system());
}

static void assert_text(const struct net_address *address, const char *expected)
{
	struct strbuf text = STRBUF_INIT(256);

	net_address_text(address, &text);
	assert_string_equal(strbuf_str(&text), expected);
	strbuf_release(&text);
}

static void addresses(void **state)
{
	struct net_address a[NET_ADDRESSES_MAX];
	struct strbuf why = STRBUF_INIT(256);
	char path[200];

	(void)state;
	assert_int_equal(net_resolve("127.0.0.1", "80", false, a, &why), 1);
	assert_int_equal(a[0].type, SOCK_STREAM);
	assert_text(&a[0], "127.0.0.1:80");
	assert_int_equal(net_resolve("::1", "9", true, a, &why), 1);
	assert_int_equal(a[0].type, SOCK_DGRAM);
	assert_text(&a[0], "[::1]:9");
	assert_int_equal(net_unix_address("/run/x", &a[0]), 0);
	assert_text(&a[0], "/run/x");
	assert_int_equal(net_unix_address("@x", &a[0]), 0);
	assert_text(&a[0], "@x");
	assert_int_equal(net_unix_address("", &a[0]), -ENAMETOOLONG);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(net_unix_address(path, &a[0]), -ENAMETOOLONG);
	assert_int_equal(why.len, 0);
	assert_true(net_resolve("no such name", "80", false, a, &why) < 0);
	assert_true(why.len > 0);
	strbuf_release(&why);
}

/* Listens on a free port; *port is it. */
static int listener(const char **port)
{
	static char text[8];
	struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t len = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&in, len), 0);
	assert_int_equal(listen(fd, 8), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &len), 0);
	assert_true(snprintf(text, sizeof(text), "%u", ntohs(in.sin_port)) > 0);
	*port = text;
	return fd;
}

static void until_event(struct net_wait *wait, uint32_t events)
{
	int i;

	for (i = 0; i < 1000; i++) {
		if (net_wait(wait, now(), NET_WAIT_NEVER, now() + 10 * NS_PER_MS, false) > 0 &&
		    wait->events[0].events & events)
			return;
	}
	fail_msg("no event");
}

static void streams(void **state)
{
	struct net_address a[NET_ADDRESSES_MAX];
	struct strbuf why = STRBUF_INIT(256);
	struct net_stream stream = { .fd = -1 };
	struct net_rx_stamp stamp;
	struct net_wait wait = {};
	const char *port;
	char buffer[64];
	bool drained;
	int fd = listener(&port), peer;

	(void)state;
	assert_int_equal(net_wait_init(&wait), 0);
	assert_int_equal(net_resolve("127.0.0.1", port, false, a, &why), 1);
	assert_int_equal(net_stream_open(&stream, &a[0], NULL), 0);
	assert_int_equal(net_wait_add(&wait, stream.fd, 1), 0);
	until_event(&wait, EPOLLOUT);
	assert_int_equal(net_stream_connected(&stream), 0);
	peer = accept(fd, NULL, NULL);
	assert_int_equal(net_stream_write(&stream, "hello", 5), 5);
	assert_int_equal(stream.sent, 5);
	assert_int_equal(net_stream_read(&stream, buffer, 64, &stamp, &drained), -EAGAIN);
	assert_int_equal(write(peer, "abc", 3), 3);
	until_event(&wait, EPOLLIN);
	assert_int_equal(net_stream_read(&stream, buffer, 2, &stamp, &drained), 2);
	assert_false(drained);
	assert_int_equal(net_stream_read(&stream, buffer, 64, &stamp, &drained), 1);
	assert_true(drained);
	assert_int_equal(stream.received, 3);
	close(peer);
	until_event(&wait, EPOLLRDHUP);
	net_stream_close(&stream);
	close(fd);
	/* Nobody listens there any more. */
	assert_int_equal(net_stream_open(&stream, &a[0], NULL), 0);
	assert_int_equal(net_wait_add(&wait, stream.fd, 2), 0);
	until_event(&wait, EPOLLERR | EPOLLHUP);
	assert_int_equal(net_stream_connected(&stream), -ECONNREFUSED);
	net_stream_close(&stream);
	net_wait_release(&wait);
	strbuf_release(&why);
}

/* No wait is too short, whichever way it waits; an event ends it. */
static void waits_are_never_too_short(void **state)
{
	struct net_wait wait = {};
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), way;
	const uint64_t one = 1;
	uint64_t due, spun;

	(void)state;
	assert_int_equal(net_wait_init(&wait), 0);
	for (way = 0; way < 6; way++) {
		wait.spin = way & 1;
		wait.no_pwait2 = way & 2;
		due = now() + 3 * NS_PER_MS;
		spun = wait.spun_ns;
		assert_int_equal(net_wait(&wait, now(), due, NET_WAIT_NEVER, way & 4), 0);
		assert_true(wait.woken_ns >= due && now() >= wait.woken_ns);
		assert_true(wait.entered_ns <= wait.woken_ns);
		assert_true(wait.spun_ns - spun <= 3 * NS_PER_MS + NET_WAIT_GAP_NS);
		assert_true(!wait.gap_ns || wait.gap_end_ns - wait.gap_ns > NET_WAIT_GAP_NS);
	}
	assert_in_range(wait.slack_ns, 1000, NET_WAIT_GAP_NS);
	assert_int_equal(net_wait_add(&wait, fd, 7), 0);
	until_event(&wait, EPOLLOUT);
	assert_int_equal(wait.events[0].data.u64, 7);
	assert_int_equal(write(fd, &one, sizeof(one)), sizeof(one));
	assert_int_equal(net_wait(&wait, now(), NET_WAIT_NEVER, NET_WAIT_NEVER, false), 1);
	/* An edge is told once. */
	assert_int_equal(net_wait(&wait, now(), 0, NET_WAIT_NEVER, false), 0);
	net_wait_release(&wait);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses),
		cmocka_unit_test(streams),
		cmocka_unit_test(waits_are_never_too_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
