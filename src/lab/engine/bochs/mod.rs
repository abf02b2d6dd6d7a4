// SPDX-License-Identifier: GPL-2.0-only
//! The engine Bochs: an emulated PC whose CPUs run in lock step and whose time counts
//! instructions, so that the same guest behaves the same to the byte, whatever the host does.
//!
//! (a) Every CPU executes five instructions in turn; 100 million instructions of one CPU are one
//! virtual second. This is so only under Bochs' debugger ([`RUN`]).
//! (b) The guest sees nothing of the host ([`configuration`]): not its random numbers, clock, date
//! or keyboard. Bochs itself paces a timer by the host's clock, even when it is configured not to,
//! and cuts repeated string instructions short before that timer: now and then a guest ran some
//! hundred instructions apart from its twin. So Bochs gets a clock that stands still (libfaketime).
//! (c) Kernel and initramfs lie in the guest's memory before it starts ([`memory`]), and the disk
//! holds a boot sector and the kernel's first part ([`disk`]); no boot loader asks, waits or
//! copies. (d) The guest sends its streams through a debugging port of Bochs
//! ([`artis_guest::frames`]); nothing is ever sent to it.
//!
//! What it cannot do: it has no caches, no pipelines and no memory latency; every instruction costs
//! the same. Its microseconds are instructions at 100 MIPS, about ten times those of a real
//! machine.

mod accesses;
mod disk;
mod lines;
mod memory;
pub(crate) mod trace;
mod vmlinux;

use super::devices::Devices;
use super::observed::Reported;
use super::process::{Process, inherited_path};
use super::topology::Topology;
use super::{Channels, Engine, Hardware, Limits, Prepared, Started, first_words};
use crate::Error;
use crate::debian::program::{Program, STABLE, Wanted};
use crate::host::cache::Cache;
use crate::progress::Progress;
use artis_guest::frames::Sorter;
use nix::sched::{CloneFlags, unshare};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// Its name.
pub const NAME: &str = "bochs";
/// What every output of this engine says about times.
pub const TIMING: &str = "us at 100 MIPS, emulated (bochs)";
/// Instructions of one CPU in a virtual second.
pub const INSTRUCTIONS_PER_SECOND: u64 = 100_000_000;
/// Most virtual CPUs. Bochs has 64 timers, of which each CPU takes three and the devices the rest.
pub const CPUS_MAX: u32 = 16;
/// Most memory of a guest, in MiB: what Bochs takes as `host`, the part that it does not swap.
pub const MEMORY_MIB_MAX: u32 = 2048;
/// With more CPUs than these, no timers are left for the HPET, which nothing here uses.
const CPUS_BESIDE_HPET: u32 = 15;

/// Bochs, a display without which Debian's package cannot be installed, and the clock that stands
/// still. Version 3.0, of Debian's stable release, is twice as fast here as 2.7 of the release
/// before.
const BOCHS: Wanted = Wanted {
    packages: &["bochs", "bochs-term", "libfaketime"],
    suites: STABLE,
    program: "usr/bin/bochs-bin",
};
const PLUGINS: &str = "usr/lib/x86_64-linux-gnu/bochs/plugins";
const FIRMWARE: &str = "usr/share/bochs/BIOS-bochs-latest";
const VIDEO_FIRMWARE: &str = "usr/share/vgabios/vgabios.bin";
const FAKETIME: &str = "usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
/// Where the emulator's clock stands. Any date will do; this year is far from every limit.
const FAKETIME_DATE: &str = "2005-07-06 00:00:00";
/// The same date for the guest's clock, which does run: seconds since 1970.
const GUEST_DATE: u64 = 1_120_608_000;

/// Run to the end. Without its debugger Bochs lets each CPU execute one straight piece of code in
/// turn, 1 to 32 instructions, and time advances by the mean of all CPUs. The speed of a CPU would
/// then depend on the code of the others (measured: a loop was 20 % slower beside a halted CPU).
/// Under the debugger every CPU executes the same number, for about twice the host's time.
const RUN: &str = "c\n";

