/* SPDX-License-Identifier: Apache-2.0 */
/* What the running kernel has, by its own BTF. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "probe/watch_internal.h"

bool watch_can_cast(void)
{
	static int known = -1; /* looking takes a walk over all names */
	const struct btf *btf;

	if (known >= 0)
		return known;
	btf = hook_kernel_btf();
	known = btf && btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
	return known;
}

bool watch_kfree_names_socket(void)
{
	const struct btf *btf = hook_kernel_btf();
	static bool asked, names;
	int id;

	if (!btf || asked)
		return names;
	asked = true;
	id = btf__find_by_name_kind(btf, "btf_trace_kfree_skb", BTF_KIND_TYPEDEF);
	if (id > 0) {
		const struct btf_type *t = btf__type_by_id(btf, btf__type_by_id(btf, id)->type);

		t = btf__type_by_id(btf, t->type);
		names = btf_is_func_proto(t) && btf_vlen(t) >= 5;
	}
	return names;
}
