// SPDX-License-Identifier: GPL-2.0-only
//! The engine QEMU: an emulated PC that needs no privileges and no hardware support.
//!
//! TCG translates every instruction, so any x86-64 host boots any kernel in seconds; and
//! virtual time follows the host's clock, so no time taken in this guest means anything.

use super::Started;
use super::process::{Process, inherited_path};
use crate::lab::Error;
use crate::lab::cache::Cache;
use crate::lab::devices::{Devices, Network};
use crate::lab::emulator::{Emulator, Wanted};
use crate::lab::machine::Machine;
use crate::lab::protocol;
use crate::lab::session::{Channels, Limits};
use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

/// What every output of this engine says about times.
pub const TIMING_WARNING: &str = "timing not meaningful: emulated CPU (QEMU TCG)";

/// QEMU, and where its packages keep the firmware.
pub(super) const QEMU: Wanted = Wanted {
    packages: &["qemu-system-x86"],
    program: "usr/bin/qemu-system-x86_64",
};
const FIRMWARE: [&str; 2] = ["usr/share/qemu", "usr/share/seabios"];

/// Kernel arguments of every guest.
pub(super) const ARGUMENTS: &[&str] = &[
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
    // A busy host may keep the emulator from running for as long as the kernel waits to see
    // whether the timer's interrupt comes at all.
    "no_timer_check",
];

/// From power-on to the command; takes seconds, on a busy host a minute.
const BOOT_LIMIT: Duration = Duration::from_secs(240);
const POWER_OFF_LIMIT: Duration = Duration::from_secs(5);

/// What the kernel says of a breakpoint that nobody placed.
const BREAKPOINT: &str = "Oops: int3";
const BREAKPOINT_CODE: &str = "cc";

/// Did the guest die of code that its kernel had replaced, by what the console says?
///
/// QEMU drops what it has translated of a piece of code just before a virtual CPU overwrites it.
/// In between, another one can translate the old bytes again, and keeps them. Kernels replace
/// their own code by way of a breakpoint, so that CPU runs a breakpoint long after it has been
/// removed. The kernel shows the bytes that lie there: a breakpoint of its own would be among
/// them, in front of the marked one.
pub(super) fn ran_replaced_code(console: &str) -> bool {
    let Some((_, complaint)) = console.split_once(BREAKPOINT) else {
        return false;
    };
    let Some((_, code)) = complaint.split_once("Code: ") else {
        return false;
    };
    let bytes: Vec<&str> = code.lines().next().unwrap_or("").split(' ').collect();
    bytes
        .windows(2)
        .any(|pair| pair[1].starts_with('<') && pair[0] != BREAKPOINT_CODE)
}

pub(super) fn limits(machine: &Machine) -> Limits {
    Limits {
        boot: BOOT_LIMIT,
        command: machine.timeout,
        silence: None,
        power_off: POWER_OFF_LIMIT,
    }
}

/// Powers the machine on.
pub(super) fn start(
    machine: &Machine,
    emulator: &Emulator,
    initramfs: &File,
) -> Result<Started, Error> {
    let (console, console_end) = pair()?;
    let (control, control_end) = pair()?;
    let (stdout, stdout_end) = pair()?;
    let (stderr, stderr_end) = pair()?;
    let (files, files_end) = pair()?;
    let mut qemu = emulator.command();
    for folder in FIRMWARE {
        qemu.arg("-L").arg(emulator.path(folder));
    }
    qemu.args(hardware(machine));
    qemu.arg("-kernel").arg(&machine.kernel.vmlinuz);
    qemu.arg("-append").arg(machine.engine.arguments(machine));
    qemu.arg("-initrd").arg(inherited_path(initramfs));
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
    let disk = machine.devices.disk_bytes.map(empty_disk).transpose()?;
    // Behind the ports: with and without them, a guest's first devices are the same.
    qemu.args(devices(machine.devices, disk.as_ref()));
    let inherited: Vec<RawFd> = ports
        .iter()
        .map(|(_, end)| end.as_raw_fd())
        .chain([console_end.as_raw_fd(), initramfs.as_raw_fd()])
        .chain(disk.as_ref().map(AsRawFd::as_raw_fd))
        .collect();
    qemu.stdout(Stdio::null());
    let process = Process::spawn("QEMU", qemu, inherited)?;
    let channels = Channels {
        console,
        control,
        stdout,
        stderr,
        files,
    };
    Ok(Started {
        process,
        channels,
        remark: None,
    })
}

/// Two connected sockets: the host's end and the guest's.
pub(super) fn pair() -> Result<(UnixStream, UnixStream), Error> {
    UnixStream::pair().map_err(|error| Error::Program {
        program: "socketpair".to_owned(),
        reason: error.to_string(),
    })
}

fn hardware(machine: &Machine) -> Vec<String> {
    let cpus = machine.cpus.to_string();
    let memory = format!("{}M", machine.memory_mib);
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

/// A file without a name and, until the guest writes, without blocks on the host's disk.
fn empty_disk(bytes: u64) -> Result<File, Error> {
    let disk = Cache::per_user()?.nameless_file()?;
    disk.set_len(bytes)
        .map_err(Error::io("make room for", Path::new("the guest's disk")))?;
    Ok(disk)
}

fn devices(devices: Devices, disk: Option<&File>) -> Vec<String> {
    let mut words = Vec::new();
    if let Some(disk) = disk {
        let file = inherited_path(disk);
        words.push("-drive".to_owned());
        words.push(format!("if=none,id=disk,format=raw,file={file}"));
        words.push("-device".to_owned());
        words.push("virtio-blk-pci,drive=disk".to_owned());
    }
    if let Some(Network::User) = devices.network {
        // Restricted: nothing reaches the host or goes through it.
        words.push("-netdev".to_owned());
        words.push("user,id=network,restrict=on".to_owned());
        words.push("-device".to_owned());
        // Nobody boots from it, so it needs no program for that.
        words.push("virtio-net-pci,netdev=network,romfile=".to_owned());
    }
    words
}

/// Arguments that make an inherited socket a character device of QEMU.
fn socket(name: &str, end: &UnixStream) -> [String; 2] {
    let fd = end.as_raw_fd();
    ["-chardev".to_owned(), format!("socket,id={name},fd={fd}")]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn oops(code: &str) -> String {
        format!("[ 1.0] Oops: int3: 0000 [#1] SMP\n[ 1.0] RIP: tick+0xd6\n[ 1.0] Code: {code}\n")
    }

    #[test]
    fn a_breakpoint_that_is_not_in_memory_is_replaced_code() {
        assert!(ran_replaced_code(&oops("75 62 eb <38> 44 89 e7")));
        assert!(!ran_replaced_code(&oops("75 62 cc <38> 44 89 e7")));
    }

    #[test]
    fn nothing_else_is() {
        let other = oops("75 62 eb <38>").replace("int3", "invalid opcode");
        let cut = oops("75 62 eb");
        for console in ["", BREAKPOINT, &other, &cut, &oops(""), &oops("<38>")] {
            assert!(!ran_replaced_code(console), "{console}");
        }
    }
}