/// Kernel arguments of every guest.
const ARGUMENTS: &[&str] = &[
    "console=ttyS0,115200",
    // Each letter on the serial line costs the guest 87 us.
    "loglevel=5",
    "panic=-1",
    "oops=panic",
    // MWAIT in Bochs loses a wakeup now and then.
    "idle=halt",
    // Bochs' XSAVE is slow and its state larger than anything here uses.
    "noxsave",
    // Their cost depends on the CPU that they protect; the emulated one needs none of them.
    "mitigations=off",
    "tsc=reliable",
    // The kernel tests its own ciphers: 4 s of a CPU, in the background, long after boot.
    "cryptomgr.notests",
    // Reading the certificates that sign modules takes a second of a CPU. No module needs them: it
    // is loaded nevertheless, and the kernel says that it could not verify it. Caches apart for
    // what user space may make large are there against attacks, and take 0.4 s to make.
    "initcall_blacklist=load_system_certificate_list,init_msg_buckets,init_user_buckets",
    // The kernel would look through all of its page tables for pages that are writable and
    // executable, 1.3 s of a CPU. Write protection itself costs no instruction.
    "rodata=off",
];

/// Longer than a boot takes on a very busy host.
const BOOT_LIMIT: Duration = Duration::from_secs(1200);
/// The guest sends the time every virtual second, which takes some ten seconds of the host's for
/// each of its CPUs, and three times as long beside two other guests.
const SILENCE_LIMIT_OF_A_CPU: Duration = Duration::from_secs(300);

/// The end of a stream. The same in every run, because it is in the guest's memory.
const END_MARK: &str = "[artis end 1f0c5a7e6b9d42388d3ea1745c92b06d]";

/// The engine.
#[derive(Debug)]
pub struct Bochs;

impl Engine for Bochs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn timing(&self) -> &'static str {
        TIMING
    }

    fn is_timing_meaningful(&self) -> bool {
        true
    }

    fn check(
        &self,
        cpus: u32,
        memory_mib: u32,
        topology: Option<Topology>,
        devices: Devices,
    ) -> Result<(), Error> {
        Topology::refuse(topology, NAME)?;
        if cpus > CPUS_MAX {
            return Err(Error::TooManyCpus {
                engine: NAME,
                cpus,
                max: CPUS_MAX,
            });
        }
        if memory_mib > MEMORY_MIB_MAX {
            return Err(Error::TooMuchMemory {
                engine: NAME,
                mib: memory_mib,
                max: MEMORY_MIB_MAX,
            });
        }
        match devices.first() {
            Some((device, option)) => Err(Error::NoDevice {
                engine: NAME,
                device,
                option,
            }),
            None => Ok(()),
        }
    }

    fn end_mark(&self) -> Result<String, Error> {
        Ok(END_MARK.to_owned())
    }

    fn limits(&self, _command: Option<Duration>, cpus: u32) -> Limits {
        Limits {
            boot: BOOT_LIMIT,
            // The guest keeps the limit, in its own time.
            command: None,
            silence: Some(SILENCE_LIMIT_OF_A_CPU * cpus),
            // Everything has arrived; what a guest says while it powers off is not worth the wait.
            power_off: Duration::ZERO,
        }
    }

    fn arguments(&self) -> String {
        ARGUMENTS.join(" ")
    }

    fn own_part(&self, hardware: &Hardware) -> Vec<u8> {
        own_part(hardware)
    }

    fn prepare(
        &self,
        cache: &Cache,
        mirror: &str,
        progress: &mut dyn Progress,
    ) -> Result<Box<dyn Prepared>, Error> {
        Ok(Box::new(PreparedBochs {
            emulator: Program::resolve(BOCHS, cache, mirror, progress)?,
            cache: cache.clone(),
        }))
    }
}

struct PreparedBochs {
    emulator: Program,
    cache: Cache,
}

impl Prepared for PreparedBochs {
    fn version(&self) -> Result<String, Error> {
        first_words(command(&self.emulator).arg("--help"))
    }

    fn start(&self, hardware: &Hardware, initramfs: &File) -> Result<Started, Error> {
        start(hardware, self, initramfs, None)
    }

    fn start_observed(
        &self,
        hardware: &Hardware,
        initramfs: &File,
        reported: &Reported,
    ) -> Result<Started, Error> {
        start(hardware, self, initramfs, Some(reported))
    }
}

