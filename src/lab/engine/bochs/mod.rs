// SPDX-License-Identifier: GPL-2.0-only
//! The engine Bochs: an emulated PC whose CPUs run in lock step and whose time counts
//! instructions, so that the same guest behaves the same to the byte, whatever the host does.
//!
//! (a) Every CPU executes five instructions in turn; 100 million of one CPU are one virtual second. Only
//! under Bochs' debugger is that so ([`DEBUGGER_COMMANDS`]).
//! (b) Whatever of the host could reach the guest is taken away ([`configuration`]): its random
//! numbers, its clock, its date, its keyboard. Bochs paces a timer of its own by the host's clock
//! even when it is told not to look at it, and cuts repeated string instructions short before that
//! timer: now and then a guest ran some hundred instructions apart from its twin. So Bochs gets a
//! clock that stands still (libfaketime).
//! (c) The disk holds a boot sector, the kernel and the initramfs ([`disk`]); no boot loader asks
//! or waits. (d) The guest speaks through a debugging port of Bochs ([`frames`]); nothing is ever
//! sent to it.
//!
//! What it cannot do: it has no caches, no pipelines and no memory latency; each instruction costs the
//! same. Its microseconds are instructions at 100 MIPS, about ten times those of a real machine.

mod disk;
pub mod frames;
pub mod ports;
mod vmlinux;

use super::Started;
use super::process::{Process, inherited_path};
use super::qemu::pair;
use crate::lab::Error;
use crate::lab::cache::Cache;
use crate::lab::emulator::{Emulator, Wanted};
use crate::lab::machine::Machine;
use crate::lab::session::{Channels, Limits};
use frames::Sorter;
use nix::sched::{CloneFlags, unshare};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// What every output of this engine says about times.
pub const TIMING: &str = "us at 100 MIPS, emulated (bochs)";
/// Instructions of one CPU in a virtual second.
pub const INSTRUCTIONS_PER_SECOND: u64 = 100_000_000;
/// Virtual CPUs there can be; Bochs' firmware has tables for no more.
pub const CPUS_MAX: u32 = 8;

/// Bochs, a display for it that Debian counts as one, and the clock that stands still.
///
/// 3.0, of Debian's stable release: twice as fast here as 2.7 of the release before.
pub(super) const BOCHS: Wanted = Wanted {
    packages: &["bochs", "bochs-term", "libfaketime"],
    program: "usr/bin/bochs-bin",
};
const PLUGINS: &str = "usr/lib/x86_64-linux-gnu/bochs/plugins";
const FIRMWARE: &str = "usr/share/bochs/BIOS-bochs-latest";
const VIDEO_FIRMWARE: &str = "usr/share/vgabios/vgabios.bin";
const FAKETIME: &str = "usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
/// Where the emulator's clock stands: any date will do, the papers' year is far from every limit.
const FAKETIME_DATE: &str = "2005-07-06 00:00:00";
/// The same date for the guest's clock, which runs: seconds since 1970.
const GUEST_DATE: u64 = 1_120_608_000;

/// Run to the end. Without its debugger Bochs lets each CPU execute one straight piece of code in
/// turn, 1 to 32 instructions, and the time goes on by the mean of all CPUs: how fast a CPU is would
/// hang on the code that the others execute (measured: a loop was 20 % slower beside a halted CPU).
/// Under the debugger every CPU executes the same number, for about twice the host's time.
const DEBUGGER_COMMANDS: &[u8] = b"c\n";

/// Kernel arguments of every guest.
pub(super) const ARGUMENTS: &[&str] = &[
    "console=ttyS0,115200",
    // Each letter on the serial line costs the guest 87 us.
    "loglevel=5",
    "panic=-1",
    "oops=panic",
    // MWAIT in Bochs loses a wakeup now and then.
    "idle=halt",
    // Bochs' XSAVE is slow and its state larger than anything here uses.
    "noxsave",
    // What they cost depends on the CPU they protect; the emulated one needs none.
    "mitigations=off",
    "tsc=reliable",
    // The kernel's tests of its own ciphers: 4 s of a CPU, in the background, long after boot.
    "cryptomgr.notests",
];

