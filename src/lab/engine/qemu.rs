// SPDX-License-Identifier: GPL-2.0-only
//! The engine QEMU: an emulated PC that needs no privileges and no hardware support.
//!
//! TCG translates every instruction, so any x86-64 host boots any kernel in seconds. No time taken
//! in this guest means anything: it follows the host's clock ([`Clock::Host`]), or counts
//! instructions of all CPUs together ([`Clock::Instructions`]).

use super::devices::{Devices, Network};
use super::process::{Process, inherited_path};
use super::topology::Topology;
use super::{
    Channels, Engine, Hardware, Limits, Power, Prepared, Started, first_words, random_end_mark,
};
use crate::Error;
use crate::debian::program::{Program, STABLE, Wanted};
use crate::host::cache::Cache;
use crate::host::tsc;
use crate::progress::Progress;
use artis_guest::protocol;
use std::fs::File;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

/// What every output of this engine says about times.
pub const TIMING_WARNING: &str = "timing not meaningful: emulated CPU (QEMU TCG)";

/// QEMU, and where its packages keep the firmware.
const QEMU: Wanted = Wanted {
    packages: &["qemu-system-x86"],
    suites: STABLE,
    program: "usr/bin/qemu-system-x86_64",
};
const FIRMWARE: [&str; 2] = ["usr/share/qemu", "usr/share/seabios"];

/// Kernel arguments of every guest.
const ARGUMENTS: &[&str] = &[
    // The first serial line is the console that we keep.
    "console=ttyS0",
    // Warnings and worse; more would slow the boot. The guest's init raises it later.
    "loglevel=5",
    // A panic, and an oops is one here, ends the machine at once instead of hanging it.
    "panic=-1",
    "oops=panic",
    // All virtual CPUs see one host clock. Without this the kernel may doubt it and use a clock
    // instead that costs an exit to the emulator at each reading.
    "tsc=reliable",
    // The kernel tests at boot whether the timer's interrupt arrives. A busy host may not let the
    // emulator run for as long as that test waits.
    "no_timer_check",
    // A busy host may stop a virtual CPU for longer than the 21 s after which the kernel reports a
    // stall of RCU, and with the report it ends a scheduler of sched_ext.
    "rcupdate.rcu_cpu_stall_timeout=300",
];

/// The rate of the guest's time-stamp counter, which is the host's. A guest that has to measure it
/// while the host is busy can be wrong by a factor of four: its clock, and every wait by it, is
/// then wrong by as much for as long as it runs. Measured once, so that all guests have the same
/// words.
static EARLY_TSC: LazyLock<Option<String>> =
    LazyLock::new(|| tsc::khz().map(|khz| format!("tsc_early_khz={khz}")));

/// From power-on to the command: seconds, or a minute on a busy host.
const BOOT_LIMIT: Duration = Duration::from_secs(240);
const POWER_OFF_LIMIT: Duration = Duration::from_secs(5);

/// What `lab/init` says when it finds such a CPU.
const NO_TIMER: &str = "artis lab: no timer on CPU";

/// What the kernel says about a breakpoint that nobody placed.
const BREAKPOINT: &str = "Oops: int3";
const BREAKPOINT_CODE: &str = "cc";

/// Did the guest die because it ran code that its kernel had replaced, by what the console says?
///
/// QEMU drops its translation of a piece of code just before a virtual CPU overwrites the code. In
/// between, another virtual CPU can translate the old bytes again, and keeps that translation.
/// Kernels replace their own code by way of a breakpoint, so that CPU meets a breakpoint long after
/// its removal. The kernel's complaint shows the bytes in memory: a real breakpoint would be among
/// them, before the marked byte.
fn ran_replaced_code(console: &str) -> bool {
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

/// What the guest's time follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The host's clock. Each virtual CPU is a thread of the host.
    Host,
    /// The instructions executed: the virtual CPUs take turns on one thread, an instruction of any
    /// takes the same time, and when all are idle the next timer is due at once. A busy
    /// host takes nothing from the guest, and a guest that sleeps costs little.
    Instructions,
}

