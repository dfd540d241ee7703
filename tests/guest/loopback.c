/* SPDX-License-Identifier: Apache-2.0 */
#include "loopback.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

static int bind_receiver(int fd, int type, int port, struct sockaddr_in *address)
{
	socklen_t size = sizeof(*address);
	int one = 1;

	*address = (struct sockaddr_in){
		.sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)address, sizeof(*address)))
		return -errno;
	if (type == SOCK_STREAM && listen(fd, 1))
		return -errno;
	if (getsockname(fd, (struct sockaddr *)address, &size))
		return -errno;
	return 0;
}

int loopback_open(struct loopback_pair *pair, int type, int port)
{
	struct sockaddr_in address;
	int one = 1, passive, err;

	pair->sender = socket(AF_INET, type, 0);
	passive = socket(AF_INET, type, 0);
	if (pair->sender < 0 || passive < 0) {
		err = -errno;
		goto out;
	}
	err = bind_receiver(passive, type, port, &address);
	if (err)
		goto out;
	if (connect(pair->sender, (struct sockaddr *)&address, sizeof(address))) {
		err = -errno;
		goto out;
	}
	if (type == SOCK_DGRAM) {
		pair->receiver = passive;
		return 0;
	}
	setsockopt(pair->sender, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	pair->receiver = accept(passive, NULL, NULL);
	err = pair->receiver < 0 ? -errno : 0;
out:
	if (passive >= 0)
		close(passive);
	if (err && pair->sender >= 0)
		close(pair->sender);
	return err;
}
