// SPDX-License-Identifier: GPL-2.0-only
//! The kernels of a distribution and of the cache, as a table.

/// A kernel, as the table shows it.
pub struct Kernel<'a> {
    pub release: &'a str,
    pub flavour: String,
    pub suite: &'a str,
    pub version: &'a str,
    /// Can it load a sched_ext scheduler? None: not known.
    pub sched_ext: Option<bool>,
    pub is_cached: bool,
    /// The name that asks for it, if it is the newest of its flavour.
    pub newest: Option<&'a str>,
}

/// A line for each kernel.
pub fn table<'a>(kernels: impl IntoIterator<Item = Kernel<'a>>) -> String {
    let mut text = format!(
        "{:<28} {:<7} {:<17} {:<21} {:<9} CACHED\n",
        "RELEASE", "FLAVOUR", "SUITE", "VERSION", "SCHED_EXT"
    );
    for kernel in kernels {
        let cached = if kernel.is_cached { "yes" } else { "no" };
        let newest = kernel.newest.map(|name| format!(" ({name})"));
        let newest = newest.unwrap_or_default();
        let sched_ext = match kernel.sched_ext {
            Some(true) => "yes",
            Some(false) => "no",
            None => "?",
        };
        text += &format!(
            "{:<28} {:<7} {:<17} {:<21} {sched_ext:<9} {cached}{newest}\n",
            kernel.release, kernel.flavour, kernel.suite, kernel.version,
        );
    }
    text
}
