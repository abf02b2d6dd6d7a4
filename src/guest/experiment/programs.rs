// SPDX-License-Identifier: GPL-2.0-only
//! Real programs beside RT0 and the loads: how long each takes, from its start until it has ended.
//!
//! They are Debian's, with their own libraries, below a root folder that the host packs
//! ([`ARCHIVE`]); what they do is in `programs.sh`. One runs after the other, each as a command of
//! the ordinary session. The database server is started before and answers to the end.

use super::run::{Error, system};
use artis_measure::clock::now_ns;
use std::collections::BTreeMap;
use std::io;
use std::process::{Command, Stdio};

/// Debian packages of the programs, and of what every program of a Debian system counts on.
pub const PACKAGES: &[&str] = &[
    "base-files",
    "dash",
    "coreutils",
    "gzip",
    "tcc",
    "sqlite3",
    "redis-server",
    "redis-tools",
    "python3-minimal",
];
/// Where the guest has them, packed.
pub const ARCHIVE: &str = "/programs.tar";
/// Where it unpacks them.
const ROOT: &str = "/programs";
const SCRIPT: &str = include_str!("programs.sh");
/// The words that [`SCRIPT`] knows, beside the first.
const SET_UP: &str = "set-up";
const PROGRAMS: [&str; 6] = ["compiler", "sqlite", REDIS, "pipeline", "python", "tree"];
/// It prints how long its requests took.
const REDIS: &str = "redis";
/// The column of its table, and how the name of the test goes on in the result.
const REQUESTS_P99: (&str, &str) = ("p99_latency_ms", "99 %");

/// Runs each of the programs once; seconds, by name.
///
/// # Errors
/// When they cannot be unpacked, or one of them fails.
pub(super) fn measure() -> Result<BTreeMap<String, f64>, Error> {
    unpack()?;
    run(SET_UP)?;
    let mut seconds = BTreeMap::new();
    for program in PROGRAMS {
        let began_ns = now_ns();
        let said = run(program)?;
        let took_ns = now_ns() - began_ns;
        seconds.insert(program.to_owned(), took_ns as f64 / 1e9);
        if program == REDIS {
            seconds.extend(requests(&said).ok_or_else(|| failed(program, &said))?);
        }
    }
    Ok(seconds)
}

fn unpack() -> Result<(), Error> {
    let words = format!(
        "mkdir {ROOT} && tar -xf {ARCHIVE} -C {ROOT} && rm {ARCHIVE} && \
         mount -t devtmpfs dev {ROOT}/dev && mount -t proc proc {ROOT}/proc"
    );
    output(
        Command::new("sh").args(["-c", &words]),
        "unpack the programs",
    )
    .map(drop)
}

fn run(program: &str) -> Result<String, Error> {
    let words = [ROOT, "/usr/bin/dash", "-c", SCRIPT, "sh", program];
    output(Command::new("chroot").args(words), program)
}

fn output(command: &mut Command, what: &str) -> Result<String, Error> {
    let ran = command
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let ran = ran.map_err(system(format!("run {what}")))?;
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    match ran.status.success() {
        true => Ok(said),
        false => Err(failed(what, &format!("{}; it said: {said}", ran.status))),
    }
}

fn failed(what: &str, said: &str) -> Error {
    system(format!("run {what}"))(io::Error::other(said.trim().to_owned()))
}

/// The time in which 99 % of each kind of request were answered: redis-benchmark's table, comma
/// separated, each cell in quotes.
fn requests(table: &str) -> Option<BTreeMap<String, f64>> {
    let mut lines = table.lines().map(|line| {
        let cells = line
            .split(',')
            .map(|cell| cell.trim_matches('"').to_owned());
        cells.collect::<Vec<_>>()
    });
    let (head, name) = REQUESTS_P99;
    let column = lines.next()?.iter().position(|cell| cell == head)?;
    let of = |line: Vec<String>| {
        let ms: f64 = line.get(column)?.parse().ok()?;
        Some((format!("{REDIS} {} {name}", line[0]), ms / 1000.0))
    };
    let all: BTreeMap<String, f64> = lines.map(of).collect::<Option<_>>()?;
    (!all.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_script_knows_each_program() {
        for program in PROGRAMS.into_iter().chain([SET_UP]) {
            assert!(SCRIPT.contains(&format!("\n{program})")), "{program}");
        }
    }

    /// As redis-benchmark 8.0 prints it.
    #[test]
    fn requests_are_read_by_the_head_of_their_column() {
        let table = "\"test\",\"rps\",\"p95_latency_ms\",\"p99_latency_ms\",\"max_latency_ms\"\n\
                     \"SET\",\"21052.63\",\"0.079\",\"0.935\",\"5.759\"\n\
                     \"GET\",\"133333.33\",\"0.039\",\"0.039\",\"0.191\"\n";
        let all = requests(table).unwrap();
        let names: Vec<&str> = all.keys().map(String::as_str).collect();
        assert_eq!(names, ["redis GET 99 %", "redis SET 99 %"]);
        assert!((all["redis SET 99 %"] - 0.000_935).abs() < 1e-9);
        assert_eq!(requests("\"test\",\"rps\"\n\"SET\",\"1\"\n"), None);
        assert_eq!(requests(""), None);
    }
}
