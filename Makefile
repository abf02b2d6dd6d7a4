# SPDX-License-Identifier: GPL-2.0-only
# `make demo`, `make check` and `make test` are for everybody, `make bench` for who doubts a claim.
# Everything else is cargo's business.

# newest, newest-rt, or a name from `artis lab kernels`
KERNEL ?= newest
# Where rustup puts cargo, for shells that have not read its profile yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

help:
	@echo 'make demo   install what is needed, build, and see artis beside the stock scheduler'
	@echo '            on a stock kernel in a virtual machine (KERNEL=newest-rt: another kernel)'
	@echo 'make check  formatting, lints, unit and host tests, no virtual machine: 90 s once it is built'
	@echo 'make test   what a change needs: the same and real kernels in virtual machines, 25 minutes'
	@echo 'make soak   the tests with long counts, hours (ARTIS_SOAK=2: twice as long)'
	@echo 'make kernels try artis on each kernel from 6.16 on, for the table of docs/kernels.md (an hour)'
	@echo 'make table1 measure docs/results/table1.json again (40 minutes; goes on when interrupted)'
	@echo 'make bench  what artis claims of its own speed, measured beside other tools (quiet machine, root)'
	@echo 'make setup  only install what is needed (apt, through sudo when not root)'

setup:
	@scripts/setup

demo: setup
	cargo build --release
	@mkdir -p target
	cargo run --release --quiet -- lab demo --kernel $(KERNEL) --json target/demo.json

check: setup
	@scripts/test check

test: setup
	@scripts/test

soak: setup
	@scripts/test soak

kernels: setup
	cargo build --release --bins
	cargo build --example probe
	@scripts/kernels

table1: setup
	cargo build --release
	@scripts/table1

bench: setup
	cargo bench --bench cyclictest
	cargo bench --bench explain

.PHONY: help setup demo check test soak kernels table1 bench