/// An instruction takes 2 to the power of this, in ns. Much slower, and a guest of four busy CPUs
/// does not get through its work between two ticks; much faster, and it seldom has a tick.
const INSTRUCTION_SHIFT: u32 = 4;

/// The time-stamp counter that QEMU gives a guest whose instructions are counted, in kHz.
const COUNTED_TSC_KHZ: u32 = 1_000_000;

/// The engine.
#[derive(Debug)]
pub struct Qemu(pub Clock);

impl Engine for Qemu {
    fn name(&self) -> &'static str {
        match self.0 {
            Clock::Host => "qemu",
            Clock::Instructions => "qemu-icount",
        }
    }

    fn timing(&self) -> &'static str {
        TIMING_WARNING
    }

    fn is_timing_meaningful(&self) -> bool {
        false
    }

    fn end_mark(&self) -> Result<String, Error> {
        random_end_mark()
    }

    fn limits(&self, command: Option<Duration>, _cpus: u32) -> Limits {
        Limits {
            boot: BOOT_LIMIT,
            command,
            silence: None,
            power_off: POWER_OFF_LIMIT,
        }
    }

    fn arguments(&self) -> String {
        let counted = format!("tsc_early_khz={COUNTED_TSC_KHZ}");
        let tsc = match self.0 {
            Clock::Host => EARLY_TSC.as_deref(),
            Clock::Instructions => Some(counted.as_str()),
        };
        let arguments: Vec<&str> = ARGUMENTS.iter().copied().chain(tsc).collect();
        arguments.join(" ")
    }

    fn prepare(
        &self,
        cache: &Cache,
        mirror: &str,
        progress: &mut dyn Progress,
    ) -> Result<Box<dyn Prepared>, Error> {
        Ok(Box::new(PreparedQemu {
            emulator: Program::resolve(QEMU, cache, mirror, progress)?,
            cache: cache.clone(),
            clock: self.0,
        }))
    }
}

struct PreparedQemu {
    emulator: Program,
    cache: Cache,
    clock: Clock,
}

impl Prepared for PreparedQemu {
    fn version(&self) -> Result<String, Error> {
        first_words(self.emulator.command().arg("--version"))
    }

    fn start(&self, hardware: &Hardware, initramfs: &File) -> Result<Started, Error> {
        start(hardware, self, initramfs)
    }
}

struct Running(Process);

impl Power for Running {
    fn fault(&mut self, console: &str) -> Option<&'static str> {
        let replaced = "it ran code that the guest's kernel had replaced";
        let no_timer = "a CPU got no interrupts of its timer";
        let crash = self.0.fault(console);
        crash
            .or_else(|| ran_replaced_code(console).then_some(replaced))
            .or_else(|| console.contains(NO_TIMER).then_some(no_timer))
    }

    fn complaint(&mut self) -> Option<String> {
        self.0.complaint()
    }
}

