/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0) */
/*
 * Buffers of the system call that reads from or writes to a socket in the current task: the bytes
 * of a request or reply, without another hook. The buffers of io_uring and splice are unknown.
 */
#ifndef HOSTLAT_BPF_CALL_BUFFER_H
#define HOSTLAT_BPF_CALL_BUFFER_H

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "bpf/kernel/types.h"

#define PF_IO_WORKER 0x10
#define PF_USER_WORKER 0x4000

/* Numbers of system calls, and registers with their arguments. */
#ifdef __TARGET_ARCH_x86
#define CALL_READ 0
#define CALL_WRITE 1
#define CALL_READV 19
#define CALL_WRITEV 20
#define CALL_SENDTO 44
#define CALL_RECVFROM 45
#define CALL_SENDMSG 46
#define CALL_RECVMSG 47

struct pt_regs___call {
	unsigned long di, si, dx, orig_ax;
} __attribute__((preserve_access_index));

#define call_number(regs) ((int)BPF_CORE_READ(regs, orig_ax))
#define call_fd(regs) ((__u32)BPF_CORE_READ(regs, di))
#define call_second(regs) BPF_CORE_READ(regs, si)
#define call_third(regs) BPF_CORE_READ(regs, dx)
#define CALL_OTHER_ABI 2 /* arch/x86/include/asm/thread_info.h: TS_COMPAT */
#define call_abi(task) BPF_CORE_READ(task, thread_info.status)
#else
#define CALL_READ 63
#define CALL_WRITE 64
#define CALL_READV 65
#define CALL_WRITEV 66
#define CALL_SENDTO 206
#define CALL_RECVFROM 207
#define CALL_SENDMSG 211
#define CALL_RECVMSG 212

struct pt_regs___call {
	__u64 regs[31];
	__u64 orig_x0;
	int syscallno;
} __attribute__((preserve_access_index));

#define call_number(r) BPF_CORE_READ(r, syscallno)
#define call_fd(r) ((__u32)BPF_CORE_READ(r, orig_x0))
#define call_second(r) BPF_CORE_READ(r, regs[1])
#define call_third(r) BPF_CORE_READ(r, regs[2])
#define CALL_OTHER_ABI (1 << 22) /* arch/arm64/include/asm/thread_info.h: TIF_32BIT */
#define call_abi(task) BPF_CORE_READ(task, thread_info.flags)
#endif

/* Layouts of struct iovec and struct msghdr in 64-bit user space. */
struct user_vector {
	__u64 base, len;
};

struct user_message {
	__u64 name, name_len, vector, n;
};

/* One buffer, or a list of `n` buffers in user space. */
struct call_buffer {
	__u64 base, len;
	__u64 vector, n;
};

/* Returns true if `fd` is the socket: io_uring's work may run at the end of any system call. */
static __always_inline bool call_is_of(struct task_struct *task, __u32 fd, const struct sock *sk)
{
	struct fdtable *table = BPF_CORE_READ(task, files, fdt);
	struct file **files = BPF_CORE_READ(table, fd), *file = NULL;
	struct socket *socket;

	if (fd >= BPF_CORE_READ(table, max_fds) ||
	    bpf_probe_read_kernel(&file, sizeof(file), files + fd) || !file)
		return false;
	socket = BPF_CORE_READ(file, private_data);
	return BPF_CORE_READ(socket, sk) == sk;
}

/* Fills in the buffers of the current system call. Returns 0 if they are unknown. */
static __noinline int call_buffer(struct call_buffer *b, const struct sock *sk)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct pt_regs___call *regs = (void *)bpf_task_pt_regs(task);
	struct user_message m;
	int number;

	if (!b || task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER) ||
	    call_abi(task) & CALL_OTHER_ABI)
		return 0;
	number = call_number(regs);
	*b = (struct call_buffer){};
	switch (number) {
	case CALL_READ:
	case CALL_WRITE:
	case CALL_RECVFROM:
	case CALL_SENDTO:
		b->base = call_second(regs);
		b->len = call_third(regs);
		break;
	case CALL_READV:
	case CALL_WRITEV:
		b->vector = call_second(regs);
		b->n = call_third(regs);
		break;
	case CALL_RECVMSG:
	case CALL_SENDMSG:
		if (bpf_probe_read_user(&m, sizeof(m), (void *)call_second(regs)))
			return 0;
		b->vector = m.vector;
		b->n = m.n;
		break;
	default:
		return 0;
	}
	return call_is_of(task, call_fd(regs), sk);
}

#endif
