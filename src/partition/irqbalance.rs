// SPDX-License-Identifier: GPL-2.0-only
//! irqbalance: which CPUs it leaves alone, and the change that adds the RT CPUs to them.
//!
//! irqbalance would move interrupts back, so this change comes before the interrupts are moved. It
//! answers on a socket, to root only, and applies a new list some seconds later, in its next pass.
//! Source: irqbalance(1), irqbalance-ui(1), and what the socket of version 1.9 answers.

use super::change::{Change, Kind, Target};
use super::plan::{Plan, Request};
use artis_machine::{CpuList, Root, cpumask};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Where versions from 1.5 on put their sockets.
const FOLDER: &str = "/run/irqbalance";

/// It makes a pass every ten seconds at most, and answers between two passes.
const PATIENCE: Duration = Duration::from_secs(5);

/// Longest answer: a thousand interrupts and the mask.
const ANSWER_MAX: u64 = 1 << 20;

/// Plans the ban of RT CPUs, where irqbalance runs.
pub(super) fn plan(root: &Root, request: &Request, plan: &mut Plan) {
    let Some(pid) = running(root) else {
        return;
    };
    let socket = format!("{FOLDER}/irqbalance{pid}.sock");
    let by_hand = format!(
        "set IRQBALANCE_BANNED_CPULIST={} where its service reads its environment and restart it",
        request.rt
    );
    match banned(&root.path(&socket)) {
        Ok(Some(old)) => plan.push(Change {
            kind: Kind::IrqbalanceBan,
            what: format!("CPUs that irqbalance (process {pid}) leaves alone"),
            target: Target::Irqbalance { path: socket },
            new: (&old | &request.rt).to_string(),
            old: old.to_string(),
            detour: None,
            reason: "irqbalance would move interrupts back to RT CPUs".to_owned(),
        }),
        Ok(None) => plan.leave(
            Kind::IrqbalanceBan,
            format!("irqbalance (process {pid})"),
            format!("it has no socket at {socket}: {by_hand}"),
        ),
        Err(error) => plan.leave(
            Kind::IrqbalanceBan,
            format!("irqbalance (process {pid})"),
            format!("it could not be asked at {socket}: {error}; {by_hand}"),
        ),
    }
}

/// The process number of irqbalance, when it runs.
fn running(root: &Root) -> Option<i32> {
    let entries = std::fs::read_dir(root.path("/proc")).ok()?;
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .find(|pid: &i32| root.hint(format!("/proc/{pid}/comm")).as_deref() == Some("irqbalance"))
}

/// The CPUs that it leaves alone; none when it no longer listens.
pub(super) fn banned(socket: &Path) -> io::Result<Option<CpuList>> {
    let Some(stream) = ask(socket, "setup")? else {
        return Ok(None);
    };
    let mut answer = Vec::new();
    stream.take(ANSWER_MAX).read_to_end(&mut answer)?;
    let answer = String::from_utf8_lossy(&answer);
    parse(&answer)
        .map(Some)
        .ok_or_else(|| io::Error::new(ErrorKind::InvalidData, format!("it answers {answer:?}")))
}

/// Makes it leave these CPUs alone. An empty list gives the choice back to irqbalance.
pub(super) fn ban(socket: &Path, cpus: &str) -> io::Result<()> {
    let cpus = if cpus.is_empty() { "NULL" } else { cpus };
    match ask(socket, &format!("settings cpus {cpus}"))? {
        Some(_) => Ok(()),
        None => Err(ErrorKind::NotFound.into()),
    }
}

/// `SLEEP 10 IRQ 24 LOAD … BANNED 00000008`: the mask comes last.
fn parse(answer: &str) -> Option<CpuList> {
    cpumask::parse(answer.rsplit_once("BANNED ")?.1).ok()
}

fn ask(socket: &Path, words: &str) -> io::Result<Option<UnixStream>> {
    let mut stream = match UnixStream::connect(socket) {
        Ok(stream) => stream,
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::NotFound | ErrorKind::ConnectionRefused
            ) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    // irqbalance asks the kernel who sent this.
    stream.write_all(words.as_bytes())?;
    Ok(Some(stream))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn the_mask_comes_last() {
        let cpus = parse("SLEEP 10 IRQ 24 LOAD 5 DIFF 0 CLASS 3 BANNED 00000001,0000000c");
        assert_eq!(cpus.unwrap().to_string(), "2-3,32");
        assert_eq!(parse("SLEEP 10 "), None);
    }

    #[test]
    fn it_is_asked_and_changed_in_its_own_protocol() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        assert_eq!(banned(&path).unwrap(), None);
        let listener = UnixListener::bind(&path).unwrap();
        let heard = std::thread::spawn(move || {
            let mut heard = Vec::new();
            for answer in ["SLEEP 10 BANNED 2", "", ""] {
                let (mut stream, _) = listener.accept().unwrap();
                let mut words = [0; 100];
                let length = stream.read(&mut words).unwrap();
                heard.push(String::from_utf8_lossy(&words[..length]).into_owned());
                stream.write_all(answer.as_bytes()).unwrap();
            }
            heard
        });
        assert_eq!(banned(&path).unwrap().unwrap().to_string(), "1");
        ban(&path, "1,3").unwrap();
        ban(&path, "").unwrap();
        assert_eq!(
            heard.join().unwrap(),
            ["setup", "settings cpus 1,3", "settings cpus NULL"]
        );
    }

    proptest! {
        #[test]
        fn any_answer_is_read_or_refused(text in ".*", mask in "BANNED [0-9a-f,]{0,30}") {
            let _ = (parse(&text), parse(&mask));
        }
    }
}
