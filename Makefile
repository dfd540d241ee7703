# SPDX-License-Identifier: Apache-2.0
# Verbs only; the build itself is described in meson.build.
MAKEFLAGS += --no-print-directory
BUILD = build

build: $(BUILD)/build.ninja	## build build/hostlat
	@ninja -C $(BUILD) --quiet

$(BUILD)/build.ninja:
	@command -v meson >/dev/null || { echo 'meson is missing; install what the build needs: sudo make deps' >&2; exit 2; }
	@meson setup $(BUILD) >/dev/null || { cat $(BUILD)/meson-logs/meson-log.txt >&2; exit 1; }

deps:	## install the Debian packages that all verbs need (as root)
	@tools/deps check

demo:	## the main job on this machine: install, build, run a server under load, watch it (as root)
	@tools/deps demo
	@$(MAKE) build
	@demo/run $(BUILD)/hostlat

check:	## all tests, what they need installed first (as root)
	@tools/deps check
	@tools/check

quick: build	## the tests that need no root, under a minute
	@tools/check quick

native: build	## tests with real BPF and network namespaces (as root)
	@tools/check native

guest: build	## tests on stock Debian kernels in QEMU
	@tools/check guest

san:	## unit, golden and simulated tests under ASan and UBSan
	@tools/check san

golden: build	## rewrite what the golden tests expect; read the diff
	@tests/cli/run --update $(BUILD)/tests/cli/mkevents $(BUILD)/tests/cli/mkload \
		$(BUILD)/tests/cli/mktrace $(BUILD)/tests/cli/mkconns $(BUILD)/hostlat

fuzz:	## fuzz targets, 4 s each (SECONDS=N, SEED=N)
	@tools/check fuzz

bench: build	## what a recording and a reading cost
	@meson test -C $(BUILD) --no-rebuild --benchmark --verbose

long:	## everything at full length, hours; tables go to docs/results (as root)
	@tools/deps check
	@tools/check long

tidy: build	## dependency table, sizes, banned functions and the like
	@tools/tidy

clean:	## remove the build folders
	rm -rf build build-*

help:	## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-8s %s\n", $$1, $$2 }' Makefile

.PHONY: build deps demo check quick native guest san golden fuzz bench long tidy clean help
