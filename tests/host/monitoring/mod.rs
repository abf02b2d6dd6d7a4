// SPDX-License-Identifier: GPL-2.0-only
//! `artis top` and `artis metrics` on this machine: what they print, what they refuse, and who
//! reads them.

mod light;
mod poor;
mod prometheus;
mod screen;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

const ARTIS: &str = env!("CARGO_BIN_EXE_artis");
/// Longer than anything here takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

fn artis(words: &[&str]) -> Output {
    let mut command = Command::new("timeout");
    command.arg("120").arg(ARTIS).args(words);
    command.output().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A program that runs until this is dropped, and the lines that it writes on standard error.
struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    fn start(command: &mut Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (say, lines) = channel();
        std::thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                // Who has heard enough hears no more.
                let _ = say.send(line);
            }
        });
        Self { child, lines }
    }

    /// Waits for the line that has this in it.
    #[track_caller]
    fn until(&self, text: &str) -> String {
        let mut said = Vec::new();
        let began = Instant::now();
        while let Ok(line) = self
            .lines
            .recv_timeout(PATIENCE.saturating_sub(began.elapsed()))
        {
            if line.contains(text) {
                return line;
            }
            said.push(line);
        }
        panic!("no {text:?} in {said:#?}")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// artis keeps this text file; the variables are of its environment.
fn keeps(path: &Path, variables: &[(&str, &str)]) -> Running {
    let words = ["metrics", "--every", "200ms", "--textfile"];
    let mut command = Command::new(ARTIS);
    command
        .args(words)
        .arg(path)
        .envs(variables.iter().copied());
    let running = Running::start(&mut command);
    running.until("metrics in");
    running
}

/// What an address answers to a GET; none: nobody answers.
fn get(address: &str, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let request = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    Some(answer)
}

/// Tries until it succeeds.
#[track_caller]
fn wait_for<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(began.elapsed() < PATIENCE, "{what} never came");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// A port that is free now.
fn free_port() -> u16 {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

/// An RT0 thread that wakes up a thousand times a second; none where the kernel allows none, or
/// nobody may watch it.
fn rt0() -> Option<Running> {
    let words = ["measure", "latency", "-a", "0", "-i", "1000", "-D", "600"];
    let running = Running::start(Command::new(ARTIS).args(words).env("ARTIS_CONCURRENT", "1"));
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(20) {
        let output = artis(&["top", "--once", "--json", "--every", "300ms"]);
        let now: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        if now["watch"]["is_on"] == false {
            return None;
        }
        let threads = now["rt0"].as_array().unwrap();
        let is_seen = |one: &serde_json::Value| {
            one["pid"] == running.child.id() && one["wakeups"]["late"]["count"].as_u64() > Some(0)
        };
        if threads.iter().any(is_seen) {
            return Some(running);
        }
    }
    None
}

#[test]
fn once_prints_what_the_document_has() {
    let output = artis(&["top", "--once", "--every", "100ms"]);
    let text = stdout(&output);
    assert!(output.status.success(), "{output:?}");
    assert!(text.starts_with("artis 0.1.0, Linux "), "{text}");
    for head in ["CPU role", "median   99.9%   worst   bound"] {
        assert!(text.contains(head), "{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 200),
        "{text}"
    );
    let output = artis(&["top", "--once", "--every", "100ms", "--json"]);
    let now: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    crate::schema::top::published().assert_valid(&now);
    let cpus = now["cpus"].as_array().unwrap();
    let online = std::thread::available_parallelism().unwrap().get();
    assert!(cpus.len() >= online.min(2), "{now}");
    assert!(
        now["unknown"].is_array() && now["scheduler"].is_null(),
        "{now}"
    );
}

#[test]
fn a_real_time_thread_is_watched_and_a_bound_that_it_misses_ends_with_2() {
    let Some(rt0) = rt0() else {
        return crate::common::skipped("a_real_time_thread_is_watched", "nobody may watch here");
    };
    let pid = rt0.child.id().to_string();
    let words = [
        "top", "--once", "--every", "1s", "--pid", &pid, "--bound", "1us", "--json",
    ];
    let output = artis(&words);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let now: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let threads = now["rt0"].as_array().unwrap();
    let found = threads
        .iter()
        .find(|one| !one["wakeups"].is_null())
        .unwrap();
    let wakeups = &found["wakeups"];
    assert!(wakeups["above"].as_u64() > Some(0), "{found}");
    assert!(wakeups["late"]["max_ns"].as_u64() >= wakeups["late"]["p999_ns"].as_u64());
    assert!(
        now["watch"]["recordings"].as_u64() > Some(0),
        "{}",
        now["watch"]
    );
    let high = [&words[..4], &["--pid", &pid, "--bound", "1h"]].concat();
    assert_eq!(artis(&high).status.code(), Some(0));
}
