// SPDX-License-Identifier: GPL-2.0-only
//! The accesses of memory that Bochs' debugger prints, taken out of its output.
//!
//! Bochs 3.0 prints a line for each access of the CPUs whose memory is traced. The guest's streams
//! come on the same output, a byte at a time, and a line may stand within a frame; it is never
//! broken itself:
//!
//! ```text
//! [CPU1 WR]: LIN 0xffff88801f5a3e40 PHY 0x00001f5a3e40 (len=8, WB): 0x0000000000000001
//! [CPU0 RD]: PHY 0x000002a0c7f8 (len=8, WB) ; PTE: ...
//! ```
//!
//! At a mark of the guest the debugger stops, says so, and goes on with the next commands. What it
//! says meanwhile ends with what it says of the last CPU's tracing.

use super::lines::Lines;
use crate::engine::accesses::{Access, Accesses};
use std::io::{self, Write};
use std::sync::PoisonError;

/// The begin of an access, and the rest of it.
const ACCESS: &[u8] = b"[CPU";
const LINEAR: &[u8] = b"LIN 0x";
const PHYSICAL: &[u8] = b"PHY 0x";
const LENGTH: &[u8] = b"(len=";
/// What the debugger says first when it stops; before it begins, at 0.
const STOPPED: &[u8] = b"Next at t=";
/// What it says of each CPU's tracing.
const TRACING: &[u8] = b"Memory-Tracing ";
/// Needed in Bochs' configuration for the marks.
pub(super) const SETTING: &str = "magic_break: enabled=1 bx";

/// The debugger's commands: from the first mark to the third, accesses are printed.
pub(super) fn commands(cpus: u32) -> String {
    let all = |what: &str| -> String {
        let each = |cpu| format!("set $cpu={cpu}\ntrace-mem {what}\n");
        (0..cpus).map(each).collect()
    };
    let (on, off) = (all("on"), all("off"));
    format!("c\n{on}c\n{on}c\n{off}c\n")
}

/// Passes accesses and marks to the listener, and the guest's bytes on.
pub(super) struct Filter<W> {
    accesses: Accesses,
    lines: Lines<W>,
    /// What the debugger says last while it is stopped; none while the guest runs.
    stopped_until: Option<Vec<u8>>,
    last: Vec<u8>,
}

impl<W: Write> Filter<W> {
    pub fn new(accesses: Accesses, cpus: u32, rest: W) -> Self {
        Self {
            accesses,
            lines: Lines::new(rest),
            stopped_until: None,
            last: format!("for CPU{}\n", cpus.saturating_sub(1)).into_bytes(),
        }
    }
}

impl<W: Write> Write for Filter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let listener = self.accesses.listener.lock();
        let mut listener = listener.unwrap_or_else(PoisonError::into_inner);
        let Self {
            stopped_until,
            last,
            lines,
            ..
        } = self;
        lines.take(bytes, |line| {
            if let Some(until) = stopped_until {
                let tells = memchr::memmem::find(line, TRACING).is_some();
                if tells && line.ends_with(until) {
                    *stopped_until = None;
                }
                0
            } else if let Some((at, access)) = parse(line) {
                listener.hear(access);
                at
            } else if let Some(at) = stop(line) {
                *stopped_until = Some(last.clone());
                listener.mark();
                at
            } else {
                line.len()
            }
        })?;
        // While it is stopped, all is the debugger's.
        if stopped_until.is_none() {
            lines.pass_long_rest()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }
}

/// Where an access begins in `line`, and what it is; none when the line holds none.
fn parse(line: &[u8]) -> Option<(usize, Access)> {
    let at = match line.starts_with(ACCESS) {
        true => 0,
        // Bytes of the guest stand before it.
        false => memchr::memmem::rfind(line, ACCESS)?,
    };
    let (cpu, rest) = number(&line[at + ACCESS.len()..], 10)?;
    let (kind, rest) = rest.split_at_checked(5)?;
    let is_store = match kind {
        b" RD]:" => false,
        // Read and written at once: the line has to be had for writing.
        b" WR]:" | b" RW]:" => true,
        _ => return None,
    };
    let rest = rest.strip_prefix(b" ")?;
    let (linear, rest) = match rest.strip_prefix(LINEAR) {
        Some(rest) => {
            let (linear, rest) = number(rest, 16)?;
            (Some(linear), rest.strip_prefix(b" ")?)
        }
        None => (None, rest),
    };
    let (physical, rest) = number(rest.strip_prefix(PHYSICAL)?, 16)?;
    let rest = rest.strip_prefix(b" ")?.strip_prefix(LENGTH)?;
    let (bytes, _) = number(rest, 10)?;
    let access = Access {
        cpu: u32::try_from(cpu).ok()?,
        linear,
        physical,
        bytes,
        is_store,
    };
    Some((at, access))
}

