// SPDX-License-Identifier: GPL-2.0-only
//! The engine QEMU: an emulated PC that needs no privileges and no hardware support.
//!
//! TCG translates every instruction, so any x86-64 host boots any kernel in seconds; and
//! virtual time follows the host's clock, so no time taken in this guest means anything.

use super::emulator::{Emulator, Wanted};
use super::image::{GuestFile, Image};
use super::kernel::Kernel;
use super::modules::Module;
use super::output::{self, Unpacked};
use super::progress::Progress;
use super::protocol;
use super::record::{self, Ended, Record};
use super::session::{Channels, Session, Sinks, Verdict};
use super::{Error, cache::Cache, tool};
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// What every output of this engine says about times.
pub const TIMING_WARNING: &str = "timing not meaningful: emulated CPU (QEMU TCG)";

/// QEMU, and where its packages keep the firmware.
const QEMU: Wanted = Wanted {
    package: "qemu-system-x86",
    program: "usr/bin/qemu-system-x86_64",
};
const FIRMWARE: [&str; 2] = ["usr/share/qemu", "usr/share/seabios"];

/// Kernel arguments of every guest.
const ARGUMENTS: &[&str] = &[
    // The first serial line is the console that we keep.
    "console=ttyS0",
    // Warnings and worse; the rest would slow the boot. The guest's init turns it up later.
    "loglevel=5",
    // A panic, and an oops is one here, ends the machine at once instead of hanging it.
    "panic=-1",
    "oops=panic",
    // All virtual CPUs see one host clock. Without this the kernel may doubt it and fall back
    // to a clock that costs an exit to the emulator each time it is read.
    "tsc=reliable",
];

/// How the kernel begins to say why it dies.
const COMPLAINTS: &[&str] = &["BUG: ", "Oops: ", "Kernel panic"];
/// Console lines shown when a guest is lost.
const TAIL_LINES: usize = 25;

