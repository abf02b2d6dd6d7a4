// SPDX-License-Identifier: GPL-2.0-only
//! Tests of sessions with a guest that a fake plays.

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

fn talk(timeout: Option<Duration>, stop: &AtomicUsize, script: impl FnOnce(Guest) + Send) -> Talk {
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
