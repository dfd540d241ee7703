/* SPDX-License-Identifier: Apache-2.0 */
/* Names in the cgroup paths of common container and service managers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/bug.h"
#include "host/cgroup.h"

#define HEX64 "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define POD   "aaaabbbb-cccc-dddd-eeee-ffff00001111"
#define POD_  "aaaabbbb_cccc_dddd_eeee_ffff00001111"

static const struct {
	const char *path, *manager, *container, *unit, *label, *pod;
} cgroups[] = {
	{ "/", NULL, "", "", "", "" },
	{ "", NULL, "", "", "", "" },
	{ "/system.slice/nginx.service", NULL, "", "nginx.service", "nginx", "" },
	{ "/system.slice/system-getty.slice/getty@tty1.service", NULL, "", "getty@tty1.service",
	  "getty@tty1", "" },
	{ "/user.slice/user-1000.slice/session-3.scope", NULL, "", "session-3.scope", "session-3",
	  "" },
	{ "/user.slice/user-1000.slice/user@1000.service/app.slice/foo.service", NULL, "",
	  "foo.service", "foo", "" },
	{ "/init.scope", NULL, "", "init.scope", "init", "" },
	/* docker, by systemd and by cgroupfs */
	{ "/system.slice/docker-" HEX64 ".scope", "docker", HEX64, "docker-" HEX64 ".scope",
	  "docker 0123456789ab", "" },
	{ "/docker/" HEX64, "docker", HEX64, "", "docker 0123456789ab", "" },
	{ "/system.slice/docker.service", NULL, "", "docker.service", "docker", "" },
	{ "/docker/buildx", NULL, "", "", "", "" },
	/* Kubernetes */
	{ "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" POD_
	  ".slice/cri-containerd-" HEX64 ".scope", "containerd", HEX64,
	  "cri-containerd-" HEX64 ".scope", "containerd 0123456789ab", POD },
	{ "/kubepods.slice/kubepods-pod" POD_ ".slice/crio-" HEX64 ".scope", "cri-o", HEX64,
	  "crio-" HEX64 ".scope", "cri-o 0123456789ab", POD },
	{ "/kubepods/besteffort/pod" POD "/" HEX64, "kubernetes", HEX64, "",
	  "kubernetes 0123456789ab", POD },
	{ "/kubepods/besteffort/pod" POD "/crio-" HEX64, "cri-o", HEX64, "", "cri-o 0123456789ab",
	  POD },
	{ "/system.slice/containerd.service/kubepods-burstable-pod" POD_ ".slice:cri-containerd:"
	  HEX64, "containerd", HEX64, "containerd.service", "containerd 0123456789ab", POD },
	{ "/k8s.io/" HEX64, "containerd", HEX64, "", "containerd 0123456789ab", "" },
	/* the monitor of a container is not in it */
	{ "/machine.slice/libpod-" HEX64 ".scope/container", "podman", HEX64,
	  "libpod-" HEX64 ".scope", "podman 0123456789ab", "" },
	{ "/machine.slice/libpod-conmon-" HEX64 ".scope", NULL, "",
	  "libpod-conmon-" HEX64 ".scope", "libpod-conmon-" HEX64, "" },
	{ "/libpod_parent/libpod-" HEX64, "podman", HEX64, "", "podman 0123456789ab", "" },
	{ "/lxc.payload.web1/system.slice/nginx.service", "lxc", "web1", "nginx.service",
	  "lxc web1", "" },
	{ "/lxc.monitor.web1", NULL, "", "", "", "" },
	{ "/lxc/db", "lxc", "db", "", "lxc db", "" },
	{ "/machine.slice/machine-my\\x2dbox.scope", "nspawn", "my-box",
	  "machine-my\\x2dbox.scope", "nspawn my-box", "" },
	{ "/machine.slice/systemd-nspawn@web.service/payload", "nspawn", "web",
	  "systemd-nspawn@web.service", "nspawn web", "" },
	{ "/machine.slice/machine-qemu\\x2d1\\x2dvm.scope/libvirt", "libvirt", "qemu-1-vm",
	  "machine-qemu\\x2d1\\x2dvm.scope", "libvirt qemu-1-vm", "" },
	/* the innermost counts */
	{ "/docker/" HEX64 "/lxc/inner", "lxc", "inner", "", "lxc inner", "" },
	/* almost */
	{ "/docker/0123456789abcdef", NULL, "", "", "", "" },
	{ "/system.slice/docker-" HEX64, NULL, "", "", "", "" },
	{ "/system.slice/.service", NULL, "", "", "", "" },
};

static void test_cgroup_paths(void **state)
{
	struct host_cgroup cgroup;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cgroups); i++) {
		print_message("%s\n", cgroups[i].path);
		host_cgroup_parse(cgroups[i].path, &cgroup);
		assert_string_equal(cgroup.path, cgroups[i].path);
		assert_string_equal(cgroup.container, cgroups[i].container);
		assert_string_equal(cgroup.unit, cgroups[i].unit);
		assert_string_equal(cgroup.label, cgroups[i].label);
		assert_string_equal(cgroup.pod, cgroups[i].pod);
		if (cgroups[i].manager)
			assert_string_equal(cgroup.manager, cgroups[i].manager);
		else
			assert_null(cgroup.manager);
	}
}

/* A path longer than any buffer is cut, not overrun. */
static void test_long_path_is_cut(void **state)
{
	char path[4096];
	struct host_cgroup cgroup;

	(void)state;
	memset(path, 'a', sizeof(path));
	path[0] = '/';
	memcpy(path + sizeof(path) - 9, ".service", 9);
	host_cgroup_parse(path, &cgroup);
	assert_int_equal(strlen(cgroup.path), HOST_PATH_MAX - 1);
	assert_string_equal(cgroup.unit, "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cgroup_paths),
		cmocka_unit_test(test_long_path_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