/// Longer than a boot takes on a host that has ten other things to do.
const BOOT_LIMIT: Duration = Duration::from_secs(1200);
/// The guest's ports say a word every virtual second, which takes some ten seconds here.
const SILENCE_LIMIT: Duration = Duration::from_secs(600);

/// The end of a stream. The same in every run, for it is in the guest's memory.
pub(super) const END_MARK: &str = "[artis end 1f0c5a7e6b9d42388d3ea1745c92b06d]";

pub(super) fn limits() -> Limits {
    Limits {
        boot: BOOT_LIMIT,
        // The guest keeps it, in its own time.
        command: None,
        silence: Some(SILENCE_LIMIT),
        // All has arrived; what a guest says while it powers off is not worth the wait.
        power_off: Duration::ZERO,
    }
}

/// Bochs with the parts it loads itself, and a clock that stands still.
pub(super) fn command(emulator: &Emulator) -> Command {
    let mut bochs = emulator.command();
    bochs.env("LTDL_LIBRARY_PATH", emulator.path(PLUGINS));
    bochs.env("LD_PRELOAD", emulator.path(FAKETIME));
    bochs.env("FAKETIME", FAKETIME_DATE);
    bochs.env("FAKETIME_DISABLE_SHM", "1");
    bochs.env("TZ", "UTC");
    bochs
}

/// Powers the machine on.
pub(super) fn start(
    machine: &Machine,
    emulator: &Emulator,
    initramfs: &File,
) -> Result<Started, Error> {
    if machine.cpus > CPUS_MAX {
        return Err(Error::TooManyCpus {
            cpus: machine.cpus,
            max: CPUS_MAX,
        });
    }
    let cache = Cache::per_user()?;
    let disk = cache.nameless_file()?;
    let cylinders = disk::write(machine, initramfs, &disk)?;
    let (serial, serial_end) = io::pipe().map_err(failed("pipe"))?;
    let words = configuration(
        machine,
        cylinders,
        &Paths {
            firmware: &emulator.path(FIRMWARE).display().to_string(),
            video: &emulator.path(VIDEO_FIRMWARE).display().to_string(),
            disk: &inherited_path(&disk),
            serial: &inherited_path(&serial_end),
        },
    );
    let settings = cache.nameless_file()?;
    (&settings)
        .write_all(words.as_bytes())
        .map_err(failed("write Bochs' configuration"))?;

    let debugger = cache.nameless_file()?;
    (&debugger)
        .write_all(DEBUGGER_COMMANDS)
        .map_err(failed("write the debugger's commands"))?;
    let mut bochs = command(emulator);
    bochs.args(["-q", "-f", &inherited_path(&settings)]);
    bochs.args(["-debugger", "-rc", &inherited_path(&debugger)]);
    bochs.stdout(Stdio::piped());
    own_network(&mut bochs);
    let inherited: Vec<RawFd> = vec![
        disk.as_raw_fd(),
        serial_end.as_raw_fd(),
        settings.as_raw_fd(),
        debugger.as_raw_fd(),
    ];
    let mut process = Process::spawn("Bochs", bochs, inherited)?;
    drop(serial_end);
    let remark = process.is_in_our_network().then(|| PORT_OPEN.to_owned());
    let said = process
        .take_stdout()
        .ok_or_else(|| failed("open Bochs' output")(io::ErrorKind::NotFound.into()))?;

    let (console, console_end) = pair()?;
    let (control, control_end) = pair()?;
    let (stdout, stdout_end) = pair()?;
    let (stderr, stderr_end) = pair()?;
    let (files, files_end) = pair()?;
    // Each ends when Bochs has gone or the session has closed its ends.
    thread::spawn(move || copy(serial, console_end));
    let sorter = Sorter::new([control_end, stdout_end, stderr_end, files_end]);
    thread::spawn(move || copy(said, sorter));
    Ok(Started {
        process,
        channels: Channels {
            console,
            control,
            stdout,
            stderr,
            files,
        },
        remark,
    })
}

