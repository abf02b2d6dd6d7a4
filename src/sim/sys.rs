// SPDX-License-Identifier: GPL-2.0-only
//! The border to the scheduler, `native/sim.h`, for Rust. Generated.

#![allow(
    clippy::all,
    dead_code,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unnecessary_transmutes,
    unsafe_op_in_unsafe_fn,
    reason = "generated from C"
)]

include!(concat!(env!("OUT_DIR"), "/sys.rs"));

unsafe extern "C" {
    /// The scheduler that is compiled from the text that the kernel runs.
    pub static mut artis_sim_scheduler: sim_scheduler;
}
