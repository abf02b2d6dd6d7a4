// SPDX-License-Identifier: GPL-2.0-only
//! The kernels of Debian's suites and of the cache, as a table.

use artis_lab::debian::kernel::Listed;

/// A line for each kernel.
pub fn table(kernels: &[Listed]) -> String {
    let mut text = format!(
        "{:<28} {:<7} {:<17} {:<21} {:<9} CACHED\n",
        "RELEASE", "FLAVOUR", "SUITE", "VERSION", "SCHED_EXT"
    );
    for kernel in kernels {
        let cached = if kernel.cached { "yes" } else { "no" };
        let newest = match kernel.newest {
            true => format!(" ({})", kernel.flavour.newest_name()),
            false => String::new(),
        };
        text += &format!(
            "{:<28} {:<7} {:<17} {:<21} {:<9} {cached}{newest}\n",
            kernel.release,
            kernel.flavour,
            kernel.suite,
            kernel.version,
            sched_ext(kernel)
        );
    }
    text
}

fn sched_ext(kernel: &Listed) -> &'static str {
    match kernel.sched_ext {
        Some(true) => "yes",
        Some(false) => "no",
        None => "?",
    }
}
