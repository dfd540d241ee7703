/* SPDX-License-Identifier: Apache-2.0 */
/* Reads drop reasons from the running kernel's enum, as their numbers change between versions. */
#include <bpf/btf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "probe/packet/drop_reason.h"
#include "probe/packet/pkt_internal.h"

static const struct btf_type *reasons(const struct btf **btf)
{
	static int id; /* BTF id of the enum, cached, as the lookup compares all names of the BTF */

	*btf = hook_kernel_btf();
	if (*btf && !id)
		id = btf__find_by_name_kind(*btf, "skb_drop_reason", BTF_KIND_ENUM);
	return id <= 0 ? NULL : btf__type_by_id(*btf, id);
}

static const char *plain(const char *name)
{
	static const char prefix[] = "SKB_DROP_REASON_";

	return strncmp(name, prefix, sizeof(prefix) - 1) ? name : name + sizeof(prefix) - 1;
}

const char *drop_reason_name(uint32_t reason, char *buf, size_t size)
{
	const struct btf *btf;
	const struct btf_type *t = reasons(&btf);
	const struct btf_enum *e = t ? btf_enum(t) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (e[i].val == (int)reason)
			return plain(btf__name_by_offset(btf, e[i].name_off));
	snprintf(buf, size, reason == DROP_REASONS - 1 ? "of-a-subsystem" : "reason-%u", reason);
	return buf;
}

/*
 * A packet with payload that TCP already had is not counted as dropped, but as excluded
 * (EXCL_DUPLICATE); if TCP merged it with out-of-order data, as lost (LOSS_OOO_UNMATCHED).
 */
bool drop_reason_is_duplicate(const char *name)
{
	return !strcmp(name, "TCP_OLD_DATA") || !strcmp(name, "TCP_OLD_SEQUENCE") ||
	       !strcmp(name, "TCP_OFOMERGE");
}

int drop_reason_number(const char *name)
{
	const struct btf *btf;
	const struct btf_type *t = reasons(&btf);
	const struct btf_enum *e = t ? btf_enum(t) : NULL;

	for (int i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(plain(btf__name_by_offset(btf, e[i].name_off)), name))
			return e[i].val;
	return -ENOENT;
}
