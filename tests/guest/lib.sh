# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests of this folder share. Sourced.

guest=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/run
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Fetches the kernel, or ends the test as skipped: no mirror or no QEMU is no fault of ours.
need_guest() {
	"$guest" --fetch "$1" 2>"$scratch/fetch" && return
	cat "$scratch/fetch" >&2
	echo "SKIP: $(tail -n 1 "$scratch/fetch")"
	exit 77
}

# expect WHAT EXPECTED GOT
expect() {
	if [ "$2" = "$3" ]; then
		echo "ok: $1"
	else
		echo "FAILED: $1: expected '$2', got '$3'"
		failed=1
	fi
}

# tries REASON COMMAND...: up to two times again; tools/check counts what is said of it.
tries() {
	local reason=$1 left=2

	shift
	until "$@"; do
		[ $((left--)) -gt 0 ] || return 1
		echo "again $(basename "$0"): it failed (environment: $reason)"
	done
}

finish() {
	exit "${failed:-0}"
}