/// Where the debugger begins to say that it stopped, in the middle of a run.
fn stop(line: &[u8]) -> Option<usize> {
    let at = memchr::memmem::rfind(line, STOPPED)?;
    let (tick, rest) = number(&line[at + STOPPED.len()..], 10)?;
    (tick > 0 && rest == b"\n").then_some(at)
}

/// A number, and what comes after it.
fn number(from: &[u8], radix: u32) -> Option<(u64, &[u8])> {
    let (mut value, mut length) = (0_u64, 0);
    for byte in from {
        let Some(digit) = char::from(*byte).to_digit(radix) else {
            break;
        };
        value = value.checked_mul(radix.into())? + u64::from(digit);
        length += 1;
    }
    (length > 0).then(|| (value, &from[length..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::accesses::Listener;
    use artis_guest::frames::frame;
    use proptest::prelude::*;
    use std::sync::{Arc, Mutex};

    #[derive(Default)]
    struct Heard {
        accesses: Vec<Access>,
        marks: u32,
    }

    impl Listener for Heard {
        fn hear(&mut self, access: Access) {
            self.accesses.push(access);
        }

        fn mark(&mut self) {
            self.marks += 1;
        }
    }

    /// As Bochs 3.0 prints them.
    const LINES: [&str; 4] = [
        "[CPU1 WR]: LIN 0xffff88801f5a3e40 PHY 0x00001f5a3e40 (len=8, WB): 0x0000000000000001\n",
        "[CPU0 RD]: LIN 0x00007a0000000040 PHY 0x000002a0c7f8 (len=4, WB): 0x00000001\n",
        "[CPU0 RD]: PHY 0x000002a0c7f8 (len=8, WB)\t; PTE: 0x8000000002a0c067\n",
        "Next at t=22507861865\n\
         (0) [0x000012345678] 0033:00007f0000001234 (unk. ctxt): xchg bx, bx\n\
         Memory-Tracing enabled for CPU0\nMemory-Tracing enabled for CPU1\n",
    ];

    #[test]
    fn each_line_is_an_access() {
        let of = |line: &str| parse(line.as_bytes()).unwrap().1;
        let first = Access {
            cpu: 1,
            linear: Some(0xffff_8880_1f5a_3e40),
            physical: 0x1f5a_3e40,
            bytes: 8,
            is_store: true,
        };
        assert_eq!(of(LINES[0]), first);
        assert_eq!((of(LINES[1]).bytes, of(LINES[1]).is_store), (4, false));
        assert_eq!(of(LINES[2]).linear, None);
        assert!(parse(b"[CPU1 XX]: LIN 0x1 PHY 0x2 (len=8, WB)\n").is_none());
    }

    proptest! {
        /// Lines may stand anywhere between the bytes of a frame.
        #[test]
        fn the_guests_bytes_pass_whole(
            piece in prop::collection::vec(any::<u8>(), 1..900),
            places in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
            cut in 1usize..70,
        ) {
            let bytes = frame(1, &piece);
            let places = places.iter().map(|place| place.index(bytes.len()));
            let mut places: Vec<usize> = places.collect();
            places.sort_unstable();
            let (mut sent, mut from) = (Vec::new(), 0);
            for (at, place) in places.iter().enumerate() {
                sent.extend_from_slice(&bytes[from..*place]);
                sent.extend_from_slice(LINES[at % LINES.len()].as_bytes());
                from = *place;
            }
            sent.extend_from_slice(&bytes[from..]);
            let heard = Arc::new(Mutex::new(Heard::default()));
            let listener = Arc::clone(&heard);
            let mut out = Vec::new();
            let mut filter = Filter::new(Accesses { listener }, 2, &mut out);
            for part in sent.chunks(cut) {
                filter.write_all(part).unwrap();
            }
            filter.flush().unwrap();
            prop_assert_eq!(out, bytes);
            let heard = heard.lock().unwrap();
            let marks = (0..places.len()).filter(|at| at % LINES.len() == 3).count();
            prop_assert_eq!(heard.marks as usize, marks);
            prop_assert_eq!(heard.accesses.len(), places.len() - marks);
        }
    }
}
