// SPDX-License-Identifier: GPL-2.0-only
//! A place for swapped pages, for as long as this process lives: a compressed disk in memory
//! (zram). What is written to it is written at once, so that the pages are free then.

use std::fs;
use std::process::{Child, Command, Stdio};

const ADD: &str = "/sys/class/zram-control/hot_add";
const BYTES: &str = "16M";

/// Takes the disk away when its standard input ends, and so also when this process was killed.
const REMOVE: &str = "cat
    swapoff /dev/zram$0
    echo 1 >/sys/block/zram$0/reset
    echo $0 >/sys/class/zram-control/hot_remove";

pub(super) struct Area {
    remover: Child,
}

impl Area {
    /// # Errors
    /// A sentence where this machine has no such disk, or does not swap to it.
    pub fn on() -> Result<Self, String> {
        if !fs::exists(ADD).unwrap_or(false) {
            // It may be a module.
            let _ = Command::new("modprobe").arg("zram").output();
        }
        let number = fs::read_to_string(ADD).map_err(|error| format!("{ADD}: {error}"))?;
        let number = number.trim();
        let remover = Command::new("sh")
            .args(["-c", REMOVE, number])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("sh: {error}"))?;
        let area = Self { remover };
        let size = format!("/sys/block/zram{number}/disksize");
        fs::write(&size, BYTES).map_err(|error| format!("{size}: {error}"))?;
        let device = format!("/dev/zram{number}");
        run("mkswap", &device)?;
        run("swapon", &device)?;
        Ok(area)
    }
}

impl Drop for Area {
    fn drop(&mut self) {
        drop(self.remover.stdin.take());
        let _ = self.remover.wait();
    }
}

fn run(program: &str, device: &str) -> Result<(), String> {
    let output = Command::new(program).arg(device).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("{program} {device}: {}", said.trim()))
        }
    }
}
