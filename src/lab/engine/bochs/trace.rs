// SPDX-License-Identifier: GPL-2.0-only
//! What Bochs' debugger prints of one CPU without stopping the guest, taken out of its output.
//!
//! Bochs 3.0 prints a line for each call, interrupt, return from an interrupt, and change of the
//! address space, of the CPU that `set $cpu` chose. The guest's streams come on the same output, a
//! byte at a time, and a line may stand within a frame; it is never broken itself, because it is
//! printed within one instruction. A line has the time first, in ticks of one instruction:
//!
//! ```text
//! 00105263360: call 0x0010:ffffffff81f9d180 (0xffffffff81f9d180) (phy: 0x000001f9d180) unk. ctxt
//! 00105263385: exception (not softint) 0x0010:ffffffff82001153 (0xffffffff82001153)
//! 00105263990: iret 0x0033:000055d3c1a51f2b (0x000055d3c1a51f2b)
//! 00105264410: address space switched. CR3: 0x00000b2c4000
//! ```

use super::lines::Lines;
use crate::engine::observed::{Kind, Observed, Step};
use std::io::{self, Write};
use std::sync::PoisonError;

/// Digits of a time; it has more only after a thousand virtual seconds.
const DIGITS: usize = 11;
/// How each line goes on after the time.
const KINDS: [(&[u8], Kind); 4] = [
    (b": call 0x", Kind::Call),
    (b": exception (not softint) 0x", Kind::Interrupt),
    (b": iret 0x", Kind::Return),
    (b": address space switched. CR3: 0x", Kind::Space),
];
/// Printed with the changes of the address space, and of no use.
const MODE: &[u8] = b": switched from '";

/// The debugger's commands for it.
pub(super) fn commands(cpu: u32) -> String {
    format!("set $cpu={cpu}\nshow call\nshow extint\nshow iret\nshow mode\nc\n")
}

/// Passes the lines to the observer and all other bytes on.
pub(super) struct Filter<W> {
    observed: Observed,
    lines: Lines<W>,
}

impl<W: Write> Filter<W> {
    pub fn new(observed: Observed, rest: W) -> Self {
        Self {
            observed,
            lines: Lines::new(rest),
        }
    }
}

impl<W: Write> Write for Filter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let observer = self.observed.observer.lock();
        let mut observer = observer.unwrap_or_else(PoisonError::into_inner);
        self.lines.take(bytes, |line| {
            let Some((at, step)) = parse(line) else {
                return line.len();
            };
            if let Some(step) = step {
                observer.hear(step);
            }
            at
        })?;
        self.lines.pass_long_rest()?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.lines.flush()
    }
}

/// Where a line of the debugger begins in `line`, and what it says; none when it holds none.
fn parse(line: &[u8]) -> Option<(usize, Option<Step>)> {
    let at = begin(line)?;
    let after = line.get(at + DIGITS..)?;
    if after.starts_with(MODE) {
        return Some((at, None));
    }
    let (words, kind) = KINDS.iter().find(|(words, _)| after.starts_with(words))?;
    let tick = number(&line[at..at + DIGITS], 10)?;
    let value = &after[words.len()..];
    let end = |from: &[u8]| {
        let digit = |byte: &u8| byte.is_ascii_hexdigit();
        from.iter()
            .position(|byte| !digit(byte))
            .unwrap_or(from.len())
    };
    let first = &value[..end(value)];
    let step = |address, user| {
        Some(Step {
            tick,
            kind: *kind,
            address,
            user,
        })
    };
    if *kind == Kind::Space {
        return Some((at, step(number(first, 16)?, false)));
    }
    // Real mode, early in the boot, has its address without 0x; nobody needs it.
    let selector = number(first, 16)?;
    let address = value.get(first.len() + 1..).unwrap_or_default();
    let address = number(&address[..end(address)], 16);
    Some((
        at,
        address.and_then(|address| step(address, selector & 3 == 3)),
    ))
}

/// Where the time of a line begins.
fn begin(line: &[u8]) -> Option<usize> {
    let digits =
        |from: &[u8]| from.len() >= DIGITS && from[..DIGITS].iter().all(u8::is_ascii_digit);
    if digits(line) && line.get(DIGITS) == Some(&b':') {
        return Some(0);
    }
    // Bytes of the guest stand before it.
    let all = KINDS.iter().map(|(words, _)| *words).chain([MODE]);
    let found = all
        .filter_map(|words| memchr::memmem::rfind(line, words))
        .max()?;
    let at = found.checked_sub(DIGITS)?;
    digits(&line[at..]).then_some(at)
}

fn number(digits: &[u8], radix: u32) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

/// The steps in some lines of the debugger.
#[cfg(test)]
pub(crate) fn steps(lines: &str) -> Vec<Step> {
    let lines = lines.split_inclusive('\n').map(str::as_bytes);
    lines.filter_map(|line| parse(line)?.1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::observed::Observer;
    use artis_guest::frames::frame;
    use proptest::prelude::*;
    use std::sync::{Arc, Mutex};

    #[derive(Default)]
    struct Heard(Vec<Step>);

    impl Observer for Heard {
        fn hear(&mut self, step: Step) {
            self.0.push(step);
        }
    }

    /// As Bochs 3.0 prints them.
    const LINES: [&str; 5] = [
        "00105263360: call 0x0010:ffffffff81f9d180 (0xffffffff81f9d180) (phy: 0x000001f9d180) unk. ctxt\n",
        "00105263385: exception (not softint) 0x0010:ffffffff82001153 (0xffffffff82001153)\n",
        "00105263990: iret 0x0033:000055d3c1a51f2b (0x000055d3c1a51f2b)\n",
        "00105264410: address space switched. CR3: 0x00000b2c4000\n",
        "00105264415: switched from 'real mode' to 'protected mode'\n",
    ];

    #[test]
    fn each_line_is_a_step() {
        let steps: Vec<_> = LINES
            .iter()
            .filter_map(|line| parse(line.as_bytes()).unwrap().1)
            .map(|step| (step.tick, step.kind, step.address, step.user))
            .collect();
        assert_eq!(
            steps,
            [
                (105_263_360, Kind::Call, 0xffff_ffff_81f9_d180, false),
                (105_263_385, Kind::Interrupt, 0xffff_ffff_8200_1153, false),
                (105_263_990, Kind::Return, 0x55d3_c1a5_1f2b, true),
                (105_264_410, Kind::Space, 0xb2c_4000, false),
            ]
        );
        assert!(parse(b"12:30: call 0x10\n").is_none());
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
            let mut places: Vec<usize> = places.iter().map(|place| place.index(bytes.len())).collect();
            places.sort_unstable();
            let (mut sent, mut from) = (Vec::new(), 0);
            for (at, place) in places.iter().enumerate() {
                sent.extend_from_slice(&bytes[from..*place]);
                sent.extend_from_slice(LINES[at % LINES.len()].as_bytes());
                from = *place;
            }
            sent.extend_from_slice(&bytes[from..]);
            let heard = Arc::new(Mutex::new(Heard::default()));
            let observer = Arc::clone(&heard);
            let mut out = Vec::new();
            let mut filter = Filter::new(Observed { cpu: 1, observer }, &mut out);
            for part in sent.chunks(cut) {
                filter.write_all(part).unwrap();
            }
            filter.flush().unwrap();
            prop_assert_eq!(out, bytes);
            let steps = (0..places.len()).filter(|at| at % LINES.len() != 4).count();
            prop_assert_eq!(heard.lock().unwrap().0.len(), steps);
        }
    }
}
