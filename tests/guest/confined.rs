// SPDX-License-Identifier: GPL-2.0-only
//! `probe confined "CAP_BPF CAP_PERFMON" COMMAND…`: runs a command with these capabilities at most
//! and no way to more, as systemd's `CapabilityBoundingSet` and `NoNewPrivileges` do.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// Those of artis' units, by linux/capability.h.
const NUMBERS: [(&str, i32); 5] = [
    ("CAP_SYS_ADMIN", 21),
    ("CAP_SYS_NICE", 23),
    ("CAP_SYSLOG", 34),
    ("CAP_PERFMON", 38),
    ("CAP_BPF", 39),
];

pub fn run(capabilities: &str, command: &[String]) {
    let number = |name: &str| NUMBERS.iter().find(|(one, _)| *one == name);
    let kept: Vec<i32> = capabilities
        .split(' ')
        .map(|name| number(name).unwrap_or_else(|| panic!("what is {name}?")).1)
        .collect();
    for number in (0..64).filter(|number| !kept.contains(number)) {
        // SAFETY: takes no pointers. A number that this kernel does not have is refused.
        let _ = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, number, 0, 0, 0) };
    }
    nix::sys::prctl::set_no_new_privs().expect("no_new_privs");
    let error = Command::new(&command[0]).args(&command[1..]).exec();
    panic!("{}: {error}", command[0]);
}
