// SPDX-License-Identifier: GPL-2.0-only
fn main() {
    artis_bpf_build::compile("leaks", "leaks/bpf/leaks.bpf.c");
    artis_bpf_build::compile("split", "latency/bpf/split.bpf.c");
}
