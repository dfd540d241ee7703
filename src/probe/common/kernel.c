/* SPDX-License-Identifier: Apache-2.0 */
#include "probe/common/kernel.h"

#include <bpf/btf.h>

#include "probe/common/hook.h"

bool kernel_can_cast(void)
{
	/* cached answer, -1: not looked up yet; a lookup compares all names of the BTF */
	static int known = -1;
	const struct btf *btf;

	if (known >= 0)
		return known;
	btf = hook_kernel_btf();
	known = btf && btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
	return known;
}
