// SPDX-License-Identifier: GPL-2.0-only
//! The generated skeleton of `bpf/artis.bpf.c`, and the names of its counters.

#![allow(clippy::all, missing_docs)]

include!(concat!(env!("OUT_DIR"), "/artis.skel.rs"));
include!(concat!(env!("OUT_DIR"), "/counters.rs"));
