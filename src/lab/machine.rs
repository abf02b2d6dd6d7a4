// SPDX-License-Identifier: GPL-2.0-only
//! One virtual machine, to run one command in, whichever engine runs it.

use super::devices::Devices;
use super::emulator::Emulator;
use super::engine::{Engine, process::Process};
use super::image::{GuestFile, Image, Own, Programs};
use super::kernel::Kernel;
use super::modules::Module;
use super::output::{self, Unpacked};
use super::progress::Progress;
use super::record::{self, Ended, Record};
use super::session::{Session, Sinks, Verdict};
use super::{Error, cache::Cache};
use sha2::{Digest, Sha256};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// How the kernel begins to say why it dies.
const COMPLAINTS: &[&str] = &["BUG: ", "Oops: ", "Kernel panic"];
/// Console lines shown when a guest is lost.
const TAIL_LINES: usize = 25;

/// One virtual machine, to run one command in.
#[derive(Clone, Debug)]
pub struct Machine {
    /// What runs it.
    pub engine: Engine,
    /// Kernel to boot.
    pub kernel: Kernel,
    /// The programs of artis itself, for the guest.
    pub own: Own,
    /// The other programs that the guest gets.
    pub programs: Programs,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Memory, MiB.
    pub memory_mib: u32,
    /// More kernel arguments, as one would write them on the kernel's command line.
    pub append: String,
    /// Which sample of the guest's behaviour: loads start in another order and at other moments
    /// with each seed.
    pub seed: Option<u64>,
    /// Time limit, from the command's start; none waits for ever. The guest's own seconds where
    /// its time means something, else the host's.
    pub timeout: Option<Duration>,
    /// Files to put into the guest.
    pub files: Vec<GuestFile>,
    /// Kernel modules to load before the command, in this order.
    pub modules: Vec<Module>,
    /// What it has beside CPUs and memory; the drivers are among the modules.
    pub devices: Devices,
    /// Host folder for the files the command writes, the console and the record.
    pub output: PathBuf,
    /// A signal number put here ends the machine; 0 does not.
    pub stop: Arc<AtomicUsize>,
}

/// What a machine takes from the host, asked of it once: see [`Machine::host`].
#[derive(Debug)]
pub struct Host {
    engine_version: String,
    system: Image,
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
    /// What stands in `run.json` too.
    pub record: Record,
}

impl Machine {
    /// A machine with 2 CPUs, 1 GiB, no time limit, and this process's own artis.
    ///
    /// # Errors
    /// When this machine is not x86-64, this program's own file cannot be named, or artis-guest is
    /// not beside it.
    pub fn new(engine: Engine, kernel: Kernel, output: PathBuf) -> Result<Self, Error> {
        if std::env::consts::ARCH != "x86_64" {
            return Err(Error::Architecture(std::env::consts::ARCH));
        }
        let artis =
            std::env::current_exe().map_err(Error::io("find", Path::new("/proc/self/exe")))?;
        Ok(Self {
            engine,
            kernel,
            own: Own::beside(artis)?,
            programs: Programs::All,
            cpus: 2,
            memory_mib: 1024,
            append: String::new(),
            seed: None,
            timeout: None,
            files: Vec::new(),
            modules: Vec::new(),
            devices: Devices::default(),
            output,
            stop: Arc::default(),
        })
    }

    /// Boots, runs `command`, passes its output on byte for byte, and brings its files back.
    ///
    /// The calling thread must live until this returns: the virtual machine dies with it.
    ///
    /// # Errors
    /// When a host tool or file is missing, when the guest does not boot or dies without an
    /// exit status, or when a sink cannot be written to.
    pub fn run(
        &self,
        command: &[OsString],
        stdout: &mut dyn Write,
        stderr: &mut dyn Write,
        progress: &mut dyn Progress,
    ) -> Result<Outcome, Error> {
        let check = self.engine.check(self.devices);
        check.map_err(|error| Error::Program {
            program: self.engine.name().to_owned(),
            reason: error.to_string(),
        })?;
        let cache = Cache::per_user()?;
        let mirror = &self.kernel.facts.mirror;
        let emulator = Emulator::resolve(self.engine.wanted(), &cache, mirror, progress)?;
        let (console, console_path) = self.prepare_output()?;
        let end = self.engine.end_mark()?;
        let system = Image::new(&self.own, self.programs)?;
        let initramfs = self.initramfs(system, command, &end)?;
        let archive = tempfile::tempfile_in(&self.output)
            .map_err(Error::io("create a file in", &self.output))?;
        let mut started = self.engine.start(self, &emulator, &initramfs)?;
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
        let limits = self.engine.limits(self);
        let verdict =
            Session::new(started.channels, sinks, &end).run(&limits, &self.stop, progress);
        progress.done();
        let (ended, files_whole) = match verdict? {
            Verdict::Ended { ended, files_whole } => (ended, files_whole),
            Verdict::Lost => {
                let what = "the guest died before the command ended";
                return Err(self.lost(what, &mut started.process, console_path));
            }
            Verdict::NoBoot => {
                let what = "the guest did not get as far as the command";
                return Err(self.lost(what, &mut started.process, console_path));
            }
        };
        drop(started.process);
        let unpacked = self.unpack(archive, files_whole)?;
        let record = self.record(&emulator, command, ended, &unpacked)?;
        Ok(Outcome {
            ended,
            unpacked,
            files_whole,
            record,
        })
    }