/// Passes bytes on until either side has gone.
fn copy(mut from: impl Read, mut to: impl Write) {
    // Whoever reads the other end sees that it ends, and knows what that means.
    let _ = io::copy(&mut from, &mut to);
}

fn failed(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| Error::Program {
        program: what.to_owned(),
        reason: error.to_string(),
    }
}

/// Said when [`own_network`] was refused.
const PORT_OPEN: &str = "the system grants Bochs no network of its own (run as root, or allow user \
namespaces): while the guest runs, a viewer on this machine's network can look at its screen on \
port 5900 or the next free one, and type";

/// The one display of Bochs that leaves the guest alone opens a port for viewers. Nobody shall
/// find it: a network of its own, where the system grants one.
fn own_network(bochs: &mut Command) {
    let prepare = || {
        let network = CloneFlags::CLONE_NEWNET;
        let as_root = unshare(network);
        // A system that refuses both still runs the guest, with the port open.
        let _ = as_root.or_else(|_| unshare(CloneFlags::CLONE_NEWUSER | network));
        Ok(())
    };
    // SAFETY: between fork and exec only unshare is called, and nothing is allocated.
    unsafe { bochs.pre_exec(prepare) };
}

/// What of this engine's own decides what a guest does, beside Bochs, kernel and initramfs: for
/// fingerprints.
pub(super) fn own_part(machine: &Machine) -> Vec<u8> {
    let paths = Paths {
        firmware: FIRMWARE,
        video: VIDEO_FIRMWARE,
        disk: "",
        serial: "",
    };
    let words = configuration(machine, 0, &paths);
    let code: [&[u8]; 4] = [
        words.as_bytes(),
        DEBUGGER_COMMANDS,
        disk::BOOT_SECTOR,
        vmlinux::ENTER,
    ];
    code.concat()
}

/// The files of Bochs' configuration.
struct Paths<'a> {
    firmware: &'a str,
    video: &'a str,
    disk: &'a str,
    serial: &'a str,
}

/// Bochs' configuration file. Every line that is there keeps the host out, or says what the
/// machine is.
fn configuration(machine: &Machine, cylinders: u64, paths: &Paths) -> String {
    let Machine {
        cpus, memory_mib, ..
    } = machine;
    let Paths {
        firmware,
        video,
        disk,
        serial,
    } = paths;
    let (heads, sectors) = (disk::HEADS, disk::SECTORS_PER_TRACK);
    [
        // A model without RDRAND, whose numbers would be the host's.
        format!(
            "cpu: model=corei7_sandy_bridge_2600k, count={cpus}, ips={INSTRUCTIONS_PER_SECOND}, reset_on_triple_fault=0"
        ),
        format!("memory: guest={memory_mib}, host={memory_mib}"),
        format!("romimage: file={firmware}"),
        format!("vgaromimage: file={video}"),
        // By default the screen is drawn by the host's clock.
        "vga: extension=vbe, update_freq=1, realtime=0".to_owned(),
        format!("clock: sync=none, time0={GUEST_DATE}"),
        format!(
            "ata0-master: type=disk, path={disk}, mode=flat, cylinders={cylinders}, heads={heads}, spt={sectors}, translation=lba, biosdetect=none"
        ),
        "boot: disk".to_owned(),
        format!("com1: enabled=1, mode=file, dev={serial}"),
        // The guest's ports: see frames.rs.
        "port_e9_hack: enabled=1, all_rings=0".to_owned(),
        "speaker: enabled=0".to_owned(),
        // The other displays draw when the host finds time for it, and the guest notices.
        "display_library: rfb, options=\"timeout=0\"".to_owned(),
        "log: /dev/stderr".to_owned(),
        "panic: action=fatal".to_owned(),
        "error: action=ignore".to_owned(),
        "info: action=ignore".to_owned(),
        "debug: action=ignore".to_owned(),
    ]
    .map(|line| line + "\n")
    .concat()
}
