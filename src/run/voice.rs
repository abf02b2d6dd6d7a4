// SPDX-License-Identifier: GPL-2.0-only
//! What a measurement says on standard error: all that is not its result.

use crate::progress::Sign;
use artis_report::warnings;
use artis_result::Warning;
use std::time::Duration;

/// How much is said.
#[derive(Clone, Copy, Debug, Default)]
pub struct Voice {
    /// Results and errors only.
    pub quiet: bool,
    /// Of each warning what it does to the figures and what to type.
    pub verbose: bool,
}

impl Voice {
    pub fn say(self, sentence: &str) {
        if !self.quiet {
            say!("artis: {sentence}");
        }
    }

    /// Prints a text of lines, such as a table that is not the result of the command.
    pub fn aside(self, text: &str) {
        if !self.quiet {
            say_text!("{text}");
        }
    }

    /// Prints what speaks against the figures, one line each unless more was asked for.
    pub fn warn(self, found: &[Warning]) {
        if self.quiet {
            return;
        }
        for warning in found {
            let text = match self.verbose {
                true => warnings::block(warning),
                false => warnings::line(warning),
            };
            say_text!("{text}");
        }
    }

    /// Says how to learn more about `count` warnings.
    pub fn explain(self, count: usize) {
        if count > 0 && !self.verbose {
            self.say("--verbose says what a warning does to the figures, and what to type");
        }
    }

    /// A sign of life of what takes so long in all; none: nobody knows.
    pub fn sign(self, total: Option<Duration>) -> Sign {
        Sign::new(!self.quiet, total)
    }
}
