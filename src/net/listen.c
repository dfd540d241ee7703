/* SPDX-License-Identifier: Apache-2.0 */
#include "net/listen.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/parse.h"

#define BACKLOG 4096
#define UDP_BUFFER (4 << 20)

int net_listen_parse(const char *text, struct net_address *out)
{
	struct net_address a = { .type = SOCK_STREAM };

	if (strncmp(text, "unix:", 5) == 0)
		return net_unix_address(text + 5, out) ? -EINVAL : 0;
	if (strncmp(text, "udp:", 4) == 0) {
		a.type = SOCK_DGRAM;
		text += 4;
	}
	if (parse_endpoint(text, &a.addr))
		return -EINVAL;
	a.len = a.addr.ss_family == AF_INET6 ? sizeof(struct sockaddr_in6) :
					       sizeof(struct sockaddr_in);
	*out = a;
	return 0;
}

static bool listen_is_unix(const struct net_address *address)
{
	return address->addr.ss_family == AF_UNIX;
}

static const char *listen_unix_path(const struct net_address *address)
{
	return ((const struct sockaddr_un *)&address->addr)->sun_path;
}

/* Returns true if no server accepts on this Unix socket: it was left behind by an unclean exit. */
static bool listen_is_stale(const struct net_address *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	struct stat st;
	bool refused;

	if (fd < 0)
		return false;
	refused = connect(fd, (const struct sockaddr *)&address->addr, address->len) &&
		  errno == ECONNREFUSED;
	close(fd);
	return refused && stat(listen_unix_path(address), &st) == 0 && S_ISSOCK(st.st_mode);
}

static int listen_try_bind(int fd, const struct net_address *address)
{
	const struct sockaddr *addr = (const struct sockaddr *)&address->addr;

	if (!bind(fd, addr, address->len))
		return 0;
	if (errno != EADDRINUSE || !listen_is_unix(address) || !listen_unix_path(address)[0])
		return -errno;
	if (!listen_is_stale(address) || unlink(listen_unix_path(address)))
		return -EADDRINUSE;
	return bind(fd, addr, address->len) ? -errno : 0;
}

int net_listen(struct net_address *address)
{
	int fd = socket(address->addr.ss_family, address->type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	const int on = 1, buffer = UDP_BUFFER;
	socklen_t len = sizeof(address->addr);
	int err;

	if (fd < 0)
		return -errno;
	/* Binding must not fail because of an earlier server's connections in TIME_WAIT. */
	if (address->type == SOCK_STREAM && !listen_is_unix(address))
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (address->type == SOCK_DGRAM)
		setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
	err = listen_try_bind(fd, address);
	if (!err && address->type == SOCK_STREAM && listen(fd, BACKLOG))
		err = -errno;
	if (!err && !listen_is_unix(address) &&
	    getsockname(fd, (struct sockaddr *)&address->addr, &len))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

void net_listen_close(int fd, const struct net_address *address)
{
	if (fd < 0)
		return;
	close(fd);
	if (listen_is_unix(address) && listen_unix_path(address)[0])
		unlink(listen_unix_path(address));
}

int net_accept(int fd)
{
	const int on = 1;
	int peer = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (peer < 0)
		return -errno;
	/* The error on a Unix socket, which has no such option, is ignored. */
	setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	return peer;
}

void net_listen_text(const struct net_address *address, struct strbuf *out)
{
	strbuf_puts(out, listen_is_unix(address)       ? "unix:"
			 : address->type == SOCK_DGRAM ? "udp:"
						       : "");
	net_address_text(address, out);
}
