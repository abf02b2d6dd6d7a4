// SPDX-License-Identifier: GPL-2.0-only
#![no_main]

libfuzzer_sys::fuzz_target!(|content: &[u8]| artis_fuzz::import("rt-tests-json", content));
