// SPDX-License-Identifier: GPL-2.0-only
//! An engine without a guest, for tests of what surrounds a guest: the cache, the samples of an
//! experiment, interruptions, lost guests. A thread plays the guest's side of the protocol.

use super::{Channels, Engine, Hardware, Limits, Power, Prepared, Started};
use crate::Error;
use crate::host::cache::Cache;
use crate::progress::Progress;
use std::fmt::{self, Debug, Formatter};
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

const END_MARK: &str = "[end of a fake guest's stream]";
/// How a tar archive without files ends: two blocks of zeros.
const EMPTY_ARCHIVE: [u8; 1024] = [0; 1024];

/// What a guest does.
pub enum Behaviour {
    /// Writes this on standard output and ends with this status.
    Ends(String, u8),
    /// Dies after it has become ready, by this fault of the emulator or by its own.
    Dies(Option<&'static str>),
    /// Becomes ready, and never ends by itself.
    Hangs,
}

type Behave = dyn Fn(usize) -> Behaviour + Send + Sync;

/// The engine. Each guest asks `behave` what to do; its argument counts the guests from 0.
#[derive(Clone)]
pub struct Fake {
    behave: Arc<Behave>,
    boots: Arc<AtomicUsize>,
}

impl Fake {
    pub fn new(behave: impl Fn(usize) -> Behaviour + Send + Sync + 'static) -> Self {
        Self {
            behave: Arc::new(behave),
            boots: Arc::default(),
        }
    }

    /// How many guests were powered on.
    pub fn boots(&self) -> usize {
        self.boots.load(Ordering::SeqCst)
    }
}

impl Debug for Fake {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str("Fake")
    }
}

impl Engine for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn timing(&self) -> &'static str {
        "no times"
    }

    fn is_timing_meaningful(&self) -> bool {
        false
    }

    fn end_mark(&self) -> Result<String, Error> {
        Ok(END_MARK.to_owned())
    }

    fn limits(&self, command: Option<Duration>, _cpus: u32) -> Limits {
        Limits {
            boot: Duration::from_secs(600),
            command,
            silence: None,
            power_off: Duration::from_secs(600),
        }
    }

    fn arguments(&self) -> String {
        "console=none".to_owned()
    }

    fn prepare(
        &self,
        _cache: &Cache,
        _mirror: &str,
        _progress: &mut dyn Progress,
    ) -> Result<Box<dyn Prepared>, Error> {
        Ok(Box::new(self.clone()))
    }
}

impl Prepared for Fake {
    fn version(&self) -> Result<String, Error> {
        Ok("fake 1".to_owned())
    }

    fn start(&self, _hardware: &Hardware, _initramfs: &File) -> Result<Started, Error> {
        let behaviour = (self.behave)(self.boots.fetch_add(1, Ordering::SeqCst));
        let fault = match &behaviour {
            Behaviour::Dies(fault) => *fault,
            _ => None,
        };
        let (channels, ends) = Channels::new()?;
        thread::spawn(move || play(&behaviour, ends));
        Ok(Started {
            power: Box::new(FakePower(fault)),
            channels,
            remark: None,
        })
    }
}

struct FakePower(Option<&'static str>);

impl Power for FakePower {
    fn fault(&mut self, _console: &str) -> Option<&'static str> {
        self.0
    }

    fn complaint(&mut self) -> Option<String> {
        None
    }
}

/// A guest's life. The host may hang up at any moment, which ends it.
fn play(behaviour: &Behaviour, ends: [UnixStream; 5]) {
    let [mut console, mut control, mut stdout, mut stderr, mut files] = ends;
    let _ = console.write_all(b"a fake kernel boots\n");
    let _ = control.write_all(b"ready\n");
    match behaviour {
        Behaviour::Dies(_) => return,
        Behaviour::Hangs => {}
        Behaviour::Ends(said, status) => {
            for (stream, content) in [
                (&mut stdout, said.as_bytes()),
                (&mut stderr, b"".as_slice()),
                (&mut files, &EMPTY_ARCHIVE),
            ] {
                let _ = stream.write_all(content);
                let _ = stream.write_all(END_MARK.as_bytes());
            }
            let _ = writeln!(control, "exit {status}");
        }
    }
    // Until the host says "bye" or hangs up.
    let _ = control.read(&mut [0; 16]);
}
