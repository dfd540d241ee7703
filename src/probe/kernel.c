/* SPDX-License-Identifier: Apache-2.0 */
/* What the running kernel has, by its own BTF. */
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "probe/watch_internal.h"

bool watch_can_cast(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool can;

	if (libbpf_get_error(btf))
		return false;
	can = btf__find_by_name_kind(btf, "bpf_rdonly_cast", BTF_KIND_FUNC) > 0;
	btf__free(btf);
	return can;
}

bool watch_kfree_names_socket(void)
{
	struct btf *btf = btf__load_vmlinux_btf();
	bool names = false;
	int id;

	if (libbpf_get_error(btf))
		return false;
	id = btf__find_by_name_kind(btf, "btf_trace_kfree_skb", BTF_KIND_TYPEDEF);
	if (id > 0) {
		const struct btf_type *t = btf__type_by_id(btf, btf__type_by_id(btf, id)->type);

		t = btf__type_by_id(btf, t->type);
		names = btf_is_func_proto(t) && btf_vlen(t) >= 5;
	}
	btf__free(btf);
	return names;
}
