/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "device.h"

#define DEVICE_QUEUE 16384 /* packets; what the box has not read yet must not be lost */

static int set_device(struct ifreq *ifr, int mtu)
{
	int control = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), rc = -1;

	if (control < 0)
		return -1;
	ifr->ifr_qlen = DEVICE_QUEUE;
	if (ioctl(control, SIOCSIFTXQLEN, ifr))
		goto out;
	ifr->ifr_mtu = mtu;
	if (ioctl(control, SIOCSIFMTU, ifr) || ioctl(control, SIOCGIFFLAGS, ifr))
		goto out;
	ifr->ifr_flags |= IFF_UP;
	rc = ioctl(control, SIOCSIFFLAGS, ifr);
out:
	close(control);
	return rc;
}

/* In the namespace in which this thread is; the device stays there, wherever the thread goes. */
static int make_here(const char *name, int mtu)
{
	struct ifreq ifr = { .ifr_flags = IFF_TUN | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -1;
	memcpy(ifr.ifr_name, name, strnlen(name, IFNAMSIZ - 1));
	if (ioctl(fd, TUNSETIFF, &ifr) || ioctl(fd, TUNSETOFFLOAD, 0) || set_device(&ifr, mtu)) {
		close(fd);
		return -1;
	}
	return fd;
}

int device_make(const char *name, const char *netns, int mtu)
{
	int home = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	int there = open(netns, O_RDONLY | O_CLOEXEC), fd = -1;

	if (home >= 0 && there >= 0 && !setns(there, CLONE_NEWNET)) {
		fd = make_here(name, mtu);
		if (setns(home, CLONE_NEWNET) && fd >= 0) {
			close(fd);
			fd = -1;
		}
	}
	if (home >= 0)
		close(home);
	if (there >= 0)
		close(there);
	return fd;
}
