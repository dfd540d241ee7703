# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# The guest's first file system, in two archives that the kernel unpacks one over the other:
# busybox and the modules that reach the host's root, made once per kernel; and what belongs to one
# run: the init script, its settings and the command. Sourced by tests/guest/run.

guest_modules='virtio_pci virtio_console 9pnet_virtio 9p overlay'

# The modules with what they depend on, in load order, each once; built-in ones are left out.
modules_in_order() {
	local dir=$1 version=$2 name

	for name in $guest_modules; do
		modprobe -d "$dir" -S "$version" --show-depends "$name"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# Plain .ko, whatever Debian packs: busybox insmod takes no compressed module.
copy_module() {
	case $1 in
	*.xz) xz -dc "$1" ;;
	*.zst) zstd -qdc "$1" ;;
	*) cat "$1" ;;
	esac
}

# Writes DIR/initramfs, uncompressed: unpacking costs more than loading under emulation.
build_initramfs() {
	local dir=$1 version=$2 root=$1/initramfs.d number=10 module

	rm -rf "$root"
	mkdir -p "$root"/{bin,dev,proc,sys,host,modules,guest,layer}
	cp -L "$(command -v busybox)" "$root/bin/busybox"
	modules_in_order "$dir" "$version" | while read -r module; do
		copy_module "$module" >"$root/modules/$number.ko"
		number=$((number + 1))
	done
	[ -n "$(ls "$root/modules")" ] || return 1
	archive "$root" >"$dir/initramfs"
	rm -rf "$root"
}

archive() {
	(cd "$1" && find . | busybox cpio -o -H newc -R 0:0 2>/dev/null)
}

# A shell word that stands for exactly this string.
quote() {
	printf "'%s'" "${1//\'/\'\\\'\'}"
}

# One argument is a shell command line, several are a command and its arguments (as for ssh and env).
command_script() {
	local word

	echo "cd $(quote "$directory") || exit 126"
	if [ $# = 1 ]; then
		echo "$1"
		return
	fi
	printf exec
	for word; do
		printf ' %s' "$(quote "$word")"
	done
	echo
}

# Writes DIR/initramfs for one run of "$@" on the kernel unpacked in KERNEL.
run_initramfs() {
	local dir=$1 kernel=$2
	shift 2

	mkdir "$dir/initramfs.d"
	cp "$here/init" "$dir/initramfs.d/init"
	chmod 755 "$dir/initramfs.d/init"
	printf 'kernel=%s\nshare=%s\n' "$(quote "$kernel")" "$(quote "$share")" \
		>"$dir/initramfs.d/settings"
	command_script "$@" >"$dir/initramfs.d/command"
	{ cat "$kernel/initramfs"; archive "$dir/initramfs.d"; } >"$dir/initramfs"
}
