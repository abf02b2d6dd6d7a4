// SPDX-License-Identifier: GPL-2.0-only
fn main() {
    artis_bpf_build::generate_constants("bpf/watch.h", "WATCH_");
    artis_bpf_build::compile("watch", "bpf/watch.bpf.c");
}
