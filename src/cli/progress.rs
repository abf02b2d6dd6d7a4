// SPDX-License-Identifier: GPL-2.0-only
//! Long steps on standard error: a live line on a terminal, short plain lines elsewhere.

use crate::lab::progress::Progress;
use crate::result::terminal::plain;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// How often the live line moves by itself.
const BEAT: Duration = Duration::from_millis(100);

/// Shows the lab's progress.
#[derive(Default)]
pub struct Stderr {
    bar: Option<ProgressBar>,
    /// The step whose beginning has been printed.
    begun: Option<String>,
}

impl Progress for Stderr {
    fn step(&mut self, what: &str, percent: Option<f32>) {
        if std::io::stderr().is_terminal() {
            let bar = self.bar.get_or_insert_with(live_line);
            let percent = percent.map_or_else(String::new, |percent| format!(", {percent:.0} %"));
            bar.set_message(plain(&format!("{what}{percent}")));
            return;
        }
        // "booting, 3 s" is the step that began as "booting".
        let name = what.split(',').next().unwrap_or(what);
        if self.begun.as_deref() != Some(name) {
            say!("artis: {name} …");
            self.begun = Some(name.to_owned());
        }
    }

    fn done(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
        self.begun = None;
    }

    fn note(&mut self, sentence: &str) {
        self.done();
        say!("artis: {sentence}");
    }
}

/// A line that moves by itself, for a terminal.
pub fn live_line() -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} artis: {msg}")
        .expect("the template is constant and a test renders it");
    let bar = ProgressBar::new_spinner().with_style(style);
    bar.enable_steady_tick(BEAT);
    bar
}

/// One line about a running measurement; nothing where standard error is not a terminal.
pub struct LiveLine(Option<ProgressBar>);

impl LiveLine {
    /// A line, if it is `wanted`.
    pub fn new(wanted: bool) -> Self {
        Self((wanted && std::io::stderr().is_terminal()).then(live_line))
    }

    /// Shows `text`, which is computed only when somebody can see it.
    pub fn show(&self, text: impl FnOnce() -> String) {
        if let Some(bar) = &self.0 {
            bar.set_message(plain(&text()));
        }
    }
}

impl Drop for LiveLine {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_live_line_can_be_made() {
        live_line().finish_and_clear();
    }
}
