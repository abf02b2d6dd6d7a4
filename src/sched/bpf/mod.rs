// SPDX-License-Identifier: GPL-2.0-only
//! The generated skeleton of `bpf/artis.bpf.c`, and what else is read from `bpf/intf.h`.

#![allow(clippy::all, missing_docs, reason = "generated")]

include!(concat!(env!("OUT_DIR"), "/artis.skel.rs"));
include!(concat!(env!("OUT_DIR"), "/counters.rs"));
pub use constants::{CPUS_MAX, LLCS_MAX};

mod constants {
    #![allow(dead_code, reason = "generated")]
    include!(concat!(env!("OUT_DIR"), "/constants.rs"));
}

#[cfg(test)]
mod tests {
    use super::COUNTERS;

    #[test]
    fn the_page_of_the_scheduler_has_each_counter() {
        let page = include_str!("../../../docs/scheduler.md");
        for (name, _) in COUNTERS {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
