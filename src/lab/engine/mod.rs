// SPDX-License-Identifier: GPL-2.0-only
//! The engines: what runs a guest, and what its times are worth.
//!
//! | engine  | for      | its time                                                          |
//! |---------|----------|-------------------------------------------------------------------|
//! | `qemu`  | function | follows the host's clock while instructions are translated: none  |
//! | `bochs` | figures  | counts instructions, all CPUs in lock step: the same in every run |
//!
//! Both are given the same machine ([`super::machine`]) and the same guest; each knows how to
//! put them before its emulator.

pub mod bochs;
pub(super) mod process;
pub mod qemu;

use super::Error;
use super::devices::{Devices, NoDevice};
use super::emulator::Emulator;
use super::machine::Machine;
use super::session::{Channels, Limits};
use process::Process;
use serde::{Deserialize, Serialize};
use std::fs::File;

/// Which engine runs the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// Boots in seconds; no time taken in it means anything
    Qemu,
    /// Slow and exact: virtual time counts instructions, every run is the same
    Bochs,
}

/// A guest that has been powered on.
pub(super) struct Started {
    pub process: Process,
    pub channels: Channels,
    /// What the user should know of how it was started.
    pub remark: Option<String>,
}

impl Engine {
    /// Its name in results and on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Qemu => "qemu",
            Self::Bochs => "bochs",
        }
    }

    /// What every output of it says about times.
    pub fn timing(self) -> &'static str {
        match self {
            Self::Qemu => qemu::TIMING_WARNING,
            Self::Bochs => bochs::TIMING,
        }
    }

    /// Do times taken in the guest mean anything?
    pub fn is_timing_meaningful(self) -> bool {
        self == Self::Bochs
    }

    /// Whether it can give a guest these devices.
    ///
    /// # Errors
    /// When it cannot.
    pub fn check(self, devices: Devices) -> Result<(), NoDevice> {
        match (self, devices.first()) {
            (Self::Bochs, Some((device, option))) => Err(NoDevice {
                engine: self.name(),
                device,
                option,
            }),
            _ => Ok(()),
        }
    }

    /// What ends the guest's streams. Another one in every run where that changes nothing.
    pub(super) fn end_mark(self) -> Result<String, Error> {
        match self {
            Self::Qemu => super::protocol::end_mark(),
            Self::Bochs => Ok(bochs::END_MARK.to_owned()),
        }
    }

    pub(super) fn limits(self, machine: &Machine) -> Limits {
        match self {
            Self::Qemu => qemu::limits(machine),
            Self::Bochs => bochs::limits(),
        }
    }

    pub(super) fn wanted(self) -> super::emulator::Wanted {
        match self {
            Self::Qemu => qemu::QEMU,
            Self::Bochs => bochs::BOCHS,
        }
    }

    /// The whole kernel command line.
    pub(super) fn arguments(self, machine: &Machine) -> String {
        let own = match self {
            Self::Qemu => qemu::ARGUMENTS,
            Self::Bochs => bochs::ARGUMENTS,
        };
        let mut arguments = own.join(" ");
        if !machine.append.is_empty() {
            arguments.push(' ');
            arguments.push_str(&machine.append);
        }
        arguments
    }

    /// What of the engine itself decides what a guest does, where that repeats.
    pub(super) fn own_part(self, machine: &Machine) -> Vec<u8> {
        match self {
            Self::Qemu => Vec::new(),
            Self::Bochs => bochs::own_part(machine),
        }
    }

    pub(super) fn start(
        self,
        machine: &Machine,
        emulator: &Emulator,
        initramfs: &File,
    ) -> Result<Started, Error> {
        match self {
            Self::Qemu => qemu::start(machine, emulator, initramfs),
            Self::Bochs => bochs::start(machine, emulator, initramfs),
        }
    }

    /// What the emulator did wrong, if the guest was lost by that.
    pub(super) fn fault(self, process: &mut Process, console: &str) -> Option<&'static str> {
        if process.crashed() {
            return Some("it crashed");
        }
        match self {
            Self::Qemu => qemu::ran_replaced_code(console)
                .then_some("it ran code that the guest's kernel had replaced"),
            Self::Bochs => None,
        }
    }

    /// What the emulator calls itself: the first words it says.
    pub(super) fn version(self, emulator: &Emulator) -> Result<String, Error> {
        let mut command = match self {
            Self::Qemu => emulator.command(),
            Self::Bochs => bochs::command(emulator),
        };
        let argument = match self {
            Self::Qemu => "--version",
            Self::Bochs => "--help",
        };
        let said = super::tool::output(command.arg(argument))?;
        let said = String::from_utf8_lossy(&said);
        let first = said
            .lines()
            .map(|line| line.trim_matches([' ', '=']))
            .find(|line| !line.is_empty());
        Ok(first.unwrap_or_default().to_owned())
    }
}
