# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Stock Debian kernels for the guest: find one in the cache, or fetch and unpack it.
#
# Nothing is installed on the host. apt runs with state, lists and sources of its own inside the
# cache; only the mirror's address and the transport settings come from the host's apt set-up.
# Sourced by tests/guest/run; needs $cache and the functions say, fail and need.
#
# cache/kernels/VERSION/        one unpacked kernel, whole or absent
#	vmlinux                 the ELF image inside vmlinuz: boots by PVH, without the decompressor
#	lib/modules/VERSION/    modules, with depmod's tables
#	initramfs               see initramfs.sh

#	$cache/newest		a link to the one that was the newest when it was fetched

# series -> Debian suite whose linux-image-amd64 is of that series
declare -A series_suite=([5.10]=bullseye [6.1]=bookworm [6.12]=trixie [newest]=sid)

# The newest cached kernel of a series ("6.1"), or the one of exactly this name.
kernel_cached() {
	local dir=$cache/kernels/$1

	[ -d "$dir" ] || dir=$(printf '%s\n' "$dir".*-amd64 | sort -V | tail -n 1)
	[ -d "$dir" ] && readlink -f "$dir"
}

kernel_list() {
	local dir

	for dir in "$cache"/kernels/*-amd64; do
		[ -d "$dir" ] && printf '%s\t%s\n' "${dir##*/}" "$dir"
	done
	return 0
}

# "URI SUITE" of each package source of the host, in either format of apt's sources.
host_sources() {
	apt-get update --print-uris 2>/dev/null |
		sed -n "s|^'\(.*\)/dists/\(.*\)/InRelease'.*|\1 \2|p"
}

# apt's source lines for a suite, or nothing when the host's apt knows no Debian mirror.
suite_sources() {
	local suite=$1 keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	local option='' main security

	[ -r "$keyring" ] && option="[signed-by=$keyring]"
	main=$(host_sources | awk '$2 !~ /[-\/]/ && $1 ~ /debian$/ { print $1; exit }')
	security=$(host_sources | awk '$2 ~ /-security$/ { print $1; exit }')
	[ -n "$main" ] && echo "deb $option $main $suite main"
	[ -n "$security" ] && echo "deb $option $security $suite-security main"
}

# Writes an apt configuration that leaves the host's alone.
private_apt() {
	local dir=$1 suite=$2

	mkdir -p "$dir/state/lists/partial" "$dir/cache/archives/partial" "$dir/debs"
	: >"$dir/state/status"
	suite_sources "$suite" >"$dir/sources.list"
	[ -s "$dir/sources.list" ] || return 1
	cat >"$dir/apt.conf" <<-END
		Dir::State "$dir/state";
		Dir::State::status "$dir/state/status";
		Dir::Cache "$dir/cache";
		Dir::Etc::sourcelist "$dir/sources.list";
		Dir::Etc::sourceparts "/dev/null";
		Dir::Etc::preferences "/dev/null";
		Dir::Etc::preferencesparts "/dev/null";
		APT::Sandbox::User "root";
		APT::Architecture "amd64";
		APT::Architectures { "amd64"; };
		Acquire::Languages "none";
		Acquire::Retries "2";
	END
	export APT_CONFIG=$dir/apt.conf
}

# The package of a version, or the one that the suite's metapackage names.
kernel_package() {
	case $1 in
	*-amd64) echo "linux-image-$1" ;;
	*) apt-cache depends linux-image-amd64 |
		sed -n 's/.*Depends: \(linux-image-[0-9].*-amd64\)$/\1/p' | sort -V | tail -n 1 ;;
	esac
}

# It, and what of the kernel newer releases of Debian keep in packages of their own.
kernel_packages() {
	echo "$1"
	apt-cache depends "$1" | sed -nE 's/^ *Depends: (linux-(binary|modules|base)-[0-9].*)$/\1/p'
}

