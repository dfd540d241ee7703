/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/packet/loopback_pair.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static socklen_t loopback_pair_address(int family, struct sockaddr_storage *addr)
{
	memset(addr, 0, sizeof(*addr));
	if (family == AF_INET) {
		struct sockaddr_in *in = (struct sockaddr_in *)addr;

		in->sin_family = AF_INET;
		in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
		return sizeof(*in);
	}
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;

	in6->sin6_family = AF_INET6;
	in6->sin6_addr = in6addr_loopback;
	return sizeof(*in6);
}

static int loopback_pair_bind(int family, int type, struct sockaddr_storage *addr, socklen_t *len)
{
	int fd = socket(family, type | SOCK_CLOEXEC, 0);

	*len = loopback_pair_address(family, addr);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)addr, *len) ||
	    getsockname(fd, (struct sockaddr *)addr, len)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

static int loopback_pair_connect(int family, int type, struct sockaddr_storage *addr, socklen_t len)
{
	int fd = socket(family, type | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0 || connect(fd, (struct sockaddr *)addr, len))
		err = -errno;
	if (err && fd >= 0)
		close(fd);
	return err ? err : fd;
}

static int loopback_pair_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	close(listener);
	return fd < 0 ? -errno : fd;
}

int loopback_pair_open(int family, int type, struct loopback_pair *pair)
{
	struct sockaddr_storage addr;
	socklen_t len;
	int fd = loopback_pair_bind(family, type, &addr, &len), tx;

	if (fd < 0)
		return fd;
	tx = type == SOCK_STREAM && listen(fd, 1) ? -errno
						  : loopback_pair_connect(family, type, &addr, len);
	if (tx < 0) {
		close(fd);
		return tx;
	}
	if (type == SOCK_STREAM)
		fd = loopback_pair_accept(fd);
	if (fd < 0) {
		close(tx);
		return fd;
	}
	pair->tx = tx;
	pair->rx = fd;
	pair->port = ntohs(family == AF_INET ? ((struct sockaddr_in *)&addr)->sin_port :
			   ((struct sockaddr_in6 *)&addr)->sin6_port);
	return 0;
}

void loopback_pair_close(const struct loopback_pair *pair)
{
	close(pair->tx);
	close(pair->rx);
}
