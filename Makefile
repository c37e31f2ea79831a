# SPDX-License-Identifier: GPL-2.0
# Kprobes: build it, see it, test it. Everything is done by the scripts in harness/.
#
#   make [TARGET] [BASE=6.12|7.3] [ARCH=x86_64|i386|arm64|riscv64|...] [VARIANT=plain|debug|...]
#	  [ACCEL=tcg|kvm] [EMULATOR=bochs] [QEMU=program] [JOBS=n]

BASE ?= 6.12
ARCH ?= x86_64
VARIANT ?=
ACCEL ?= tcg
export BASE ARCH VARIANT ACCEL
ifdef JOBS
export JOBS
endif
H := harness
OUT := $(if $(filter 6.12,$(BASE)),out,out/$(BASE))

.PHONY: help demo test test-full test-all kselftest mutants matrix build build-all boot shell series series-check base-check check docs bench compare deb deb-check clean distclean tree image
.DEFAULT_GOAL := help

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-14s %s\n", $$1, $$2 }' Makefile
	@echo "with BASE=7.3 on a newer kernel (build/7.3, out/7.3), ARCH=arm64 or i386 (build and boot: see harness/arch.sh), VARIANT=debug (KASAN, lockdep, ...) or plain, ACCEL=kvm, JOBS=n as you like"

demo: ## build, boot in QEMU, watch probes fire in a small workload
	@$(H)/demo.sh

test: ## the tests; ends with "N passed, N failed" (SECTIONS="kunit ..." for a few)
	@$(H)/test.sh $(SECTIONS)

test-full: ## all that harness/test.sh has, mutants, matrix, test-all and i386 among it: hours
	@$(H)/test.sh full

kselftest: ## the shell tests as the kernel's own tree installs and runs them
	@$(H)/test.sh kselftest

mutants: ## break the code in the ways of harness/mutants, and see the tests fail (NAMES="slots-overlap arm64 ...")
	@$(H)/mutants.sh $(NAMES)

matrix: ## the same sources in other configurations; ends with "N passed, N failed" (ROWS="no-smp ...")
	@$(H)/matrix.sh $(ROWS)

build: tree ## unpack, lay over, configure and build the kernel and its modules
	@$(H)/build.sh

build-all: ## a small kernel for each of the other architectures that have kprobes
	@$(H)/all.sh build

test-all: ## boot those that QEMU boots, ours and the pristine kernel beside it; ends with a table
	@$(H)/all.sh test

boot: image ## boot that kernel, run KUnit, print the results (EMULATOR=bochs: not in QEMU)
	@$(H)/boot.sh boot kunit kunit.enable=1 && $(H)/console.py kunit $(OUT)/logs/boot.log

shell: image ## an interactive busybox shell in the guest, modules at hand
	@$(H)/boot.sh shell shell

series: tree ## write out/series/NNNN-*.patch, checked to give the same tree
	@$(H)/series.sh write

series-check: series ## git am the series on the pristine tree, building the kernel at every patch, and booting it once the hooks are new
	@$(H)/series.sh check

base-check: ## whether the patches apply to newer kernels of Debian 12 and 13; ends with "N passed, N failed"
	@$(H)/base.sh

check: series ## checkpatch --strict on the series, sparse and W=1 on our files
	@$(H)/check.sh

docs: ## the documents as HTML, in out/docs, and whether they leave something out
	@$(H)/docs.sh

bench: ## what a hit costs, and what users of BPF, perf and tracefs pay, beside the pristine kernel: tables, out/bench/$ARCH
	@$(H)/bench.sh

compare: ## the kernel's own tests on the pristine kernel and on this one, side by side
	@$(H)/compare.sh

deb: ## Debian packages of the kernel and its headers, out/deb (CONFIG=.config file; a small kernel without)
	@$(H)/deb.sh

deb-check: ## these installed in a Debian of their own, which boots, builds a module, and has tools probe (CONFIG=path, too)
	@$(H)/deb.sh check

clean: ## remove build/ and out/, except the unpacked source and the compiler cache
	@$(H)/clean.sh

distclean: ## remove build/ and out/ altogether
	rm -rf build out

tree: ## unpack the kernel's sources, and lay ours over them: build/tree
	@$(H)/tree.sh

image: build ## the guest's initramfs, with the modules and the tests
	@$(H)/initramfs.sh
