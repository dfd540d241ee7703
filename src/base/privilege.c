/* SPDX-License-Identifier: Apache-2.0 */
#include "base/privilege.h"

#include <errno.h>
#include <grp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "base/bug.h"
#include "base/invoker.h"

void privilege_no_new(void)
{
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

/*
 * Sets the capabilities of the process to those that it has of `set`, and those of the programs
 * that it starts to the same, or to none. Root's programs have what the bounding set lets them.
 */
static void privilege_set(uint64_t set, bool inherited)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &head, data))
		return;
	for (int i = 0; i < 2; i++) {
		data[i].permitted &= (uint32_t)(set >> 32 * i);
		data[i].effective = data[i].permitted;
		data[i].inheritable = inherited ? data[i].permitted : 0;
	}
	syscall(SYS_capset, &head, data);
	for (int i = 0; i < 64 && inherited; i++)
		if (set >> i & 1)
			prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, i, 0, 0);
}

/* The bounding set, which limits root after execve(2), is cut first: that takes CAP_SETPCAP. */
void privilege_keep(uint64_t set)
{
	invoker_remember();
	for (int i = 0; i < 64 && prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++)
		if (!(set >> i & 1))
			prctl(PR_CAPBSET_DROP, i, 0, 0, 0);
	privilege_set(set, false);
}

/* The groups change first: without CAP_SETGID the process would keep the groups of root's login. */
static bool privilege_become(const struct invoker *invoker)
{
	return (!setgroups(1, &invoker->gid) || errno == EPERM) &&
	       !setresgid(invoker->gid, invoker->gid, invoker->gid) &&
	       !prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) &&
	       !setresuid(invoker->uid, invoker->uid, invoker->uid);
}

bool privilege_give_up(const char *folder, uint64_t set)
{
	struct invoker invoker;
	struct stat st;
	const bool becomes = invoker_find(&invoker) && invoker_stat(folder, &st) &&
			     st.st_uid == invoker.uid;

	if (becomes && !privilege_become(&invoker))
		return false;
	privilege_keep(set);
	if (becomes)
		privilege_set(set, true);
	return true;
}

/* ---- system calls that a reader never makes ---- */

/*
 * The leak sanitizer traces the process (ptrace) at its end. The seccomp filter would refuse that,
 * so sanitized builds have none.
 */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED
#endif
#endif

#if defined(SANITIZED)
#elif defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#endif
#define X32_BIT 0x40000000U /* x32 system calls: the same calls by other numbers */

#ifdef ARCH

/* Missing in headers of an older build host; these numbers are equal on all architectures. */
#define NR_IO_URING_SETUP 425
#define NR_PIDFD_GETFD 438
#define NR_OPEN_TREE 428
#define NR_FSOPEN 430

static const uint32_t refused[] = {
	SYS_execve, SYS_execveat, SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen,
	SYS_accept, SYS_accept4, SYS_sendto, SYS_sendmsg, SYS_ptrace, SYS_process_vm_readv,
	SYS_process_vm_writev, SYS_bpf, SYS_perf_event_open, SYS_setns, SYS_unshare, SYS_mount,
	SYS_umount2, SYS_pivot_root, SYS_chroot, SYS_init_module, SYS_finit_module,
	SYS_delete_module, SYS_kexec_load, SYS_kexec_file_load, SYS_keyctl, SYS_add_key,
	SYS_request_key, SYS_open_by_handle_at, SYS_reboot, SYS_swapon, SYS_swapoff,
	SYS_settimeofday, SYS_clock_settime, SYS_adjtimex, SYS_clock_adjtime, SYS_mknodat,
	SYS_userfaultfd, NR_IO_URING_SETUP, NR_PIDFD_GETFD, NR_OPEN_TREE, NR_FSOPEN,
};

#define N ARRAY_LEN(refused)

/* Installs a seccomp filter: load the architecture and the call's number, compare, return. */
static void privilege_filter_calls(void)
{
	struct sock_filter code[4 + N + 2];
	const struct sock_fprog program = { .len = ARRAY_LEN(code), .filter = code };
	const uint8_t refuse = ARRAY_LEN(code) - 1;
	size_t n = 0;

	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, arch));
	code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 0, refuse - n - 1);
	n++;
	code[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr));
	code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, X32_BIT,
					       refuse - n - 1, 0);
	n++;
	for (size_t i = 0; i < N; i++, n++)
		code[n] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i],
						       refuse - n - 1, 0);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	BUG_ON(n != ARRAY_LEN(code));
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
#endif

void privilege_read_only(void)
{
	privilege_keep(0);
	privilege_no_new();
#ifdef ARCH
	privilege_filter_calls();
#endif
}
