// SPDX-License-Identifier: GPL-2.0-only
//! Runs measurements for commands: what happens around the measuring, and how it is said.
//!
//! A command that measures is a [`session`]; [`explainer`] and [`watching`] have the flight
//! recorder
//! beside it; [`ways`] makes the machine what it can be, and measures each (`artis decide
//! --measure`). [`output`], [`progress`], [`exit`] and the macros `say!` and `say_text!` are how
//! every command prints, shows that it is at work, and ends. Knows no flags: those are the command
//! line's.

#![deny(clippy::print_stdout, clippy::print_stderr)]

/// As `eprintln!`, and goes on when nobody can read it: that must not cost the figures.
#[macro_export]
macro_rules! say {
    ($($text:tt)*) => {
        $crate::output::to_stderr(format_args!("{}\n", format_args!($($text)*)))
    };
}

/// As [`say!`], of a text that ends its own lines.
#[macro_export]
macro_rules! say_text {
    ($($text:tt)*) => {
        $crate::output::to_stderr(format_args!($($text)*))
    };
}

pub mod advice;
mod aside;
mod before;
mod beside;
pub mod exit;
pub mod explainer;
mod guard;
pub mod identity;
mod lava;
pub mod output;
mod own;
pub mod progress;
pub mod session;
pub mod shard;
pub mod signals;
pub mod start;
pub mod voice;
pub mod watching;
pub mod ways;
pub mod width;
