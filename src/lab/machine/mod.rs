// SPDX-License-Identifier: GPL-2.0-only
//! One virtual machine, to run one command in, whichever engine runs it.
//!
//! Owns one run: the guest's initramfs, the conversation with the guest ([`session`]), the files
//! that come back ([`output`]) and the record ([`record`]).

pub mod output;
pub mod record;
pub mod session;

use super::Error;
use super::engine::devices::Devices;
use super::engine::observed::Reported;
use super::engine::topology::Topology;
use super::engine::{Engine, Hardware, Power};
use super::host::cache::Cache;
use super::image::Image;
use super::image::file::GuestFile;
use super::kernel::Kernel;
use super::kernel::modules::Module;
use super::progress::Progress;
use output::Unpacked;
use record::{Ended, Record};
use session::{Session, Sinks, Verdict};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// How the kernel's complaint begins when it dies.
const COMPLAINTS: &[&str] = &["BUG: ", "Oops: ", "Kernel panic"];
/// Console lines that are shown when a guest is lost.
const TAIL_LINES: usize = 25;
/// How often a guest that its emulator lost is started again.
const RESTARTS: usize = 2;

/// One virtual machine, to run one command in.
#[derive(Clone, Debug)]
pub struct Machine {
    /// What runs it.
    pub engine: Arc<dyn Engine>,
    /// Where the engine's programs are kept.
    pub cache: Cache,
    /// Kernel to boot.
    pub kernel: Kernel,
    /// The guest's file system, without what this run adds.
    pub system: Arc<Image>,
    /// Virtual CPUs.
    pub cpus: u32,
    /// How they are arranged, if that was asked for; they are so many then.
    pub topology: Option<Topology>,
    /// Memory, MiB.
    pub memory_mib: u32,
    /// More kernel arguments, as on the kernel's command line.
    pub append: String,
    /// Which sample of the guest's behaviour: loads start in another order and at other moments
    /// with each seed.
    pub seed: Option<u64>,
    /// Time limit, from the command's start; none waits for ever. In the guest's own seconds where
    /// its time means something, else in the host's.
    pub timeout: Option<Duration>,
    /// Files to put into the guest.
    pub files: Vec<GuestFile>,
    /// Kernel modules to load before the command, in this order.
    pub modules: Vec<Module>,
    /// What it has beside CPUs and memory; the drivers are among the modules.
    pub devices: Devices,
    /// Host folder for the files that the command writes, the console and the record.
    pub output: PathBuf,
    /// A signal number put here ends the machine; 0 does not.
    pub stop: Arc<AtomicUsize>,
    /// Who hears what it does; the guest does not notice.
    pub reported: Option<Reported>,
}

/// What a run gave.
#[derive(Debug)]
pub struct Outcome {
    /// How it ended.
    pub ended: Ended,
    /// The files that came back; all of them only when [`Outcome::files_whole`].
    pub unpacked: Unpacked,
    /// Did the guest send its files to the end?
    pub files_whole: bool,
    /// The content of `run.json`.
    pub record: Record,
}

impl Machine {
    /// A machine with 2 CPUs, 1 GiB and no time limit.
    pub fn new(
        engine: Arc<dyn Engine>,
        cache: &Cache,
        kernel: Kernel,
        system: Arc<Image>,
        output: PathBuf,
    ) -> Self {
        Self {
            engine,
            cache: cache.clone(),
            kernel,
            system,
            cpus: 2,
            topology: None,
            memory_mib: 1024,
            append: String::new(),
            seed: None,
            timeout: None,
            files: Vec::new(),
            modules: Vec::new(),
            devices: Devices::default(),
            output,
            stop: Arc::default(),
            reported: None,
        }
    }

