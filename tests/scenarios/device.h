/* SPDX-License-Identifier: Apache-2.0 */
/* TUN devices, one per namespace, without any offload: a packet is what its sender made. */
#ifndef SCENARIOS_DEVICE_H
#define SCENARIOS_DEVICE_H

/*
 * A device `name` that is up, in the namespace of that file; it is gone when the returned
 * descriptor is closed. -1 and errno if it can't be made.
 */
int device_make(const char *name, const char *netns, int mtu);

#endif
