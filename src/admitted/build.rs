// SPDX-License-Identifier: GPL-2.0-only
fn main() {
    artis_bpf_build::compile("jobs", "bpf/jobs.bpf.c");
}