    /// Boots, runs `command`, passes its output on byte for byte, and brings its files back. Boots
    /// again, at most twice, when a fault of the emulator shows before the command begins.
    ///
    /// The calling thread must live until this returns: the virtual machine dies with it.
    ///
    /// # Errors
    /// When a host tool or file is missing, when the guest does not boot or dies without an exit
    /// status, or when a sink cannot be written.
    pub fn run(
        &self,
        command: &[OsString],
        stdout: &mut dyn Write,
        stderr: &mut dyn Write,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, Error> {
        let once = |progress: &mut dyn Progress| self.run_once(command, stdout, stderr, progress);
        with_restarts(progress, false, once)
    }

    fn run_once(
        &self,
        command: &[OsString],
        stdout: &mut dyn Write,
        stderr: &mut dyn Write,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, Error> {
        self.engine
            .check(self.cpus, self.memory_mib, self.topology, self.devices)?;
        let mirror = &self.kernel.facts.mirror;
        let engine = self.engine.prepare(&self.cache, mirror, progress)?;
        let (console, console_path) = self.prepare_output()?;
        let end = self.engine.end_mark()?;
        let initramfs = self.initramfs(command, &end)?;
        let archive = tempfile::tempfile_in(&self.output)
            .map_err(Error::io("create a file in", &self.output))?;
        let mut started = match &self.reported {
            Some(reported) => engine.start_observed(&self.hardware(), &initramfs, reported)?,
            None => engine.start(&self.hardware(), &initramfs)?,
        };
        if let Some(remark) = &started.remark {
            progress.note(remark);
        }
        drop(initramfs);

        let sinks = Sinks {
            console: &console,
            stdout,
            stderr,
            files: &archive,
        };
        let limits = self.engine.limits(self.timeout, self.cpus);
        let verdict =
            Session::new(started.channels, sinks, &end).run(&limits, &self.stop, progress);
        progress.done();
        let (ended, files_whole) = match verdict? {
            Verdict::Ended { ended, files_whole } => (ended, files_whole),
            Verdict::Lost => {
                let what = "the guest died before the command ended";
                return Err(lost(what, true, started.power.as_mut(), console_path));
            }
            Verdict::Silent(limit) => {
                let what = format!(
                    "the guest has not told its time for {} s and was ended: it hangs, was \
                     stopped, or this machine is too busy for it",
                    limit.as_secs()
                );
                return Err(lost(&what, true, started.power.as_mut(), console_path));
            }
            Verdict::NoBoot => {
                let what = "the guest did not get as far as the command";
                return Err(lost(what, false, started.power.as_mut(), console_path));
            }
        };
        drop(started.power);
        let unpacked = self.unpack(archive, files_whole)?;
        let record = self.record(engine.version()?, command, ended, &unpacked)?;
        Ok(Outcome {
            ended,
            unpacked,
            files_whole,
            record,
        })
    }

    /// Runs `command` as [`Machine::run`] does, and again, at most twice, when the guest is lost by
    /// a fault of the emulator. Returns the command's standard output, of the last run only.
    ///
    /// # Errors
    /// As of [`Machine::run`].
    pub fn run_again_when_lost(
        &self,
        command: &[OsString],
        stderr: &mut dyn Write,
        progress: &mut dyn Progress,
    ) -> Result<(Outcome, Vec<u8>), Error> {
        with_restarts(progress, true, |progress| {
            let mut stdout = Vec::new();
            let outcome = self.run_once(command, &mut stdout, stderr, progress)?;
            Ok((outcome, stdout))
        })
    }

    /// The engine's version, fetched first when it is not in the cache.
    ///
    /// # Errors
    /// When it cannot be fetched or run.
    pub fn engine_version(&self, progress: &mut dyn Progress) -> Result<String, Error> {
        let mirror = &self.kernel.facts.mirror;
        let engine = self.engine.prepare(&self.cache, mirror, progress)?;
        engine.version()
    }

    /// A hash, in hexadecimal digits, of all that decides what this machine does with `command`:
    /// two machines with the same hash do the same, where the engine's runs repeat.
    ///
    /// # Errors
    /// When a file for the guest cannot be read.
    pub fn fingerprint(&self, command: &[OsString], engine_version: &str) -> Result<String, Error> {
        let mut hash = Sha256::new();
        let hardware = self.hardware();
        hash.update(engine_version);
        // The engine that repeats has no topology and no other devices.
        hash.update(format!("{} CPUs, {} MiB", self.cpus, self.memory_mib));
        hash.update(self.engine.own_part(&hardware));
        hash.update(&hardware.arguments);
        let vmlinuz = &self.kernel.vmlinuz;
        let mut kernel = File::open(vmlinuz).map_err(Error::io("read", vmlinuz))?;
        std::io::copy(&mut kernel, &mut hash).map_err(Error::io("read", vmlinuz))?;
        let mut initramfs = self.initramfs(command, &self.engine.end_mark()?)?;
        initramfs
            .seek(SeekFrom::Start(0))
            .and_then(|_| std::io::copy(&mut initramfs, &mut hash))
            .map_err(Error::io("read", Path::new("the initramfs")))?;
        Ok(hash
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect())
    }

    /// What the engine powers on.
    fn hardware(&self) -> Hardware {
        let mut arguments = self.engine.arguments();
        if !self.append.is_empty() {
            arguments.push(' ');
            arguments.push_str(&self.append);
        }
        Hardware {
            cpus: self.cpus,
            topology: self.topology,
            memory_mib: self.memory_mib,
            devices: self.devices,
            vmlinuz: self.kernel.vmlinuz.clone(),
            arguments,
        }
    }

    /// Creates the output folder and removes an earlier run's record.
    fn prepare_output(&self) -> Result<(File, PathBuf), Error> {
        fs::create_dir_all(&self.output).map_err(Error::io("create", &self.output))?;
        let record = self.output.join(record::FILE);
        match fs::remove_file(&record) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(Error::io("remove", &record)(error));
            }
            _ => {}
        }
        let path = self.output.join(record::CONSOLE);
        let console = File::create(&path).map_err(Error::io("create", &path))?;
        Ok((console, path))
    }

