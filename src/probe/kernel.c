/* SPDX-License-Identifier: Apache-2.0 */
/* What the running kernel has, by its own BTF. */
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* A map of socket storage, which has to say of what type it is; or -errno. */
static int storage_map(struct btf *btf, size_t size)
{
	int key = btf__add_int(btf, "int", sizeof(int), BTF_INT_SIGNED);
	int word = btf__add_int(btf, "long", sizeof(uint64_t), 0);
	int value = btf__add_array(btf, key, word, size / sizeof(uint64_t));
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_NO_PREALLOC,
		    .btf_key_type_id = key, .btf_value_type_id = value);
	int err = key < 0 || word < 0 || value < 0 ? -ENOMEM : btf__load_into_kernel(btf);

	if (err)
		return err;
	opts.btf_fd = btf__fd(btf);
	return bpf_map_create(BPF_MAP_TYPE_SK_STORAGE, "hostlat_try", sizeof(int), size, 0, &opts);
}

bool watch_can_store(size_t size)
{
	struct btf *btf = btf__new_empty();
	void *value = calloc(1, size);
	int map = -1, sk = -1;
	bool can = false;

	if (value && !libbpf_get_error(btf)) {
		map = storage_map(btf, size);
		sk = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		can = map >= 0 && sk >= 0 && !bpf_map_update_elem(map, &sk, value, BPF_NOEXIST);
	}
	if (sk >= 0)
		close(sk);
	if (map >= 0)
		close(map);
	btf__free(btf);
	free(value);
	return can;
}
