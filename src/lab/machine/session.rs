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
mod tests {
    use super::*;
    use crate::progress::Silent;
    use std::io::{BufRead, BufReader, Seek};
    use std::os::unix::net::UnixStream;
    use std::thread;

    const END: &str = "[end]";

    /// The guest's ends of the streams.
    struct Guest {
        console: UnixStream,
        control: UnixStream,
        stdout: UnixStream,
        stderr: UnixStream,
        files: UnixStream,
    }

    impl Guest {
        fn say(&mut self, line: &str) {
            writeln!(self.control, "{line}").unwrap();
        }

        fn hear(&mut self) -> String {
            let mut line = String::new();
            BufReader::new(&self.control).read_line(&mut line).unwrap();
            line
        }

        fn end_streams(&mut self) {
            for stream in [&mut self.stdout, &mut self.stderr, &mut self.files] {
                stream.write_all(END.as_bytes()).unwrap();
            }
        }
    }

    /// What a session with a scripted guest gave.
    struct Talk {
        verdict: Result<Verdict, Error>,
        stdout: String,
        stderr: String,
        console: String,
    }

    fn talk(
        timeout: Option<Duration>,
        stop: &AtomicUsize,
        script: impl FnOnce(Guest) + Send,
    ) -> Talk {
        let limits = Limits {
            boot: Duration::from_secs(240),
            command: timeout,
            silence: None,
            power_off: Duration::from_secs(5),
        };
        talk_within(&limits, stop, script)
    }

    fn talk_within(limits: &Limits, stop: &AtomicUsize, script: impl FnOnce(Guest) + Send) -> Talk {
        let pair = || UnixStream::pair().unwrap();
        let (console, control, stdout, stderr, files) = (pair(), pair(), pair(), pair(), pair());
        let channels = Channels {
            console: console.0,
            control: control.0,
            stdout: stdout.0,
            stderr: stderr.0,
            files: files.0,
        };
        let guest = Guest {
            console: console.1,
            control: control.1,
            stdout: stdout.1,
            stderr: stderr.1,
            files: files.1,
        };
        let mut kept = tempfile::tempfile().unwrap();
        let archive = tempfile::tempfile().unwrap();
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let sinks = Sinks {
            console: &kept,
            stdout: &mut out,
            stderr: &mut err,
            files: &archive,
        };
        let session = Session::new(channels, sinks, END);
        let verdict = thread::scope(|scope| {
            scope.spawn(|| script(guest));
            session.run(limits, stop, &mut Silent)
        });
        kept.rewind().unwrap();
        let mut console = String::new();
        kept.read_to_string(&mut console).unwrap();
        Talk {
            verdict,
            stdout: String::from_utf8(out).unwrap(),
            stderr: String::from_utf8(err).unwrap(),
            console,
        }
    }

    fn ended(ended: Ended, files_whole: bool) -> Verdict {
        Verdict::Ended { ended, files_whole }
    }

    #[test]
    fn a_run_in_order_ends_when_all_has_arrived() {
        let talk = talk(None, &AtomicUsize::new(0), |mut guest| {
            guest.say("ready");
            // The status overtakes the streams: they have no common order.
            guest.say("exit 5");
            guest.stdout.write_all(b"out").unwrap();
            guest.stderr.write_all(b"err").unwrap();
            guest.end_streams();
            assert_eq!(guest.hear(), "bye\n");
            guest.console.write_all(b"power off").unwrap();
        });
        assert_eq!(talk.verdict.unwrap(), ended(Ended::Exit(5), true));
        assert_eq!((talk.stdout.as_str(), talk.stderr.as_str()), ("out", "err"));
        assert_eq!(talk.console, "power off");
    }

    #[test]
    fn files_that_could_not_all_be_packed_are_reported() {
        let talk = talk(None, &AtomicUsize::new(0), |mut guest| {
            guest.say("ready");
            guest.say("cut");
            guest.end_streams();
            guest.say("exit 0");
        });
        assert_eq!(talk.verdict.unwrap(), ended(Ended::Exit(0), false));
    }

    #[test]
    fn a_guest_that_dies_is_lost_but_not_its_output() {
        let talk = talk(None, &AtomicUsize::new(0), |mut guest| {
            guest.say("ready");
            guest.stdout.write_all(b"last words [en").unwrap();
        });
        assert_eq!(talk.verdict.unwrap(), Verdict::Lost);
        assert_eq!(talk.stdout, "last words [en");
    }

    #[test]
    fn a_guest_that_dies_early_did_not_boot() {
        let talk = talk(None, &AtomicUsize::new(0), |mut guest| {
            guest.console.write_all(b"no root").unwrap();
        });
        assert_eq!(talk.verdict.unwrap(), Verdict::NoBoot);
        assert_eq!(talk.console, "no root");
    }

    #[test]
    fn a_time_out_asks_the_guest_to_end_the_command() {
        let timeout = Some(Duration::from_millis(1));
        let talk = talk(timeout, &AtomicUsize::new(0), |mut guest| {
            guest.say("ready");
            assert_eq!(guest.hear(), "stop\n");
            guest.end_streams();
            guest.say("exit 137");
        });
        assert_eq!(talk.verdict.unwrap(), ended(Ended::TimedOut, true));
    }

    #[test]
    fn a_guest_that_keeps_its_own_limit_says_so() {
        let talk = talk(None, &AtomicUsize::new(0), |mut guest| {
            guest.say("ready");
            guest.say("at 7");
            guest.say("late");
            guest.end_streams();
            guest.say("exit 137");
        });
        assert_eq!(talk.verdict.unwrap(), ended(Ended::TimedOut, true));
    }

    #[test]
    fn a_guest_that_does_not_tell_its_time_is_ended() {
        let limits = Limits {
            boot: Duration::from_secs(240),
            command: None,
            silence: Some(Duration::from_millis(20)),
            power_off: Duration::from_secs(5),
        };
        let talk = talk_within(&limits, &AtomicUsize::new(0), |mut guest| {
            guest.say("ready");
            guest.stdout.write_all(b"last words").unwrap();
            assert_eq!(guest.hear(), "", "the host hangs up");
        });
        let limit = Duration::from_millis(20);
        assert_eq!(talk.verdict.unwrap(), Verdict::Silent(limit));
        assert_eq!(talk.stdout, "last words");
    }

    #[test]
    fn a_guest_that_boots_again_is_lost() {
        let talk = talk(None, &AtomicUsize::new(0), |mut guest| {
            guest.say("ready");
            guest.say("ready");
            assert_eq!(guest.hear(), "", "the host hangs up");
        });
        assert_eq!(talk.verdict.unwrap(), Verdict::Lost);
    }

    #[test]
    fn a_signal_ends_the_session_at_once() {
        let stop = AtomicUsize::new(0);
        let talk = talk(None, &stop, |mut guest| {
            guest.say("ready");
            stop.store(15, Ordering::Relaxed);
            // The host closes its ends.
            assert_eq!(guest.hear(), "");
        });
        assert_eq!(talk.verdict.unwrap(), ended(Ended::Interrupted(15), false));
    }

    #[test]
    fn what_is_not_in_the_protocol_is_an_error() {
        let talk = talk(None, &AtomicUsize::new(0), |mut guest| guest.say("hello"));
        assert!(matches!(talk.verdict, Err(Error::Protocol(line)) if line.0 == "hello"));
    }
}
