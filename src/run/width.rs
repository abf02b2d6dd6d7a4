// SPDX-License-Identifier: GPL-2.0-only
//! How wide text may be: the one place that knows.

use nix::libc;
use std::io::{stderr, stdout};
use std::os::fd::{AsFd, AsRawFd};

/// Where neither a terminal nor `COLUMNS` says it.
const DEFAULT: usize = 80;

mod ioctl {
    nix::ioctl_read_bad!(window_size, nix::libc::TIOCGWINSZ, nix::libc::winsize);
}

/// Columns of standard output, for tables and paragraphs.
pub fn of_stdout() -> usize {
    columns(&stdout())
}

/// Columns of standard error, for the sign of life.
pub fn of_stderr() -> usize {
    columns(&stderr())
}

/// Those of the terminal, else what `COLUMNS` says, else 80.
fn columns(output: &impl AsFd) -> usize {
    let asked = || std::env::var("COLUMNS").ok()?.trim().parse().ok();
    let known = of_terminal(output).or_else(asked);
    known.filter(|columns| *columns > 0).unwrap_or(DEFAULT)
}

/// None where it is no terminal, or one that does not know its size.
fn of_terminal(output: &impl AsFd) -> Option<usize> {
    let mut size = libc::winsize {
        ws_row: 0,
        ws_col: 0,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    // SAFETY: the kernel writes the struct that it is given.
    unsafe { ioctl::window_size(output.as_fd().as_raw_fd(), &raw mut size) }.ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}
