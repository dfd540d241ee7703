/* SPDX-License-Identifier: Apache-2.0 */
#include "host/ethtool.h"

#include <errno.h>
#include <linux/sockios.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define FEATURES_MAX 1024       /* features, at most; current kernels have about 65 */

int ethtool_ask(int fd, const char *iface, void *request)
{
	struct ifreq ifr = { .ifr_data = request };

	if (strlen(iface) >= sizeof(ifr.ifr_name))
		return -ENODEV;
	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", iface);
	return ioctl(fd, SIOCETHTOOL, &ifr) ? -errno : 0;
}

int ethtool_driver(int fd, const char *iface, char *name, size_t size)
{
	struct ethtool_drvinfo info = { .cmd = ETHTOOL_GDRVINFO };
	int err = ethtool_ask(fd, iface, &info);

	if (!err)
		snprintf(name, size, "%.*s", (int)sizeof(info.driver), info.driver);
	return err;
}

static int ethtool_count_features(int fd, const char *iface, uint32_t *count)
{
	union {
		struct ethtool_sset_info info;
		char space[sizeof(struct ethtool_sset_info) + sizeof(*count)];
	} request = {
		.info = { .cmd = ETHTOOL_GSSET_INFO, .sset_mask = 1ULL << ETH_SS_FEATURES },
	};
	int err = ethtool_ask(fd, iface, &request);

	memcpy(count, request.info.data, sizeof(*count));
	if (!err && (!request.info.sset_mask || *count > FEATURES_MAX))
		err = -EOPNOTSUPP;
	return err;
}

int ethtool_features(int fd, const char *iface, struct strbuf *names)
{
	struct ethtool_gfeatures *features = NULL;
	struct ethtool_gstrings *strings = NULL;
	uint32_t count, blocks;
	int err;

	err = ethtool_count_features(fd, iface, &count);
	if (err)
		return err;
	blocks = (count + 31) / 32;
	strings = calloc(1, sizeof(*strings) + (size_t)count * ETH_GSTRING_LEN);
	features = calloc(1, sizeof(*features) + blocks * sizeof(features->features[0]));
	if (!strings || !features) {
		err = -ENOMEM;
		goto out;
	}
	strings->cmd = ETHTOOL_GSTRINGS;
	strings->string_set = ETH_SS_FEATURES;
	strings->len = count;
	features->cmd = ETHTOOL_GFEATURES;
	features->size = blocks;
	err = ethtool_ask(fd, iface, strings);
	if (!err)
		err = ethtool_ask(fd, iface, features);
	for (uint32_t i = 0; !err && i < count; i++)
		if (features->features[i / 32].active >> (i % 32) & 1)
			strbuf_printf(names, "%s%.*s", names->len ? " " : "", ETH_GSTRING_LEN,
				      (char *)strings->data + i * ETH_GSTRING_LEN);
out:
	free(features);
	free(strings);
	return err;
}