/// Bochs with the plug-ins that it loads itself, and a clock that stands still.
fn command(emulator: &Program) -> Command {
    let mut bochs = emulator.command();
    bochs.env("LTDL_LIBRARY_PATH", emulator.path(PLUGINS));
    bochs.env("LD_PRELOAD", emulator.path(FAKETIME));
    bochs.env("FAKETIME", FAKETIME_DATE);
    bochs.env("FAKETIME_DISABLE_SHM", "1");
    bochs.env("TZ", "UTC");
    // Each CPU keeps some 20 MB of decoded instructions: in large pages where the system grants
    // them, a guest took 6 % less of the host's time.
    bochs.env("GLIBC_TUNABLES", "glibc.malloc.hugetlb=1");
    bochs
}

fn start(
    hardware: &Hardware,
    engine: &PreparedBochs,
    initramfs: &File,
    reported: Option<&Reported>,
) -> Result<Started, Error> {
    let PreparedBochs { emulator, cache } = engine;
    let disk = cache.nameless_file()?;
    let boot = disk::write(hardware, initramfs, &disk)?;
    let memory = memory::Image::write(&boot, initramfs, cache)?;
    let (serial, serial_end) = io::pipe().map_err(failed("pipe"))?;
    let mut words = configuration(
        hardware,
        &Paths {
            firmware: &emulator.path(FIRMWARE).display().to_string(),
            video: &emulator.path(VIDEO_FIRMWARE).display().to_string(),
            disk: &inherited_path(&disk),
            memory: &inherited_path(&memory.file),
            serial: &inherited_path(&serial_end),
        },
    );
    if matches!(reported, Some(Reported::Accesses(_))) {
        words += accesses::SETTING;
        words += "\n";
    }
    let settings = cache.nameless_file()?;
    (&settings)
        .write_all(words.as_bytes())
        .map_err(failed("write Bochs' configuration"))?;

    let run = match reported {
        // Telling does not stop the guest, so its bytes and times stay as they are.
        Some(Reported::Steps(observed)) => trace::commands(observed.cpu),
        // While it is stopped its time stands still.
        Some(Reported::Accesses(_)) => accesses::commands(hardware.cpus),
        None => RUN.to_owned(),
    };
    let debugger = cache.nameless_file()?;
    (&debugger)
        .write_all((memory.in_a_row() + &run).as_bytes())
        .map_err(failed("write the debugger's commands"))?;
    let mut bochs = command(emulator);
    bochs.args(["-q", "-f", &inherited_path(&settings)]);
    bochs.args(["-debugger", "-rc", &inherited_path(&debugger)]);
    bochs.stdout(Stdio::piped());
    own_network(&mut bochs);
    let inherited: Vec<RawFd> = vec![
        disk.as_raw_fd(),
        memory.file.as_raw_fd(),
        serial_end.as_raw_fd(),
        settings.as_raw_fd(),
        debugger.as_raw_fd(),
    ];
    let mut process = Process::spawn(cache, "Bochs", bochs, inherited)?;
    drop(serial_end);
    let remark = process.is_in_our_network().then(|| PORT_OPEN.to_owned());
    let said = process
        .take_stdout()
        .ok_or_else(|| failed("open Bochs' output")(io::ErrorKind::NotFound.into()))?;

    let (channels, [console_end, guest_ends @ ..]) = Channels::new()?;
    // Each ends when Bochs has ended or the session has closed its ends.
    thread::spawn(move || copy(serial, console_end));
    let sorter = Sorter::new(guest_ends);
    let cpus = hardware.cpus;
    match reported.cloned() {
        Some(Reported::Steps(observed)) => {
            thread::spawn(move || copy(said, trace::Filter::new(observed, sorter)))
        }
        Some(Reported::Accesses(accesses)) => {
            thread::spawn(move || copy(said, accesses::Filter::new(accesses, cpus, sorter)))
        }
        None => thread::spawn(move || copy(said, sorter)),
    };
    Ok(Started {
        power: Box::new(process),
        channels,
        remark,
    })
}

/// Passes bytes on until either side is closed.
fn copy(mut from: impl Read, mut to: impl Write) {
    // The reader of the other end sees that it ends, and knows what that means.
    let _ = io::copy(&mut from, &mut to).and_then(|_| to.flush());
}

fn failed(what: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |error| Error::Program {
        program: what.to_owned(),
        reason: error.to_string(),
    }
}

/// Said when [`own_network`] was refused.
const PORT_OPEN: &str = "warning: while the guest runs, anybody on this machine's network can see \
its screen on port 5900 or the next free one, and type there: the system grants Bochs no network of \
its own (run as root, or allow user namespaces)";