fn start(hardware: &Hardware, engine: &PreparedQemu, initramfs: &File) -> Result<Started, Error> {
    let PreparedQemu {
        emulator,
        cache,
        clock,
    } = engine;
    let (channels, ends) = Channels::new()?;
    let [console_end, control_end, stdout_end, stderr_end, files_end] = &ends;
    let mut qemu = emulator.command();
    for folder in FIRMWARE {
        qemu.arg("-L").arg(emulator.path(folder));
    }
    qemu.args(accelerator(*clock));
    qemu.args(machine(hardware));
    if let Some(topology) = hardware.topology {
        qemu.args(arranged(topology, hardware.memory_mib));
    }
    qemu.arg("-kernel").arg(&hardware.vmlinuz);
    qemu.arg("-append").arg(&hardware.arguments);
    qemu.arg("-initrd").arg(inherited_path(initramfs));
    qemu.args(socket("console", console_end));
    qemu.args(["-serial", "chardev:console"]);
    let ports = [
        (protocol::CONTROL, control_end),
        (protocol::STDOUT, stdout_end),
        (protocol::STDERR, stderr_end),
        (protocol::FILES, files_end),
    ];
    for (name, end) in ports {
        qemu.args(socket(name, end));
        let device = format!("virtserialport,chardev={name},name={name}");
        qemu.args(["-device", &device]);
    }
    let disk_bytes = hardware.devices.disk_bytes;
    let disk = disk_bytes
        .map(|bytes| empty_disk(cache, bytes))
        .transpose()?;
    // After the ports: with and without them, a guest's first devices are the same.
    qemu.args(devices(hardware.devices, disk.as_ref()));
    let inherited: Vec<RawFd> = ports
        .iter()
        .map(|(_, end)| end.as_raw_fd())
        .chain([console_end.as_raw_fd(), initramfs.as_raw_fd()])
        .chain(disk.as_ref().map(AsRawFd::as_raw_fd))
        .collect();
    qemu.stdout(Stdio::null());
    let process = Process::spawn(cache, "QEMU", qemu, inherited)?;
    Ok(Started {
        power: Box::new(Running(process)),
        channels,
        remark: None,
    })
}

fn accelerator(clock: Clock) -> Vec<String> {
    match clock {
        Clock::Host => vec!["-accel".to_owned(), "tcg,thread=multi".to_owned()],
        Clock::Instructions => vec![
            "-accel".to_owned(),
            "tcg,thread=single".to_owned(),
            "-icount".to_owned(),
            format!("shift={INSTRUCTION_SHIFT},sleep=off"),
        ],
    }
}

fn machine(hardware: &Hardware) -> Vec<String> {
    let cpus = hardware.cpus.to_string();
    let memory = format!("{}M", hardware.memory_mib);
    [
        // "max" has every feature that the emulator knows, so the host's programs run whatever
        // they were built for.
        &["-cpu", "max"][..],
        &["-smp", &cpus, "-m", &memory],
        // Only what is named here, whatever the user's configuration adds.
        &["-machine", "pc", "-nodefaults", "-no-user-config"],
        &["-display", "none", "-no-reboot"],
        &["-device", "virtio-serial-pci"],
    ]
    .concat()
    .into_iter()
    .map(str::to_owned)
    .collect()
}

/// Arguments that arrange the CPUs and give each socket its memory.
fn arranged(topology: Topology, memory_mib: u32) -> Vec<String> {
    let mut words = vec!["-smp".to_owned(), topology.to_string()];
    if topology.sockets == 1 {
        return words;
    }
    // The first node has what is left over.
    let each = memory_mib / topology.sockets;
    for socket in 0..topology.sockets {
        let size = match socket {
            0 => memory_mib - each * (topology.sockets - 1),
            _ => each,
        };
        let (first, last) = topology.of_socket(socket);
        words.push("-object".to_owned());
        words.push(format!("memory-backend-ram,id=memory{socket},size={size}M"));
        words.push("-numa".to_owned());
        words.push(format!(
            "node,nodeid={socket},cpus={first}-{last},memdev=memory{socket}"
        ));
    }
    words
}

/// A file without a name and, until the guest writes, without blocks on the host's disk.
fn empty_disk(cache: &Cache, bytes: u64) -> Result<File, Error> {
    let disk = cache.nameless_file()?;
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
        // Restricted: nothing reaches the host or the network behind it.
        words.push("-netdev".to_owned());
        words.push("user,id=network,restrict=on".to_owned());
        words.push("-device".to_owned());
        // Nobody boots from it, so it needs no boot program.
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
    fn other_complaints_are_no_fault_of_the_emulator() {
        let other = oops("75 62 eb <38>").replace("int3", "invalid opcode");
        let cut = oops("75 62 eb");
        for console in ["", BREAKPOINT, &other, &cut, &oops(""), &oops("<38>")] {
            assert!(!ran_replaced_code(console), "{console}");
        }
    }
}
