// SPDX-License-Identifier: GPL-2.0-only
//! The engines: what runs a guest, and what its times are worth.
//!
//! | engine        | for      | its time                                                         |
//! |---------------|----------|------------------------------------------------------------------|
//! | `qemu`        | function | follows the host's clock while instructions are translated: none |
//! | `qemu-icount` | the same | counts instructions, idle time passes at once: no busy host's    |
//! | `bochs`       | figures  | counts instructions, all CPUs in lock step: the same in each run |
//!
//! An engine knows nothing about commands, files or results: it gets a description of the hardware
//! ([`Hardware`]) and an initramfs, and returns the guest's streams.

pub mod accesses;
pub mod bochs;
pub mod devices;
#[cfg(test)]
pub(crate) mod fake;
pub mod observed;
mod process;
pub mod qemu;
pub mod topology;

use super::Error;
use super::host::cache::Cache;
use super::host::tool;
use super::progress::Progress;
use devices::Devices;
use observed::Reported;
use std::fmt::Debug;
use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;
use topology::Topology;

/// The engines, as the command line names them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// Boots in seconds; times taken in it mean nothing
    Qemu,
    /// The same, but its time counts instructions: no host is too busy for it, and sleep takes less
    QemuIcount,
    /// Slow and exact: virtual time counts instructions, every run is the same
    Bochs,
}

impl Kind {
    /// The engine of this name.
    pub fn engine(self) -> Arc<dyn Engine> {
        match self {
            Self::Qemu => Arc::new(qemu::Qemu(qemu::Clock::Host)),
            Self::QemuIcount => Arc::new(qemu::Qemu(qemu::Clock::Instructions)),
            Self::Bochs => Arc::new(bochs::Bochs),
        }
    }
}

/// What an engine powers on.
#[derive(Clone, Debug)]
pub struct Hardware {
    /// Virtual CPUs.
    pub cpus: u32,
    /// How they are arranged, if that was asked for; they are so many then.
    pub topology: Option<Topology>,
    /// Memory, MiB.
    pub memory_mib: u32,
    /// What else it has.
    pub devices: Devices,
    /// The kernel's bootable image.
    pub vmlinuz: PathBuf,
    /// The whole kernel command line.
    pub arguments: String,
}

/// How long things may take, by the host's clock.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// From power-on to "ready".
    pub boot: Duration,
    /// From "ready" to the command's end; none is no limit.
    pub command: Option<Duration>,
    /// Between two messages of a guest that sends the time; none for one that does not.
    pub silence: Option<Duration>,
    /// Powering off. The machine is killed then; nothing is lost any more.
    pub power_off: Duration,
}

/// The host's ends of a guest's streams.
pub struct Channels {
    /// The kernel's console.
    pub console: UnixStream,
    /// Control port.
    pub control: UnixStream,
    /// The command's standard output.
    pub stdout: UnixStream,
    /// The command's standard error.
    pub stderr: UnixStream,
    /// The archive of its files.
    pub files: UnixStream,
}

/// What runs guests.
pub trait Engine: Debug + Send + Sync {
    /// Its name in results and on the command line.
    fn name(&self) -> &'static str;

    /// What every output of it says about times.
    fn timing(&self) -> &'static str;

    /// Do times taken in the guest mean anything?
    fn is_timing_meaningful(&self) -> bool;

    /// Whether it can give a guest so many CPUs, arranged like this, so many MiB of memory, and
    /// these devices. An engine without limits of its own can.
    ///
    /// # Errors
    /// [`Error::TooManyCpus`], [`Error::TooMuchMemory`], [`Error::NoDevice`].
    fn check(
        &self,
        _cpus: u32,
        _memory_mib: u32,
        _topology: Option<Topology>,
        _devices: Devices,
    ) -> Result<(), Error> {
        Ok(())
    }

    /// What ends the guest's streams: another mark in every run, where that changes no figure.
    ///
    /// # Errors
    /// When the system gives no random bits.
    fn end_mark(&self) -> Result<String, Error>;

    /// How long things may take when the command gets so long, in a guest with so many CPUs.
    fn limits(&self, command: Option<Duration>, cpus: u32) -> Limits;

    /// Kernel arguments of every guest.
    fn arguments(&self) -> String;

    /// The parts of the engine itself that decide what a guest does, where that repeats; none
    /// where it does not.
    fn own_part(&self, _hardware: &Hardware) -> Vec<u8> {
        Vec::new()
    }

    /// Its programs, fetched from `mirror` into the cache first when they are not there.
    ///
    /// # Errors
    /// When they cannot be fetched.
    fn prepare(
        &self,
        cache: &Cache,
        mirror: &str,
        progress: &mut dyn Progress,
    ) -> Result<Box<dyn Prepared>, Error>;
}

/// An engine whose programs are there.
pub trait Prepared {
    /// The emulator's name and version in its own words.
    ///
    /// # Errors
    /// When it does not say.
    fn version(&self) -> Result<String, Error>;

    /// Powers a guest on.
    ///
    /// # Errors
    /// When the emulator cannot be started, or the guest does not fit.
    fn start(&self, hardware: &Hardware, initramfs: &File) -> Result<Started, Error>;

    /// Powers the same guest on, and reports what it does. The guest must not notice.
    ///
    /// # Errors
    /// As of [`Prepared::start`], and when the engine cannot report that.
    fn start_observed(
        &self,
        _hardware: &Hardware,
        _initramfs: &File,
        _reported: &Reported,
    ) -> Result<Started, Error> {
        Err(Error::NotObservable)
    }
}

/// A guest that has been powered on.
pub struct Started {
    /// What runs it.
    pub power: Box<dyn Power>,
    /// Its streams.
    pub channels: Channels,
    /// What the user should know about how it was started.
    pub remark: Option<String>,
}

/// A guest's machine; switched off when dropped.
pub trait Power {
    /// What the emulator did wrong, if the guest was lost by that; `console` is what the kernel
    /// said.
    fn fault(&mut self, console: &str) -> Option<&'static str>;

    /// What the emulator itself complained about, if it did.
    fn complaint(&mut self) -> Option<String>;
}

impl Channels {
    /// The host's ends, and the guest's in the same order.
    fn new() -> Result<(Self, [UnixStream; 5]), Error> {
        let ends = [pair()?, pair()?, pair()?, pair()?, pair()?];
        let [
            (console, a),
            (control, b),
            (stdout, c),
            (stderr, d),
            (files, e),
        ] = ends;
        let host = Self {
            console,
            control,
            stdout,
            stderr,
            files,
        };
        Ok((host, [a, b, c, d, e]))
    }
}

/// Two connected sockets: the host's end and the guest's.
fn pair() -> Result<(UnixStream, UnixStream), Error> {
    UnixStream::pair().map_err(|error| Error::Program {
        program: "socketpair".to_owned(),
        reason: error.to_string(),
    })
}

/// A new end mark.
fn random_end_mark() -> Result<String, Error> {
    use artis_guest::protocol::{RANDOM, end_mark};
    end_mark().map_err(Error::io("read", Path::new(RANDOM)))
}

/// The first words that a command prints: the version of an emulator.
fn first_words(command: &mut Command) -> Result<String, Error> {
    let said = tool::output(command)?;
    let said = String::from_utf8_lossy(&said);
    let mut lines = said.lines().map(|line| line.trim_matches([' ', '=']));
    let first = lines.find(|line| !line.is_empty());
    Ok(first.unwrap_or_default().to_owned())
}
