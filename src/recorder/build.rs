// SPDX-License-Identifier: GPL-2.0-only
fn main() {
    artis_bpf_build::generate_constants("bpf/recorder.h", "RECORDER_");
    artis_bpf_build::compile("recorder", "bpf/recorder.bpf.c");
}
