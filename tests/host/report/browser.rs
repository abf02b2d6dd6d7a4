// SPDX-License-Identifier: GPL-2.0-only
//! A real browser without a screen: what it makes of a page.

use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const CHECK: &str = include_str!("check.js");
/// A page is shown in a second or two; this only ends a browser that hangs.
const PATIENCE_S: &str = "120";

/// What the checking script saw.
#[derive(Debug, Deserialize)]
pub struct Seen {
    pub width: u32,
    /// Values that the keyboard reached.
    pub values: usize,
    pub texts: usize,
    pub pictures: usize,
    pub dark: bool,
    /// What is wrong, a sentence each.
    pub found: Vec<String>,
}

/// What the script wrote of a frame: this begins with it.
fn seen(text: &str) -> Seen {
    let (json, _) = text.split_once("</pre>").unwrap();
    let json = json
        .replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&amp;", "&");
    serde_json::from_str(&json).unwrap()
}

pub struct Browser {
    program: PathBuf,
    /// Its own files.
    profile: tempfile::TempDir,
}

impl Browser {
    /// None when there is no Chromium here.
    pub fn find() -> Option<Self> {
        let names = ["chromium", "chromium-browser", "google-chrome"];
        let program = names.iter().find_map(|name| which::which(name).ok())?;
        Some(Self {
            program,
            profile: tempfile::tempdir().unwrap(),
        })
    }

    fn run(&self, words: &[String], page: &Path) -> Output {
        let output = Command::new("timeout")
            .arg(PATIENCE_S)
            .arg(&self.program)
            .env("HOME", self.profile.path())
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
            ])
            .args(["--hide-scrollbars", "--enable-logging=stderr"])
            .arg(format!("--user-data-dir={}", self.profile.path().display()))
            .args(words)
            .arg(format!("file://{}", page.display()))
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words:?}: {stderr}");
        let console: Vec<&str> = stderr
            .lines()
            .filter(|line| line.contains(":CONSOLE"))
            .collect();
        assert!(console.is_empty(), "{console:#?}");
        output
    }

    /// Shows copies of the pages with the checking script, each in a frame as wide as one of
    /// `widths`: a window is never narrower than 500. Gives what is seen of the first page in each
    /// width, then of the next. One browser for all: to start one takes longer than to look.
    pub fn look(&self, pages: &[&Path], widths: &[u32], dark: bool) -> Vec<Seen> {
        let script = format!("<script>{{{CHECK}}}</script></body>");
        let framed = pages[0].with_extension("framed.html");
        let mut frames = String::new();
        for page in pages {
            let text = std::fs::read_to_string(page).unwrap();
            let checked = text.replacen("</body>", &script, 1);
            let checked = checked.replace('&', "&amp;").replace('"', "&quot;");
            for width in widths {
                frames += &format!(
                    "<iframe style=\"width: {width}px; height: 1000px; border: 0; display: block\" \
                     srcdoc=\"{checked}\"></iframe>"
                );
            }
        }
        let frame = format!(
            "<!DOCTYPE html><body>{frames}<script>onload = () => {{ const found = \
             Array.from(document.querySelectorAll('iframe'), \
             frame => frame.contentDocument.getElementById('findings')); \
             document.body.replaceChildren(...found); }};</script></body>"
        );
        std::fs::write(&framed, frame).unwrap();
        let scheme = format!("--blink-settings=preferredColorScheme={}", u8::from(!dark));
        let widest = widths.iter().max().unwrap();
        let size = format!("--window-size={},1000", widest + 100);
        let output = self.run(&[scheme, size, "--dump-dom".to_owned()], &framed);
        let dom = String::from_utf8(output.stdout).unwrap();
        let found = dom.split("<pre id=\"findings\">").skip(1);
        let seen: Vec<Seen> = found.map(seen).collect();
        let count = "the checking script came to its end in each frame";
        assert_eq!(seen.len(), pages.len() * widths.len(), "{count}: {dom}");
        seen
    }

    /// Puts a picture of the page into a file.
    pub fn photograph(&self, page: &Path, width: u32, file: &Path) {
        let size = format!("--window-size={width},3000");
        let file = format!("--screenshot={}", file.display());
        self.run(&[size, file], page);
    }

    /// Prints the page into a file.
    pub fn print(&self, page: &Path, file: &Path) {
        self.run(&[format!("--print-to-pdf={}", file.display())], page);
    }
}