    fn initramfs(&self, command: &[OsString], end: &str) -> Result<File, Error> {
        let mut image = Image::clone(&self.system);
        for file in &self.files {
            image.copy(&file.host, &file.guest)?;
        }
        image.add_modules(&self.modules);
        // 0 is no limit; where the guest's time means nothing, the host keeps it.
        let timeout = match self.timeout {
            Some(timeout) if self.engine.is_timing_meaningful() => timeout.as_secs(),
            _ => 0,
        };
        let mut variables = vec![
            ("ARTIS_LAB", self.engine.name().to_owned()),
            ("ARTIS_LAB_KERNEL", self.kernel.facts.release.clone()),
            ("ARTIS_LAB_TIMEOUT", timeout.to_string()),
        ];
        if let Some(seed) = self.seed {
            variables.push((artis_load::seed::VARIABLE, seed.to_string()));
        }
        image.set_run(&self.devices.set_up_for(command), &variables, end);
        let file = self.cache.nameless_file()?;
        image.write(&file)?;
        Ok(file)
    }

    /// Unpacks the archive; an incomplete one gives the files that came whole.
    fn unpack(&self, mut archive: File, whole: bool) -> Result<Unpacked, Error> {
        archive
            .seek(SeekFrom::Start(0))
            .map_err(Error::io("read", &self.output))?;
        match output::unpack(&archive, &self.output) {
            Err(_) if !whole => Ok(Unpacked::default()),
            other => other,
        }
    }

    fn record(
        &self,
        engine_version: String,
        command: &[OsString],
        ended: Ended,
        unpacked: &Unpacked,
    ) -> Result<Record, Error> {
        let facts = self.kernel.facts.clone();
        let record = Record {
            artis: env!("CARGO_PKG_VERSION").to_owned(),
            engine: self.engine.name().to_owned(),
            engine_version,
            timing_meaningful: self.engine.is_timing_meaningful(),
            timing: self.engine.timing().to_owned(),
            seed: self.seed,
            kernel: facts.release,
            flavour: facts.flavour,
            package: facts.package,
            package_version: facts.version,
            suite: facts.suite,
            sched_ext: facts.sched_ext,
            preemption: facts.preemption,
            arguments: self.hardware().arguments,
            cpus: self.cpus,
            topology: self.topology,
            memory_mib: self.memory_mib,
            disk_bytes: self.devices.disk_bytes,
            network: self.devices.network,
            modules: self.modules.iter().map(|one| one.name.clone()).collect(),
            command: command
                .iter()
                .map(|word| word.to_string_lossy().into_owned())
                .collect(),
            ended,
            exit_status: match ended {
                Ended::Exit(status) => Some(status),
                _ => None,
            },
            files: unpacked
                .files
                .iter()
                .map(|path| path.to_string_lossy().into_owned())
                .collect(),
        };
        let path = self.output.join(record::FILE);
        let text = serde_json::to_vec_pretty(&record)
            .map_err(|error| Error::io("write", &path)(error.into()))?;
        fs::write(&path, text).map_err(Error::io("write", &path))?;
        Ok(record)
    }
}

