// SPDX-License-Identifier: GPL-2.0-only
fn main() {
    artis_bpf_build::compile("work", "../bpf/work.bpf.c");
}
