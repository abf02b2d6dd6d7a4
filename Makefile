# SPDX-License-Identifier: GPL-2.0-only
# `make demo`, `make check` and `make test` are for everybody, `make bench` for who doubts a claim,
# `make install` and `make deb` for who wants it on a machine.
# Everything else is cargo's business.

# Where `make install` installs, and what it puts before that.
PREFIX ?= /usr/local
SYSCONFDIR ?= /etc
DESTDIR ?=
# Where rustup puts cargo, for shells that have not read its profile yet.
export PATH := $(PATH):$(HOME)/.cargo/bin

help:
	@echo 'make demo   install what is needed, build, and see what artis gives and what it costs:'
	@echo '            four configurations in an emulator whose figures repeat (5 minutes, then seconds)'
	@echo 'make check  formatting, lints, unit and host tests, no virtual machine: under 90 s once it is built'
	@echo 'make test   what a change needs: the same and real kernels in virtual machines, 18 minutes when built'
	@echo 'make soak   the tests with long counts, hours (ARTIS_SOAK=2: twice as long)'
	@echo 'make kernels try artis on each kernel from 6.16 on, for the table of docs/kernels.md (an hour)'
	@echo 'make results  measure what the pages show, and write their figures (hours; goes on when'
	@echo '            interrupted); ONLY="demo": of these experiments; SHORT=1: only print both promises'
	@echo '            and their gates (10 minutes)'
	@echo 'make predict  compare the simulator with the lab, and write the table (hours; goes on when'
	@echo '            interrupted); SHORT=1: four scenarios, only printed'
	@echo 'make pages  write the pages again, from the results that are there'
	@echo 'make bench  what artis claims of its own speed, measured beside other tools (quiet machine, root)'
	@echo 'make build  build what is installed: both programs, man pages, completions of shells'
	@echo 'make install, make uninstall  what was built, below PREFIX (/usr/local) in DESTDIR'
	@echo 'make deb    a Debian package in target/debian (needs cargo-deb)'
	@echo 'make deb-test  install, start, upgrade and remove it in a fresh Debian 13 (root, debootstrap)'
	@echo 'make setup  only install what is needed (apt, through sudo when not root)'

setup:
	@scripts/setup

# What only tests need, compiled once.
test-tools: setup
	@scripts/test-tools

demo: setup
	cargo build --release --bins
	@target/release/artis lab experiment lab/demo.toml --brief --json target/demo.json
	@target/release/artis report target/demo.json --allow-unequal-samples -o target/demo.html

check: test-tools
	@scripts/test check

test: test-tools
	@scripts/test

soak: setup
	@scripts/test soak
	@scripts/fuzz

kernels: setup
	cargo build --release --bins
	cargo build --example probe
	@scripts/kernels

# SHORT=1: three rows, two seeds; nothing is written into documents. ONLY=NAMES: these experiments.
results: setup
	cargo build --release --bins
	cargo build --release -p artis-results
	@target/release/artis-results $(if $(SHORT),short,$(if $(ONLY),only $(ONLY)))

# SHORT=1: four scenarios, and nothing is written into documents.
predict: setup
	cargo build --release --bins
	cargo build --release -p artis-results
	@target/release/artis-results predict $(if $(SHORT),short)

# The pages again, from the results that are there.
pages:
	@cargo run --release --quiet -p artis-results -- pages

build:
	cargo build --release --bins
	cargo run --release --quiet -p artis-pages -- target/share

# Not made from `build`: root installs what a user built.
install uninstall:
	@PREFIX='$(PREFIX)' SYSCONFDIR='$(SYSCONFDIR)' DESTDIR='$(DESTDIR)' scripts/install $@

deb: build
	@scripts/deb

deb-test: deb
	@scripts/deb-test

bench: setup
	cargo bench --bench cyclictest
	cargo bench --bench explain

.PHONY: help setup test-tools demo check test soak kernels results predict pages build install uninstall deb deb-test bench