# The ELF image in a bzImage: where it lies is in the boot header (Documentation/x86/boot.rst).
# All but gzip have the unpacked size, 4 bytes, appended to their stream.
extract_vmlinux() {
	local image=$1 sectors offset length magic unpack tail=4

	sectors=$(od -An -tu1 -j $((0x1f1)) -N 1 "$image")
	offset=$(od -An -tu4 -j $((0x248)) -N 4 "$image")
	length=$(od -An -tu4 -j $((0x24c)) -N 4 "$image")
	offset=$((offset + (sectors + 1) * 512))
	magic=$(od -An -tx1 -j $offset -N 4 "$image" | tr -d ' ')
	case $magic in
	fd377a58) unpack='xz -dc' ;;
	28b52ffd) unpack='zstd -qdc' ;;
	02214c18) unpack='lz4 -dc' ;;
	1f8b*) unpack='gzip -dc' tail=0 ;;
	*) say "$image: unknown compression $magic"; return 1 ;;
	esac
	tail -c +$((offset + 1)) "$image" | head -c $((length - tail)) | $unpack
}

# Newer releases of Debian put into /boot only at installation what belongs there.
fill_boot() {
	local dir=$1 version=$2 name

	[ -e "$dir/boot/vmlinuz-$version" ] && return
	mkdir -p "$dir/boot"
	for name in vmlinuz config; do
		ln "$dir/lib/modules/$version/$name" "$dir/boot/$name-$version" || return
	done
}

unpack_kernel() {
	local dir=$1 version=$2 deb

	shift 2
	for deb; do
		dpkg -x "$deb" "$dir" || return
	done
	[ -d "$dir/lib/modules" ] || ln -s usr/lib "$dir/lib"
	fill_boot "$dir" "$version" && depmod -b "$dir" "$version" &&
		extract_vmlinux "$dir/boot/vmlinuz-$version" >"$dir/vmlinux" &&
		build_initramfs "$dir" "$version"
}

# Downloads a kernel's packages and unpacks them.
fetch_package() {
	local apt=$1 package=$2 version=$3 packages

	say "fetching $package"
	mapfile -t packages < <(kernel_packages "$package")
	rm -f "$apt"/debs/*.deb
	(cd "$apt/debs" && apt-get -qq download "${packages[@]}" >>"$apt/log" 2>&1) ||
		fail "cannot download $package; details in $apt/log"
	rm -rf "$cache/kernels/.new"
	mkdir -p "$cache/kernels/.new"
	unpack_kernel "$cache/kernels/.new" "$version" "$apt"/debs/*.deb ||
		fail "cannot unpack $package"
	mv "$cache/kernels/.new" "$cache/kernels/$version"
	rm -f "$apt"/debs/*.deb
}

# Fetches the newest kernel of a series, or one version. Called under the fetch lock.
fetch_locked() {
	local want=$1 series package version apt

	series=$(grep -oE '^([0-9]+\.[0-9]+|newest$)' <<<"$want") || fail "$want: not a kernel version"
	[ -n "${series_suite[$series]:-}" ] ||
		fail "$want: no Debian suite known for it; known: ${!series_suite[*]}"
	apt=$cache/apt/$series
	private_apt "$apt" "${series_suite[$series]}" ||
		fail "the host's apt sources name no Debian mirror to fetch a kernel from"
	say "looking for Linux $want in ${series_suite[$series]}"
	apt-get -qq update >"$apt/log" 2>&1 || true
	package=$(kernel_package "$want" 2>>"$apt/log")
	[ -n "$package" ] || fail "cannot reach the package mirror; details in $apt/log"
	version=${package#linux-image-}
	[ -d "$cache/kernels/$version" ] || fetch_package "$apt" "$package" "$version"
	[ "$want" != newest ] || ln -sfn "$version" "$cache/kernels/newest"
}

# One process at a time: a second one waits and then finds the kernel in the cache.
kernel_fetch() {
	need apt-get apt && need dpkg dpkg && need depmod kmod && need xz xz-utils && need zstd zstd
	mkdir -p "$cache/kernels"
	(
		flock 8
		kernel_cached "$1" >/dev/null || fetch_locked "$1"
	) 8>"$cache/fetch.lock"
}