/// The only display of Bochs that does not disturb the guest opens a port for viewers. A network of
/// its own hides that port, where the system grants one.
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

/// The parts of this engine that decide what a guest does, beside Bochs, kernel and initramfs: for
/// fingerprints.
fn own_part(hardware: &Hardware) -> Vec<u8> {
    let paths = Paths {
        firmware: FIRMWARE,
        video: VIDEO_FIRMWARE,
        disk: "",
        memory: "",
        serial: "",
    };
    let words = configuration(hardware, &paths);
    let code: [&[u8]; 4] = [
        words.as_bytes(),
        RUN.as_bytes(),
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
    memory: &'a str,
    serial: &'a str,
}

/// Bochs' configuration file. Every line keeps the host out or describes the machine.
fn configuration(hardware: &Hardware, paths: &Paths) -> String {
    let Hardware {
        cpus, memory_mib, ..
    } = hardware;
    let Paths {
        firmware,
        video,
        disk,
        memory,
        serial,
    } = paths;
    let (cylinders, heads, sectors) = (disk::CYLINDERS, disk::HEADS, disk::SECTORS_PER_TRACK);
    let lines = [
        // A model without RDRAND, which would give the host's random numbers.
        format!(
            "cpu: model=corei7_sandy_bridge_2600k, count={cpus}, ips={INSTRUCTIONS_PER_SECOND}, reset_on_triple_fault=0"
        ),
        format!("memory: guest={memory_mib}, host={memory_mib}"),
        // It would wait three virtual seconds for somebody who asks for its menu.
        format!("romimage: file={firmware}, options=fastboot"),
        format!("vgaromimage: file={video}"),
        format!(
            "optramimage1: file={memory}, address={:#x}",
            memory::ADDRESS
        ),
        // By default the host's clock decides when the screen is drawn.
        "vga: extension=vbe, update_freq=1, realtime=0".to_owned(),
        format!("clock: sync=none, time0={GUEST_DATE}"),
        format!(
            "ata0-master: type=disk, path={disk}, mode=flat, cylinders={cylinders}, heads={heads}, spt={sectors}, translation=lba, biosdetect=none"
        ),
        "boot: disk".to_owned(),
        format!("com1: enabled=1, mode=file, dev={serial}"),
        // The guest's streams: see guest/frames.rs.
        "port_e9_hack: enabled=1, all_rings=0".to_owned(),
        "speaker: enabled=0".to_owned(),
        // The other displays draw when the host has time for it, and the guest notices.
        "display_library: rfb, options=\"timeout=0\"".to_owned(),
        "log: /dev/stderr".to_owned(),
        "panic: action=fatal".to_owned(),
        "error: action=ignore".to_owned(),
        "info: action=ignore".to_owned(),
        "debug: action=ignore".to_owned(),
    ];
    let chipset = "pci: enabled=1, chipset=i440fx, advopts=\"nohpet\"".to_owned();
    let more = (*cpus > CPUS_BESIDE_HPET).then_some(chipset);
    let lines = lines.into_iter().chain(more);
    lines.map(|line| line + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    #[test]
    fn what_bochs_does_not_emulate_is_refused() {
        let check = |cpus, mib| Bochs.check(cpus, mib, None, Devices::default());
        assert!(check(CPUS_MAX, MEMORY_MIB_MAX).is_ok());
        let refused = check(CPUS_MAX + 1, 512).unwrap_err().to_string();
        assert!(refused.contains("at most 16 CPUs, not 17"), "{refused}");
        let refused = check(2, MEMORY_MIB_MAX + 1).unwrap_err().to_string();
        assert!(
            refused.contains("at most 2048 MiB of memory, not 2049"),
            "{refused}"
        );
    }

    /// Guests of up to 15 CPUs stay the same to the byte.
    #[test]
    fn only_a_guest_of_sixteen_cpus_lacks_the_hpet() {
        let with = |cpus| {
            let hardware = Hardware {
                cpus,
                topology: None,
                memory_mib: 1024,
                devices: Devices::default(),
                vmlinuz: PathBuf::new(),
                arguments: String::new(),
            };
            String::from_utf8_lossy(&own_part(&hardware)).contains("nohpet")
        };
        assert_eq!([2, 8, 15, 16].map(with), [false, false, false, true]);
    }
}
