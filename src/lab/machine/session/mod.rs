// SPDX-License-Identifier: GPL-2.0-only
//! The host's side of one run: reads the guest's streams, keeps the time limits, and knows when
//! everything has arrived.
//!
//! One thread and one poll loop, whatever the engine: it needs only a byte stream for the console
//! and one for each port of [`artis_guest::protocol`].

use super::record::Ended;
use crate::Error;
use crate::engine::{Channels, Limits};
use crate::progress::Progress;
use artis_guest::protocol::{BYE, Message, STOP, Stream};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long a guest may take to end the command and send its files after a time-out.
const GRACE: Duration = Duration::from_secs(20);
/// How often signals and limits are checked while nothing arrives.
const BEAT_MS: u16 = 100;

/// Where a guest's streams go.
pub struct Sinks<'a> {
    /// The kernel's console.
    pub console: &'a File,
    /// The command's standard output.
    pub stdout: &'a mut dyn Write,
    /// The command's standard error.
    pub stderr: &'a mut dyn Write,
    /// The archive of its files.
    pub files: &'a File,
}

/// How a session went.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It ended in order, or this process ended it.
    Ended {
        /// How.
        ended: Ended,
        /// Is the archive of files whole?
        files_whole: bool,
    },
    /// The machine went away without an exit status.
    Lost,
    /// It has not told its time for so long.
    Silent(Duration),
    /// The machine never got as far as starting the command.
    NoBoot,
}

/// One conversation with one guest.
pub struct Session<'a> {
    channels: Channels,
    sinks: Sinks<'a>,
    stdout: Stream,
    stderr: Stream,
    files: Stream,
    lines: Vec<u8>,
    ready: bool,
    status: Option<u8>,
    timed_out: bool,
    /// The guest could not pack all files.
    cut: bool,
    /// The guest's own seconds, when it sends them.
    guest_s: Option<u64>,
    /// It became ready a second time: it died and booted again.
    rebooted: bool,
}

impl<'a> Session<'a> {
    /// A session over `channels` whose streams end with the mark `end`.
    pub fn new(channels: Channels, sinks: Sinks<'a>, end: &str) -> Self {
        Self {
            channels,
            sinks,
            stdout: Stream::new(end),
            stderr: Stream::new(end),
            files: Stream::new(end),
            lines: Vec::new(),
            ready: false,
            status: None,
            timed_out: false,
            cut: false,
            guest_s: None,
            rebooted: false,
        }
    }

    /// Reads and answers until the command's end, the machine's end, a limit that has passed, or a
    /// signal number in `stop`.
    ///
    /// # Errors
    /// When a sink cannot be written, or the guest sends what is not in the protocol.
    pub fn run(
        mut self,
        limits: &Limits,
        stop: &AtomicUsize,
        progress: &mut dyn Progress,
    ) -> Result<Verdict, Error> {
        let begin = Instant::now();
        let mut limit = Some(begin + limits.boot);
        let mut heard = begin;
        progress.step("booting", None);
        loop {
            let was_ready = self.ready;
            let guest_was_s = self.guest_s;
            let alive = self.turn()?;
            if self.ready && !was_ready {
                progress.done();
                heard = Instant::now();
                limit = limits.command.map(|timeout| heard + timeout);
            }
            if self.guest_s != guest_was_s {
                heard = Instant::now();
                self.show_time(begin, progress);
            }
            if self.rebooted {
                return self.end_streams().map(|()| Verdict::Lost);
            }
            if self.complete() {
                self.say_goodbye(limits.power_off, stop)?;
                return self.give_verdict();
            }
            let signal = stop.load(Ordering::Relaxed);
            if signal != 0 {
                let signal = i32::try_from(signal).unwrap_or_default();
                return self.end(Ended::Interrupted(signal));
            }
            if !alive {
                return self.give_verdict();
            }
            if !self.ready {
                let seconds = begin.elapsed().as_secs();
                progress.step(&format!("booting, {seconds} s"), None);
            }
            if let Some(limit) = limits.silence
                && self.ready
                && heard.elapsed() > limit
            {
                return self.end_streams().map(|()| Verdict::Silent(limit));
            }
            if limit.is_some_and(|limit| Instant::now() >= limit) {
                if !self.ready {
                    return Ok(Verdict::NoBoot);
                }
                if self.timed_out {
                    return self.end(Ended::TimedOut);
                }
                self.timed_out = true;
                limit = Some(Instant::now() + GRACE);
                // A guest that hangs cannot listen; the grace period ends that.
                let _ = self.channels.control.write_all(STOP);
            }
        }
    }

