/* SPDX-License-Identifier: Apache-2.0 */
/* What the running kernel has, by its own BTF. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "probe/packet/pkt_internal.h"

bool pkt_can_cast(void)
{
	static int known = -1; /* looking takes a walk over all names */
	const struct btf *btf;

	if (known >= 0)
		return known;
	btf = hook_kernel_btf();
	known = btf && btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
	return known;
}
