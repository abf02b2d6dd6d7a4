// SPDX-License-Identifier: GPL-2.0-only
//! `artis top` on a real terminal: through a terminal multiplexer, whose screen is read.

use super::{ARTIS, wait_for};
use crate::common::skipped;
use std::process::{Command, Output};

/// A server of tmux of its own, which ends with this.
struct Tmux(String);

impl Tmux {
    fn run(&self, words: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.0, "-f", "/dev/null"]).args(words);
        command.env_remove("TMUX").output().unwrap()
    }

    fn screen(&self) -> String {
        let output = self.run(&["capture-pane", "-p"]);
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    #[track_caller]
    fn until(&self, text: &str) -> String {
        wait_for(text, || {
            Some(self.screen()).filter(|screen| screen.contains(text))
        })
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run(&["kill-server"]);
    }
}

#[test]
fn a_multiplexer_shows_the_screen_and_has_its_terminal_back() {
    const TEST: &str = "a_multiplexer_shows_the_screen";
    if Command::new("tmux").arg("-V").output().is_err() {
        return skipped(TEST, "tmux is not there");
    }
    let tmux = Tmux(format!("artis-test-{}", std::process::id()));
    let command = format!("{ARTIS} top --every 200ms; echo ended with $?; sleep 600");
    let words = ["new-session", "-d", "-x", "80", "-y", "24", &command];
    let started = tmux.run(&words);
    assert!(started.status.success(), "{started:?}");
    let screen = tmux.until("q quit  h help");
    assert!(screen.starts_with("artis 0.1.0, Linux "), "{screen}");
    assert!(screen.contains("CPU role"), "{screen}");
    assert_eq!(screen.lines().count(), 24, "{screen}");
    tmux.run(&["send-keys", "h"]);
    tmux.until("any key goes back");
    tmux.run(&["send-keys", "x"]);
    tmux.until("q quit  h help");
    tmux.run(&["send-keys", "/", "nobody"]);
    tmux.until("filter: nobody_");
    tmux.run(&["send-keys", "Enter"]);
    tmux.until("no real-time thread has such a name");
    tmux.run(&["send-keys", "Space"]);
    tmux.until("PAUSED");
    tmux.run(&["resize-window", "-x", "120", "-y", "40"]);
    wait_for("the larger screen", || {
        (tmux.screen().lines().count() == 40 && tmux.screen().contains("PAUSED")).then_some(())
    });
    tmux.run(&["send-keys", "q"]);
    let after = tmux.until("ended with 0");
    // The screen is gone, and what was there before is back.
    assert!(!after.contains("CPU role"), "{after}");
}