    /// The guest's clock, for an engine whose time is not the host's.
    fn show_time(&self, begin: Instant, progress: &mut dyn Progress) {
        if let Some(guest_s) = self.guest_s {
            let host_s = begin.elapsed().as_secs();
            progress.step(
                &format!("running, virtual time {guest_s} s after {host_s} s"),
                None,
            );
        }
    }

    /// Lets the guest power off, and keeps what the console still says.
    fn say_goodbye(&mut self, patience: Duration, stop: &AtomicUsize) -> Result<(), Error> {
        let limit = Instant::now() + patience;
        // The guest may have ended already: nothing is lost then.
        let _ = self.channels.control.write_all(BYE);
        while self.turn()? && Instant::now() < limit && stop.load(Ordering::Relaxed) == 0 {}
        Ok(())
    }

    /// Waits for bytes and passes them on; false when the machine has closed all streams.
    fn turn(&mut self) -> Result<bool, Error> {
        let channels = &self.channels;
        let streams = [
            &channels.console,
            &channels.control,
            &channels.stdout,
            &channels.stderr,
            &channels.files,
        ];
        let mut polled = streams.map(|stream| PollFd::new(stream.as_fd(), PollFlags::POLLIN));
        match poll(&mut polled, PollTimeout::from(BEAT_MS)) {
            Ok(0) | Err(Errno::EINTR) => return Ok(true),
            Ok(_) => {}
            Err(errno) => return Err(sink("console")(errno.into())),
        }
        let readable = polled.map(|one| one.any().unwrap_or(false));
        let mut buffer = [0u8; 1 << 16];
        let mut alive = false;
        for (index, mut stream) in streams.into_iter().enumerate() {
            if !readable[index] {
                alive = true;
                continue;
            }
            let bytes = match stream.read(&mut buffer) {
                Ok(length) => &buffer[..length],
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                // A killed machine resets its sockets, which is the same as their end.
                Err(_) => &[],
            };
            alive |= !bytes.is_empty();
            let sinks = &mut self.sinks;
            match index {
                0 => sinks.console.write_all(bytes).map_err(sink("console"))?,
                1 => self.lines.extend_from_slice(bytes),
                2 => self
                    .stdout
                    .feed(bytes, sinks.stdout)
                    .map_err(sink("stdout"))?,
                3 => self
                    .stderr
                    .feed(bytes, sinks.stderr)
                    .map_err(sink("stderr"))?,
                _ => self
                    .files
                    .feed(bytes, &mut sinks.files)
                    .map_err(sink("files"))?,
            }
        }
        self.take_messages()?;
        Ok(alive)
    }

    fn take_messages(&mut self) -> Result<(), Error> {
        while let Some(end) = memchr::memchr(b'\n', &self.lines) {
            let line: Vec<u8> = self.lines.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            match Message::parse(line.trim_end())? {
                Message::Ready => {
                    self.rebooted |= self.ready;
                    self.ready = true;
                }
                Message::At(seconds) => self.guest_s = Some(seconds),
                Message::Late => self.timed_out = true,
                Message::Exit(status) => self.status = Some(status),
                Message::Cut => self.cut = true,
            }
        }
        Ok(())
    }

    fn complete(&self) -> bool {
        let streams = [&self.stdout, &self.stderr, &self.files];
        self.status.is_some() && streams.iter().all(|stream| stream.ended())
    }

    fn give_verdict(self) -> Result<Verdict, Error> {
        match self.status {
            _ if self.timed_out => self.end(Ended::TimedOut),
            Some(status) => self.end(Ended::Exit(status)),
            None if self.ready => self.end_streams().map(|_| Verdict::Lost),
            None => Ok(Verdict::NoBoot),
        }
    }

    fn end(self, ended: Ended) -> Result<Verdict, Error> {
        let files_whole = self.files.ended() && !self.cut;
        self.end_streams()?;
        Ok(Verdict::Ended { ended, files_whole })
    }

    fn end_streams(mut self) -> Result<(), Error> {
        self.stdout
            .give_up(self.sinks.stdout)
            .map_err(sink("stdout"))?;
        self.stderr
            .give_up(self.sinks.stderr)
            .map_err(sink("stderr"))
    }
}

fn sink(stream: &'static str) -> impl FnOnce(io::Error) -> Error {
    move |source| Error::Sink { stream, source }
}

#[cfg(test)]
mod tests;