    /// What this machine takes from the host; the same for every machine with its engine and
    /// programs, as long as nobody changes the host.
    ///
    /// # Errors
    /// As [`Machine::run`], before anything is booted.
    pub fn host(&self, progress: &mut dyn Progress) -> Result<Host, Error> {
        let cache = Cache::per_user()?;
        let mirror = &self.kernel.facts.mirror;
        let emulator = Emulator::resolve(self.engine.wanted(), &cache, mirror, progress)?;
        Ok(Host {
            engine_version: self.engine.version(&emulator)?,
            system: Image::new(&self.own, self.programs)?,
        })
    }

    /// A hash of all that decides what this machine will do with `command`: two machines with the
    /// same one do the same, where the engine's runs repeat. In hexadecimal digits.
    ///
    /// # Errors
    /// When a file for the guest cannot be read.
    pub fn fingerprint(&self, command: &[OsString], host: &Host) -> Result<String, Error> {
        let mut hash = Sha256::new();
        hash.update(&host.engine_version);
        // The engine that repeats has no other devices.
        hash.update(format!("{} CPUs, {} MiB", self.cpus, self.memory_mib));
        hash.update(self.engine.own_part(self));
        hash.update(self.engine.arguments(self));
        let vmlinuz = &self.kernel.vmlinuz;
        let mut kernel = File::open(vmlinuz).map_err(Error::io("read", vmlinuz))?;
        std::io::copy(&mut kernel, &mut hash).map_err(Error::io("read", vmlinuz))?;
        let system = host.system.clone();
        let mut initramfs = self.initramfs(system, command, &self.engine.end_mark()?)?;
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

    fn lost(&self, what: &str, process: &mut Process, console: PathBuf) -> Error {
        let text = fs::read(&console).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let what = match self.engine.fault(process, &text) {
            Some(fault) => {
                format!("{what}, by a fault of the emulator: {fault}; run the command again")
            }
            None => what.to_owned(),
        };
        Error::GuestLost {
            what: process.last_words(&what),
            tail: tail(&text),
            console,
        }
    }

    /// Makes the output folder and removes what an earlier run said about itself.
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

    fn initramfs(&self, mut image: Image, command: &[OsString], end: &str) -> Result<File, Error> {
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
            variables.push((crate::load::seed::VARIABLE, seed.to_string()));
        }
        image.set_run(&self.devices.set_up_for(command), &variables, end);
        let file = Cache::per_user()?.nameless_file()?;
        image.write(&file)?;
        Ok(file)
    }

    /// Unpacks the archive; a cut one gives the files that came whole.
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
        emulator: &Emulator,
        command: &[OsString],
        ended: Ended,
        unpacked: &Unpacked,
    ) -> Result<Record, Error> {
        let facts = self.kernel.facts.clone();
        let record = Record {
            artis: env!("CARGO_PKG_VERSION").to_owned(),
            engine: self.engine.name().to_owned(),
            engine_version: self.engine.version(emulator)?,
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
            arguments: self.engine.arguments(self),
            cpus: self.cpus,
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

/// The lines of the console that tell why a guest died, indented: from the kernel's complaint
/// on, else the last ones.
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
    let told: Vec<String> = lines[from..]
        .iter()
        .take(TAIL_LINES)
        .map(|line| format!("  {line}"))
        .collect();
    told.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

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