/// Runs a guest, and again, at most twice, when it is lost by a fault of the emulator; when its
/// command had begun only if `also_begun`.
fn with_restarts<T>(
    progress: &mut dyn Progress,
    also_begun: bool,
    mut once: impl FnMut(&mut dyn Progress) -> Result<T, Error>,
) -> Result<T, Error> {
    for restart in 1..=RESTARTS {
        match once(progress) {
            Err(Error::GuestLost {
                fault: Some(fault),
                begun,
                ..
            }) if also_begun || !begun => progress.note(&format!(
                "the guest was lost by a fault of the emulator: {fault}; \
                 starting it again ({restart} of {RESTARTS})"
            )),
            other => return other,
        }
    }
    once(progress)
}

/// The error for a lost guest, with what the console, the emulator and the engine know about it.
/// `begun`: the command had.
fn lost(what: &str, begun: bool, power: &mut dyn Power, console: PathBuf) -> Error {
    let text = fs::read(&console).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let fault = power.fault(&text);
    let mut what = match fault {
        Some(fault) => {
            format!("{what}, by a fault of the emulator: {fault}; run the command again")
        }
        None => what.to_owned(),
    };
    if let Some(complaint) = power.complaint() {
        what = format!("{what}; {complaint}");
    }
    Error::GuestLost {
        what,
        tail: tail(&text),
        console,
        fault,
        begun,
    }
}

/// The lines of the console that say why a guest died, indented: from the kernel's complaint on, or
/// the last lines when there is none.
fn tail(console: &str) -> String {
    let lines: Vec<&str> = console
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    if lines.is_empty() {
        return "  (the console is empty)".to_owned();
    }
    let complaint = |line: &&str| COMPLAINTS.iter().any(|words| line.contains(words));
    let last = lines.len().saturating_sub(TAIL_LINES);
    let from = lines.iter().position(complaint).unwrap_or(last);
    let shown: Vec<String> = lines[from..]
        .iter()
        .take(TAIL_LINES)
        .map(|line| format!("  {line}"))
        .collect();
    shown.join("\n")
}

#[cfg(test)]
mod tests {
    use super::super::progress::Silent;
    use super::*;

    /// A guest that its emulator lost, once and for all.
    fn lost_by_emulator(begun: bool) -> Error {
        Error::GuestLost {
            what: String::new(),
            tail: String::new(),
            console: PathBuf::new(),
            fault: Some("it crashed"),
            begun,
        }
    }

    #[test]
    fn only_a_guest_that_was_lost_before_its_command_is_started_again_by_itself() {
        for (begun, also_begun, times) in [(false, false, 3), (true, false, 1), (true, true, 3)] {
            let mut tries = 0;
            let result = with_restarts(&mut Silent, also_begun, |_| {
                tries += 1;
                Err::<(), _>(lost_by_emulator(begun))
            });
            assert!(result.is_err() && tries == times, "{tries}");
        }
        let mut tries = 0;
        let second = with_restarts(&mut Silent, false, |_| {
            tries += 1;
            (tries == 2).then_some(tries).ok_or(lost_by_emulator(false))
        });
        assert_eq!(second.unwrap(), 2);
    }

    #[test]
    fn the_kernels_complaint_is_shown_and_not_its_long_trace() {
        let noise = "noise\n".repeat(100);
        let shown = tail(&format!("{noise}Kernel panic - not syncing: why\n{noise}"));
        assert!(shown.starts_with("  Kernel panic - not syncing: why\n"));
        assert_eq!(shown.lines().count(), TAIL_LINES);
    }

    #[test]
    fn without_a_complaint_the_last_lines_are_shown() {
        let shown = tail(&format!("{}last\n\n", "noise\n".repeat(100)));
        assert!(shown.ends_with("  last"));
        assert_eq!(shown.lines().count(), TAIL_LINES);
        assert_eq!(tail(""), "  (the console is empty)");
    }
}