/// One virtual machine, to run one command in.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Kernel to boot.
    pub kernel: Kernel,
    /// The artis binary that the guest gets.
    pub artis: PathBuf,
    /// Virtual CPUs.
    pub cpus: u32,
    /// Memory, MiB.
    pub memory_mib: u32,
    /// More kernel arguments, as one would write them on the kernel's command line.
    pub append: String,
    /// Time limit, from the command's start; none waits for ever.
    pub timeout: Option<Duration>,
    /// Files to put into the guest.
    pub files: Vec<GuestFile>,
    /// Kernel modules to load before the command, in this order.
    pub modules: Vec<Module>,
    /// Host folder for the files the command writes, the console and the record.
    pub output: PathBuf,
    /// A signal number put here ends the machine; 0 does not.
    pub stop: Arc<AtomicUsize>,
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
    /// When this machine is not x86-64, or this program's own file cannot be named.
    pub fn new(kernel: Kernel, output: PathBuf) -> Result<Self, Error> {
        if std::env::consts::ARCH != "x86_64" {
            return Err(Error::Architecture(std::env::consts::ARCH));
        }
        let artis =
            std::env::current_exe().map_err(Error::io("find", Path::new("/proc/self/exe")))?;
        Ok(Self {
            kernel,
            artis,
            cpus: 2,
            memory_mib: 1024,
            append: String::new(),
            timeout: None,
            files: Vec::new(),
            modules: Vec::new(),
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
        let cache = Cache::per_user()?;
        let qemu = Emulator::resolve(QEMU, &cache, &self.kernel.facts.mirror, progress)?;
        let (console, console_path) = self.prepare_output()?;
        let end = protocol::end_mark()?;
        let initramfs = self.initramfs(command, &end)?;
        let archive = tempfile::tempfile_in(&self.output)
            .map_err(Error::io("create a file in", &self.output))?;
        let (mut guest, channels) = self.start(&qemu, &initramfs)?;
        drop(initramfs);

        let sinks = Sinks {
            console: &console,
            stdout,
            stderr,
            files: &archive,
        };
        let verdict = Session::new(channels, sinks, &end).run(self.timeout, &self.stop, progress);
        progress.done();
        let lost = |what: &str, guest: &mut Guest| Error::GuestLost {
            what: guest.last_words(what),
            tail: tail(&console_path),
            console: console_path.clone(),
        };
        let (ended, files_whole) = match verdict? {
            Verdict::Ended { ended, files_whole } => (ended, files_whole),
            Verdict::Lost => {
                return Err(lost("the guest died before the command ended", &mut guest));
            }
            Verdict::NoBoot => {
                return Err(lost(
                    "the guest did not get as far as the command",
                    &mut guest,
                ));
            }
        };
        drop(guest);
        let unpacked = self.unpack(archive, files_whole)?;
        let record = self.record(&qemu, command, ended, &unpacked)?;
        Ok(Outcome {
            ended,
            unpacked,
            files_whole,
            record,
        })
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

    fn initramfs(&self, command: &[OsString], end: &str) -> Result<File, Error> {
        let mut image = Image::new(&self.artis)?;
        for file in &self.files {
            image.copy(&file.host, &file.guest)?;
        }
        image.add_modules(&self.modules);
        let variables = [
            ("ARTIS_LAB", "qemu"),
            ("ARTIS_LAB_KERNEL", &self.kernel.facts.release),
        ];
        image.set_run(command, &variables, end);
        let file = Cache::per_user()?.nameless_file()?;
        image.write(&file)?;
        Ok(file)
    }

    fn start(&self, qemu: &Emulator, initramfs: &File) -> Result<(Guest, Channels), Error> {
        let pair = || {
            UnixStream::pair().map_err(|error| Error::Program {
                program: "socketpair".to_owned(),
                reason: error.to_string(),
            })
        };
        let (console, console_end) = pair()?;
        let (control, control_end) = pair()?;
        let (stdout, stdout_end) = pair()?;
        let (stderr, stderr_end) = pair()?;
        let (files, files_end) = pair()?;
        let firmware = FIRMWARE.map(|folder| qemu.path(folder));
        let mut qemu = qemu.command();
        for folder in firmware {
            qemu.arg("-L").arg(folder);
        }
        qemu.args(self.hardware());
        qemu.arg("-kernel").arg(&self.kernel.vmlinuz);
        qemu.arg("-append").arg(self.arguments());
        qemu.arg("-initrd")
            .arg(format!("/proc/self/fd/{}", initramfs.as_raw_fd()));
        qemu.args(socket("console", &console_end));
        qemu.args(["-serial", "chardev:console"]);
        let ports = [
            (protocol::CONTROL, &control_end),
            (protocol::STDOUT, &stdout_end),
            (protocol::STDERR, &stderr_end),
            (protocol::FILES, &files_end),
        ];
        for (name, end) in ports {
            qemu.args(socket(name, end));
            let device = format!("virtserialport,chardev={name},name={name}");
            qemu.args(["-device", &device]);
        }
        let inherited: Vec<RawFd> = ports
            .iter()
            .map(|(_, end)| end.as_raw_fd())
            .chain([console_end.as_raw_fd(), initramfs.as_raw_fd()])
            .collect();
        let guest = Guest::spawn(qemu, inherited)?;
        let channels = Channels {
            console,
            control,
            stdout,
            stderr,
            files,
        };
        Ok((guest, channels))
    }

    fn hardware(&self) -> Vec<String> {
        let cpus = self.cpus.to_string();
        let memory = format!("{}M", self.memory_mib);
        [
            // One host thread a virtual CPU; "max" has every feature the emulator knows, so
            // the host's own programs run whatever they were built for.
            &["-accel", "tcg,thread=multi", "-cpu", "max"][..],
            &["-smp", &cpus, "-m", &memory],
            // Only what is named here, whatever the user's configuration says.
            &["-machine", "pc", "-nodefaults", "-no-user-config"],
            &["-display", "none", "-no-reboot"],
            &["-device", "virtio-serial-pci"],
        ]
        .concat()
        .into_iter()
        .map(str::to_owned)
        .collect()
    }

    fn arguments(&self) -> String {
        let mut arguments = ARGUMENTS.join(" ");
        if !self.append.is_empty() {
            arguments.push(' ');
            arguments.push_str(&self.append);
        }
        arguments
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
        qemu: &Emulator,
        command: &[OsString],
        ended: Ended,
        unpacked: &Unpacked,
    ) -> Result<Record, Error> {
        let version = tool::output(qemu.command().arg("--version"))?;
        let version = String::from_utf8_lossy(&version);
        let facts = self.kernel.facts.clone();
        let record = Record {
            artis: env!("CARGO_PKG_VERSION").to_owned(),
            engine: "qemu".to_owned(),
            engine_version: version.lines().next().unwrap_or_default().to_owned(),
            timing_meaningful: false,
            kernel: facts.release,
            flavour: facts.flavour,
            package: facts.package,
            package_version: facts.version,
            suite: facts.suite,
            sched_ext: facts.sched_ext,
            preemption: facts.preemption,
            arguments: self.arguments(),
            cpus: self.cpus,
            memory_mib: self.memory_mib,
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

/// A running QEMU; killed when dropped.
struct Guest {
    child: Child,
    said: File,
}

impl Guest {
    fn spawn(mut qemu: Command, inherited: Vec<RawFd>) -> Result<Self, Error> {
        let failed = |error: std::io::Error| Error::Program {
            program: "qemu-system-x86_64".to_owned(),
            reason: error.to_string(),
        };
        let said = Cache::per_user()?.nameless_file()?;
        qemu.stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(said.try_clone().map_err(failed)?)
            // The terminal's Ctrl-C is for us: we end the machine in order.
            .process_group(0);
        tool::ends_with_us(&mut qemu);
        let inherit = move || {
            for fd in &inherited {
                // SAFETY: `Machine::start` keeps these open until the spawn is over.
                let fd = unsafe { BorrowedFd::borrow_raw(*fd) };
                fcntl(fd, FcntlArg::F_SETFD(FdFlag::empty()))?;
            }
            Ok(())
        };
        // SAFETY: between fork and exec only fcntl is called, which is async-signal-safe, and
        // nothing is allocated.
        unsafe { qemu.pre_exec(inherit) };
        let child = qemu.spawn().map_err(failed)?;
        Ok(Self { child, said })
    }

    /// `what`, with what QEMU itself complained about, if it did.
    fn last_words(&mut self, what: &str) -> String {
        let mut said = String::new();
        let read = self
            .said
            .seek(SeekFrom::Start(0))
            .and_then(|_| self.said.read_to_string(&mut said));
        match read {
            Ok(length) if length > 0 => format!("{what}; QEMU says: {}", said.trim()),
            _ => what.to_owned(),
        }
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // It may have ended by itself; and there is nobody to tell.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Arguments that make an inherited socket a character device of QEMU.
fn socket(name: &str, end: &UnixStream) -> [String; 2] {
    let fd = end.as_raw_fd();
    ["-chardev".to_owned(), format!("socket,id={name},fd={fd}")]
}

/// The lines of the console that tell why a guest died, indented: from the kernel's complaint
/// on, else the last ones.
fn tail(console: &Path) -> String {
    let text = fs::read(console).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text
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

    fn tail_of(text: &str) -> String {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        tail(file.path())
    }

    #[test]
    fn the_kernels_complaint_is_shown_and_not_its_long_trace() {
        let noise = "noise\n".repeat(100);
        let shown = tail_of(&format!("{noise}Kernel panic - not syncing: why\n{noise}"));
        assert!(shown.starts_with("  Kernel panic - not syncing: why\n"));
        assert_eq!(shown.lines().count(), TAIL_LINES);
    }

    #[test]
    fn without_a_complaint_the_last_lines_are_shown() {
        let shown = tail_of(&format!("{}last\n\n", "noise\n".repeat(100)));
        assert!(shown.ends_with("  last"));
        assert_eq!(shown.lines().count(), TAIL_LINES);
        assert_eq!(tail_of(""), "  (the console is empty)");
    }
}
