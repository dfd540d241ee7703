/* SPDX-License-Identifier: Apache-2.0 */
#include "net/stream.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bug.h"

static void stream_set_options(int fd, const struct net_address *address)
{
	const int on = 1;

	if (address->addr.ss_family != AF_UNIX && address->type == SOCK_STREAM)
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

/*
 * Binds the socket to an address of this host. The port is chosen at connect(), as without bind():
 * then it only has to differ from those of other connections to the same peer (ip(7)).
 */
static int stream_bind(int fd, const struct net_address *from)
{
	const int on = 1;

	if (!from)
		return 0;
	setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
	return bind(fd, (const struct sockaddr *)&from->addr, from->len) ? -errno : 0;
}

/* Returns 0 or -errno. UDP reports a lack of local ports as EAGAIN, TCP as EADDRNOTAVAIL. */
static int stream_connect(int fd, const struct net_address *address)
{
	if (!connect(fd, (const struct sockaddr *)&address->addr, address->len) ||
	    errno == EINPROGRESS)
		return 0;
	return errno == EAGAIN && address->type == SOCK_DGRAM ? -EADDRNOTAVAIL : -errno;
}

int net_stream_open(struct net_stream *stream, const struct net_address *address,
		    const struct net_address *from)
{
	int fd = socket(address->addr.ss_family, address->type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int err;

	if (fd < 0)
		return -errno;
	stream_set_options(fd, address);
	err = stream_bind(fd, from);
	if (!err)
		err = stream_connect(fd, address);
	if (err) {
		close(fd);
		return err;
	}
	stream->fd = fd;
	stream->datagram = address->type == SOCK_DGRAM;
	stream->stamps = false;
	stream->sent = stream->received = 0;
	return 0;
}

int net_stream_connected(struct net_stream *stream)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &len))
		return -errno;
	return -error;
}

/* Turns busy polling on. Any SO_BUSY_POLL time > 0 suffices: a nonblocking read polls once. */
int net_stream_poll_enable(const struct net_stream *stream)
{
	const int us = 1;

	return setsockopt(stream->fd, SOL_SOCKET, SO_BUSY_POLL, &us, sizeof(us)) ? -errno : 0;
}

bool net_stream_has_queue(const struct net_stream *stream)
{
	unsigned int id = 0;
	socklen_t len = sizeof(id);

	return !getsockopt(stream->fd, SOL_SOCKET, SO_INCOMING_NAPI_ID, &id, &len) && id;
}

int net_stream_stamp(struct net_stream *stream, bool nic)
{
	int err = net_stamp_enable(stream->fd, nic);

	stream->stamps = !err;
	return err;
}

int net_stream_handshake_begin(struct net_stream *stream)
{
	return net_tls_begin(stream->tls, stream->fd, stream->stamps);
}

int net_stream_handshake(struct net_stream *stream)
{
	int ret = net_tls_handshake(stream->tls);

	stream->sent = net_tls_sent(stream->tls);
	stream->received = net_tls_received(stream->tls);
	return ret;
}

ssize_t net_stream_write(struct net_stream *stream, const void *data, size_t size)
{
	ssize_t n;

	if (stream->tls) {
		n = net_tls_write(stream->tls, data, size);
		stream->sent = net_tls_sent(stream->tls);
		return n;
	}
	n = send(stream->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	stream->sent += stream->datagram ? 1 : n;
	return n;
}

ssize_t net_stream_read(struct net_stream *stream, void *buffer, size_t size,
			struct net_rx_stamp *stamp, bool *drained)
{
	ssize_t n;

	BUG_ON(!size);
	if (stream->tls) {
		n = net_tls_read(stream->tls, buffer, size, stamp, drained);
		stream->received = net_tls_received(stream->tls);
		return n;
	}
	if (stream->stamps) {
		n = net_stamp_recv(stream->fd, buffer, size, stamp);
	} else {
		n = recv(stream->fd, buffer, size, MSG_DONTWAIT);
		n = n < 0 ? -errno : n;
	}
	/* A stream that gave fewer bytes than `size` is empty (epoll(7), question 9). */
	*drained = n < 0 || (!stream->datagram && (size_t)n < size);
	if (n > 0)
		stream->received += n;
	return n;
}

void net_stream_close(struct net_stream *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	stream->fd = -1;
	stream->stamps = false;
}
