// SPDX-License-Identifier: GPL-2.0-only
//! Sweeps: the simulations of a scenario for several machines, schedulers and seeds, on all cores
//! and, in parts, on several machines. What is kept is not simulated again.

use super::kept::Folder;
use super::work::Work;
use crate::cli::output::stdout;
use crate::cli::progress::Sign;
use crate::task::starter::ends_with;
use anyhow::Context;
use artis_run::shard::{self, Head, Shard};
use nix::sys::signal::Signal;
use nix::unistd::getpid;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitCode, Stdio};
use std::sync::mpsc;

/// The sweep, or its part: a line for each simulation.
pub fn run(work: &Work<'_>) -> anyhow::Result<ExitCode> {
    if let Some(parts) = parts(work) {
        let mut out = stdout();
        return on_all_cores(work, parts, &[], &mut |line| Ok(writeln!(out, "{line}")?));
    }
    let folder = work.args.keep.as_deref().map(Folder::open).transpose()?;
    let numbers = numbers(work);
    let sign = Sign::new(work.args.part.is_none(), None);
    let mut out = stdout();
    for &number in sign.each(&numbers, "simulations") {
        let record = work.result(&work.plan[number], folder.as_ref())?;
        writeln!(out, "{}", work.head(number).line(record.outcome.get()))?;
        // Whoever waits for parts has each line when it is there.
        out.flush()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Simulates what the folder lacks, and prints nothing. A status: that of a part that failed.
pub fn fill(work: &Work<'_>, folder: &std::path::Path) -> anyhow::Result<Option<ExitCode>> {
    let Some(parts) = parts(work) else {
        return Ok(None);
    };
    let words: [OsString; 2] = ["--keep".into(), folder.into()];
    let more: &[OsString] = match work.args.keep {
        Some(_) => &[],
        None => &words,
    };
    let status = on_all_cores(work, parts, more, &mut |_| Ok(()))?;
    Ok((status != ExitCode::SUCCESS).then_some(status))
}

/// The lines of shards, as the whole sweep would have printed them.
pub fn merge(files: &[PathBuf]) -> anyhow::Result<ExitCode> {
    let mut out = stdout();
    for line in shard::merge(files, "simulation")? {
        writeln!(out, "{line}")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// What this process has to do, with those that it starts.
fn numbers(work: &Work<'_>) -> Vec<usize> {
    let shard = work.args.shard.unwrap_or(Shard::WHOLE);
    let shard = shard.part(work.args.part.unwrap_or(Shard::WHOLE));
    let all = 0..work.plan.len();
    all.filter(|number| shard.has(*number)).collect()
}

/// Into how many processes it is divided; none: this one does it.
fn parts(work: &Work<'_>) -> Option<usize> {
    let args = work.args;
    // Standard input can be read once.
    let is_stream = args.files.iter().any(|path| path.as_os_str() == "-");
    if args.part.is_some() || is_stream {
        return None;
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let jobs = args.jobs.map_or(cores, usize::from);
    let parts = jobs.min(numbers(work).len());
    (parts > 1).then_some(parts)
}

/// Each core does a part, as a process of its own, because each has the scheduler's variables once.
/// Lines are given out in their order, each as soon as those before it are there.
fn on_all_cores(
    work: &Work<'_>,
    parts: usize,
    more: &[OsString],
    each: &mut dyn FnMut(&str) -> anyhow::Result<()>,
) -> anyhow::Result<ExitCode> {
    let numbers = numbers(work);
    let (say, heard) = mpsc::channel();
    let children = Shard::all(parts).enumerate().map(|(at, part)| {
        let mut child = start(part, more)?;
        let output = child.stdout.take();
        let output = output.context("a part of the sweep has no output")?;
        let say = say.clone();
        std::thread::spawn(move || read(at, output, &say));
        Ok(child)
    });
    let mut children: Vec<Child> = children.collect::<anyhow::Result<_>>()?;
    drop(say);
    let sign = Sign::new(true, None);
    let mut early = BTreeMap::new();
    let mut wanted = sign.each(&numbers, "simulations").peekable();
    for (at, line) in heard {
        let line = line.context("cannot read a part of the sweep")?;
        let Some(head) = line.as_deref().and_then(Head::read) else {
            // Its end, also in the middle of a line. The other parts end with this process.
            match ended(&mut children[at])? {
                ExitCode::SUCCESS => continue,
                status => return Ok(status),
            }
        };
        early.extend(line.map(|line| (head.number, line)));
        while let Some(line) = wanted.peek().and_then(|number| early.remove(number)) {
            wanted.next();
            each(&line)?;
        }
    }
    let is_whole = wanted.peek().is_none();
    anyhow::ensure!(is_whole, "a part of the sweep printed what is no result");
    Ok(ExitCode::SUCCESS)
}

/// The status of a part that has printed all it will. One that ended by itself has said why.
fn ended(child: &mut Child) -> anyhow::Result<ExitCode> {
    let status = child.wait();
    let status = status.context("cannot wait for a part of the sweep")?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    let code = code.with_context(|| {
        format!("a part of the sweep ended by {status}; the same command with --keep goes on")
    });
    code.map(ExitCode::from)
}

/// A part: the same command, which ends with this process.
fn start(part: Shard, more: &[OsString]) -> anyhow::Result<Child> {
    let program = std::env::current_exe().context("cannot find the program that runs")?;
    let mut command = Command::new(program);
    command
        .args(std::env::args_os().skip(1))
        .args(more)
        .args(["--part", &part.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let starter = getpid();
    // SAFETY: between fork and exec only system calls are made.
    unsafe { command.pre_exec(move || ends_with(starter, Signal::SIGKILL)) };
    command.spawn().context("cannot start a part of the sweep")
}

/// What a part prints, line by line, and its end.
fn read(at: usize, output: ChildStdout, say: &mpsc::Sender<(usize, io::Result<Option<String>>)>) {
    let lines = BufReader::new(output).lines().map(|line| line.map(Some));
    for line in lines.chain([Ok(None)]) {
        // Nobody listens any more: then the sweep has failed already.
        if say.send((at, line)).is_err() {
            break;
        }
    }
}
