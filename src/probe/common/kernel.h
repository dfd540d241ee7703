/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel functions that BPF programs may call, looked up in the running kernel's BTF. */
#ifndef HOSTLAT_PROBE_KERNEL_H
#define HOSTLAT_PROBE_KERNEL_H

#include <stdbool.h>

/*
 * Returns true if the kernel has bpf_rdonly_cast() and bpf_cast_to_kern_ctx(), which both came with
 * Linux 6.2.
 */
bool kernel_can_cast(void);

#endif
