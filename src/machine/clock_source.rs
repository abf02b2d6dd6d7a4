// SPDX-License-Identifier: GPL-2.0-only
//! The hardware that the kernel reads the time from.
//!
//! Source: `Documentation/timers/timekeeping.rst`.

use super::{Root, Unreadable};

/// The file that names it.
pub const FILE: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";

/// The file that names all clock sources of the machine.
const AVAILABLE_FILE: &str = "/sys/devices/system/clocksource/clocksource0/available_clocksource";

/// The clock source in use: `tsc`, `arch_sys_counter`, `hpet`, …
///
/// # Errors
/// When the file exists and cannot be read.
pub fn current(root: &Root) -> Result<Option<String>, Unreadable> {
    root.read(FILE)
}

/// The clock sources that this machine offers.
///
/// # Errors
/// As [`current`].
pub fn available(root: &Root) -> Result<Vec<String>, Unreadable> {
    let names = root.read(AVAILABLE_FILE)?.unwrap_or_default();
    Ok(names.split_whitespace().map(str::to_owned).collect())
}

/// Whether it is a counter of the CPU itself. User mode reads such a counter in some ten
/// nanoseconds.
pub fn is_cpu_counter(name: &str) -> bool {
    // x86, Arm, RISC-V, Power, s390.
    [
        "tsc",
        "arch_sys_counter",
        "riscv_clocksource",
        "timebase",
        "tod",
    ]
    .contains(&name)
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    #[test]
    fn the_source_is_read_and_known() {
        let (_folder, root) = canned(&[(FILE, "hpet\n"), (AVAILABLE_FILE, "tsc hpet \n")]);
        assert_eq!(available(&root).unwrap(), ["tsc", "hpet"]);
        let name = current(&root).unwrap().unwrap();
        assert_eq!(name, "hpet");
        assert!(!is_cpu_counter(&name) && is_cpu_counter("tsc"));
    }
}
