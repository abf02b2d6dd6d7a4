// SPDX-License-Identifier: GPL-2.0-only
//! A terminal that a program runs on.

use nix::libc;
use nix::pty::openpty;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};

/// What Ctrl-C sends.
const INTERRUPT: &[u8] = b"\x03";

/// A program that began on a terminal of its own, in the foreground.
pub struct Terminal {
    child: Child,
    screen: File,
    /// All that was written on it so far.
    pub said: String,
}

impl Terminal {
    /// Starts artis on a terminal so wide.
    pub fn start(columns: u16, words: &[&str]) -> Self {
        Self::start_in(columns, words, &[])
    }

    /// As [`Terminal::start`], with these variables in its environment.
    pub fn start_in(columns: u16, words: &[&str], environment: &[(&str, &str)]) -> Self {
        let size = libc::winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        let both = openpty(Some(&size), None).unwrap();
        let terminal = || both.slave.try_clone().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_artis"));
        command.args(words).env("TERM", "xterm");
        command.env_remove("NO_COLOR").env_remove("COLUMNS");
        command.envs(environment.iter().copied());
        command
            .stdin(terminal())
            .stdout(terminal())
            .stderr(terminal());
        let number = both.slave.as_raw_fd();
        let become_its_session = move || {
            // SAFETY: system calls that take numbers only.
            let refused =
                unsafe { libc::setsid() < 0 || libc::ioctl(number, libc::TIOCSCTTY, 0) < 0 };
            match refused {
                true => Err(std::io::Error::last_os_error()),
                false => Ok(()),
            }
        };
        // SAFETY: between fork and exec only system calls are made.
        unsafe { command.pre_exec(become_its_session) };
        Self {
            child: command.spawn().unwrap(),
            screen: File::from(both.master),
            said: String::new(),
        }
    }

    /// Waits until this is on the screen. Never gives up, unless the program ends.
    #[track_caller]
    pub fn until(&mut self, text: &str) {
        while !self.said.contains(text) {
            assert!(self.read(), "no {text:?} in {:?}", self.said);
        }
    }

    /// Reads on; false when nobody has the terminal any more.
    fn read(&mut self) -> bool {
        let mut bytes = [0; 4096];
        let count = self.screen.read(&mut bytes).unwrap_or(0);
        self.said += &String::from_utf8_lossy(&bytes[..count]);
        count > 0
    }

    pub fn interrupt(&mut self) {
        self.screen.write_all(INTERRUPT).unwrap();
    }

    /// Waits for the program's end, and gives all that was written.
    pub fn end(mut self) -> (ExitStatus, String) {
        while self.read() {}
        (self.child.wait().unwrap(), self.said)
    }
}
