// SPDX-License-Identifier: GPL-2.0-only
//! When the timer tick runs, and how precise timers are.
//!
//! Derived from boot arguments and build configuration; reads no file itself.
//! Source: `Documentation/timers/no_hz.rst`, `Documentation/timers/highres.rst`.

use super::CpuList;
use super::boot_arguments::BootArguments;
use super::build_config::BuildConfig;
use serde::Serialize;
use std::fmt;

/// When the tick runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Always.
    Periodic,
    /// Not on idle CPUs.
    NotIdle,
    /// As `NotIdle`, and some CPUs stop it too while they run a single task (`nohz_full=`).
    Full,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Periodic => "periodic",
            Self::NotIdle => "stops on idle CPUs",
            Self::Full => "stops on idle CPUs, and on nohz_full CPUs with a single task",
        })
    }
}

/// The tick of this kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tick {
    pub mode: Mode,
    /// Ticks a second; none where the build configuration is not known.
    pub hz: Option<u32>,
    /// Whether timers are more precise than the tick.
    pub high_resolution: bool,
}

impl Tick {
    /// What follows from how the kernel was built and booted.
    pub fn new(
        arguments: &BootArguments,
        config: Option<&BuildConfig>,
        nohz_full: &CpuList,
    ) -> Self {
        let off = |name| matches!(arguments.value(name), Some("off" | "0" | "n"));
        let unset = |option| config.is_some_and(|config| !config.is_set(option));
        let mode = if off("nohz") || unset("CONFIG_NO_HZ_COMMON") {
            Mode::Periodic
        } else if nohz_full.is_empty() {
            Mode::NotIdle
        } else {
            Mode::Full
        };
        Self {
            mode,
            hz: config.and_then(|config| config.number("CONFIG_HZ")),
            high_resolution: !off("highres") && !unset("CONFIG_HIGH_RES_TIMERS"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::root::canned;
    use super::*;

    fn tick(cmdline: &str, config: Option<&str>, nohz_full: &str) -> Tick {
        let (_folder, root) = canned(&[("boot/config-1", config.unwrap_or(""))]);
        let read = config.and_then(|_| BuildConfig::read(&root, "1"));
        let nohz_full = CpuList::from_kernel(nohz_full).unwrap();
        Tick::new(&BootArguments::parse(cmdline), read.as_ref(), &nohz_full)
    }

    #[test]
    fn arguments_override_the_configuration() {
        let usual = Some("CONFIG_NO_HZ_COMMON=y\nCONFIG_HIGH_RES_TIMERS=y\nCONFIG_HZ=1000\n");
        let plain = tick("quiet", usual, "");
        assert_eq!((plain.mode, plain.hz), (Mode::NotIdle, Some(1000)));
        assert!(plain.high_resolution);
        assert_eq!(tick("nohz=off", usual, "").mode, Mode::Periodic);
        assert!(!tick("highres=off", usual, "").high_resolution);
        assert_eq!(tick("", usual, "1").mode, Mode::Full);
        assert_eq!(tick("", Some("CONFIG_HZ=100\n"), "").mode, Mode::Periodic);
    }

    #[test]
    fn what_is_not_known_is_assumed_to_be_usual() {
        let tick = tick("", None, "");
        assert_eq!((tick.mode, tick.hz), (Mode::NotIdle, None));
        assert!(tick.high_resolution);
    }
}
