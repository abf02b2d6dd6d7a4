// SPDX-License-Identifier: GPL-2.0-only
#![no_main]

use std::sync::LazyLock;

/// Which reader: `ARTIS_READER`.
static READER: LazyLock<Box<dyn Fn(&[u8]) + Send + Sync>> = LazyLock::new(|| {
    let name = std::env::var("ARTIS_READER").unwrap_or_default();
    artis_fuzz::reader(&name).unwrap_or_else(|| {
        panic!("ARTIS_READER is {name:?}; write one of: {}", artis_fuzz::names().join(" "))
    })
});

libfuzzer_sys::fuzz_target!(|content: &[u8]| READER(content));
