// SPDX-License-Identifier: GPL-2.0-only
//! The auto-analysis that `rtla timerlat` prints when it stops at a threshold, as an explanation
//! beside ours.
//!
//! A block for each CPU begins with `## CPU 3 hit stop tracing, analyzing it ##` and ends with
//! `Thread latency: 415.00 us (100%)`, or `IRQ latency:` where the interrupt was late. Between
//! them are parts with a time, those who made them below, and the stack of the thread that had
//! the CPU. rtla sums the parts of a kind; its percentages are not used: in older versions they
//! are wrong.

use crate::lane::Lane;
use serde::Serialize;

/// What the first line of a block says behind the CPU.
pub const MARK: &str = " hit stop tracing, analyzing it ##";
/// How it begins.
pub const BEGIN: &str = "## CPU ";

/// More than any machine has.
const BLOCKS_MAX: usize = 8192;

/// What rtla calls its parts.
const PARTS: [Known; 9] = [
    // An upper bound, and within the handler's delay.
    Known::aside("Previous IRQ interference"),
    // Interrupts off, or the processor elsewhere: rtla cannot tell.
    Known::part("IRQ handler delay", None),
    // Until the handler read the clock: no part of its own.
    Known::aside("IRQ latency"),
    Known::part("Timerlat IRQ duration", Some(Lane::HardInterrupt)),
    // It had the right to, or could not be preempted: rtla cannot tell.
    Known::part(BLOCKING, None),
    Known::part("NMI interference", Some(Lane::HardInterrupt)),
    Known::part("IRQ interference", Some(Lane::HardInterrupt)),
    Known::part("Softirq interference", Some(Lane::Softirq)),
    Known::part("Thread interference", None),
];

const BLOCKING: &str = "Blocking thread";

struct Known {
    name: &'static str,
    lane: Option<Lane>,
    /// It counts: the others are within another part.
    is_part: bool,
}

impl Known {
    const fn part(name: &'static str, lane: Option<Lane>) -> Self {
        Self {
            name,
            lane,
            is_part: true,
        }
    }

    const fn aside(name: &'static str) -> Self {
        Self {
            is_part: false,
            ..Self::part(name, None)
        }
    }
}

/// A part of the latency.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Part {
    /// As rtla calls it.
    pub name: &'static str,
    /// What artis would call it, where that is sure.
    pub lane: Option<Lane>,
    /// None where rtla gives none: of the blocking thread, when the interrupt was late.
    pub ns: Option<u64>,
    /// Who made it, each with the time.
    pub culprits: Vec<(String, Option<u64>)>,
}

/// What rtla says of one CPU.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Analysis {
    pub cpu: u32,
    /// The interrupt was late, not the thread alone.
    pub is_irq: bool,
    pub latency_ns: u64,
    pub parts: Vec<Part>,
    /// What the blocking thread was doing, innermost function first.
    pub stack: Vec<String>,
}

impl Analysis {
    /// What no part accounts for; none where they are more than the whole.
    pub fn rest_ns(&self) -> Option<u64> {
        let parts = self.parts.iter().filter_map(|part| part.ns);
        self.latency_ns
            .checked_sub(parts.fold(0, u64::saturating_add))
    }

    /// The part that took most.
    pub fn worst(&self) -> Option<&Part> {
        self.parts.iter().max_by_key(|part| part.ns)
    }
}

/// What is wrong with a text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{line}: {reason}")]
    Damaged { line: usize, reason: String },
}

fn damaged(line: usize, reason: impl Into<String>) -> Error {
    let reason = reason.into();
    Error::Damaged { line, reason }
}

/// Reads all blocks of a text, which other lines may surround.
///
/// # Errors
/// A block that is cut off, or a number that is none.
pub fn read(text: &str) -> Result<Vec<Analysis>, Error> {
    let mut all = Vec::new();
    let mut block: Option<Analysis> = None;
    let mut last = 1;
    for (at, line) in text.lines().enumerate() {
        last = at + 1;
        if let Some(cpu) = line
            .strip_prefix(BEGIN)
            .and_then(|rest| rest.strip_suffix(MARK))
        {
            if block.is_some() || all.len() >= BLOCKS_MAX {
                return Err(cut(last));
            }
            let cpu = cpu
                .trim()
                .parse()
                .map_err(|_| damaged(last, "the CPU is no number"))?;
            block = Some(Analysis {
                cpu,
                is_irq: false,
                latency_ns: 0,
                parts: Vec::new(),
                stack: Vec::new(),
            });
        } else if let Some(open) = &mut block
            && open.line(last, line)?
        {
            all.extend(block.take());
        }
    }
    match block {
        Some(_) => Err(cut(last)),
        None => Ok(all),
    }
}

fn cut(line: usize) -> Error {
    damaged(
        line,
        "no line \"latency: ... (100%)\" up to here; is the text cut off?",
    )
}

impl Analysis {
    /// Takes a line into account; true when it is the block's last.
    fn line(&mut self, at: usize, line: &str) -> Result<bool, Error> {
        let words = line.trim();
        if let Some(function) = words.strip_prefix("-> ") {
            self.stack.push(function.trim().to_owned());
            return Ok(false);
        }
        if let (true, Some((name, _))) = (words.ends_with("(100%)"), words.split_once(" latency:"))
        {
            let missing = || damaged(at, "the latency is missing");
            self.is_irq = name == "IRQ";
            self.latency_ns = time(at, words)?.ok_or_else(missing)?;
            return Ok(true);
        }
        // Older versions leave out the end of the line before.
        let words = words
            .split_once("  IRQ handler delay:")
            .map_or(words, |(_, behind)| {
                &words[words.len() - behind.len() - "IRQ handler delay:".len()..]
            });
        let known = PARTS.iter().find(|known| {
            let rest = words.strip_prefix(known.name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ', '\t']))
        });
        match known {
            // The head of the stack.
            Some(known) if known.name == BLOCKING && words.ends_with("stack trace") => {}
            Some(known) if known.is_part => {
                let is_idle = words.contains("(exit from idle)");
                self.parts.push(Part {
                    name: known.name,
                    lane: known.lane.or(is_idle.then_some(Lane::IdleExit)),
                    ns: time(at, words)?,
                    culprits: Vec::new(),
                });
            }
            Some(_) => {}
            None => self.culprit(at, words)?,
        }
        Ok(false)
    }

    /// `backup:912      371.00 us` below a part.
    fn culprit(&mut self, at: usize, words: &str) -> Result<(), Error> {
        let Some(part) = self.parts.last_mut() else {
            return Ok(());
        };
        let ns = time(at, words)?;
        let name = match ns {
            Some(_) => words
                .trim_end_matches(" us")
                .trim_end_matches(|one: char| one.is_ascii_digit() || one == '.'),
            None => words,
        };
        let name = name.trim();
        let is_numbered = name.rsplit_once(':').is_some_and(|(_, number)| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        if (is_numbered || name == "nmi") && (ns.is_some() || part.ns.is_none()) {
            let name = match name.rsplit_once(':') {
                Some((name, number)) => format!("{name}/{number}"),
                None => name.to_owned(),
            };
            part.culprits.push((name, ns));
        }
        Ok(())
    }
}

/// The time in a line, `371.00 us`, in nanoseconds; none where there is none.
fn time(line: usize, words: &str) -> Result<Option<u64>, Error> {
    let before = words.split_once(" us").map(|(before, _)| before);
    let Some(word) = before.and_then(|before| before.split_whitespace().last()) else {
        return Ok(None);
    };
    let us: Option<f64> = word.parse().ok();
    match us.filter(|us| (0.0..1e12).contains(us)) {
        Some(us) => Ok(Some((us * 1000.0).round() as u64)),
        None => Err(damaged(line, format!("{word:?} us is no time"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
rtla timerlat hit stop tracing
## CPU 3 hit stop tracing, analyzing it ##
  Previous IRQ interference:                  up to       2.22 us
  IRQ handler delay:                    (exit from idle)     12.50 us (3.01 %)
  IRQ latency:                                             18.20 us
  Timerlat IRQ duration:                                    6.10 us (1.47 %)
  Blocking thread:                                        371.00 us (89.40 %)
                     kworker/3:1:912                       371.00 us
    Blocking thread stack trace
                -> timerlat_irq
                -> kernel_clone
  IRQ interference                                          7.00 us (1.69 %)
                   eth0:33                                  4.00 us
             local_timer:236                                3.00 us
------------------------------------------------------------------------
  Thread latency:                                         415.00 us (100%)

Max timerlat IRQ latency from idle: 3.10 us in cpu 2
  Saving trace to timerlat_trace.txt
";

    #[test]
    fn the_parts_have_their_culprits() {
        let [found] = &read(TEXT).unwrap()[..] else {
            panic!("one block");
        };
        assert_eq!(
            (found.cpu, found.is_irq, found.latency_ns),
            (3, false, 415_000)
        );
        let parts: Vec<(Option<Lane>, Option<u64>)> =
            found.parts.iter().map(|it| (it.lane, it.ns)).collect();
        assert_eq!(
            parts,
            [
                (Some(Lane::IdleExit), Some(12_500)),
                (Some(Lane::HardInterrupt), Some(6100)),
                (None, Some(371_000)),
                (Some(Lane::HardInterrupt), Some(7000)),
            ]
        );
        let worst = found.worst().unwrap();
        assert_eq!(
            worst.culprits,
            [("kworker/3:1/912".to_owned(), Some(371_000))]
        );
        assert_eq!(found.parts[3].culprits.len(), 2);
        assert_eq!(found.stack, ["timerlat_irq", "kernel_clone"]);
        assert_eq!(found.rest_ns(), Some(18_400));
    }

    #[test]
    fn a_late_interrupt_has_a_blocking_thread_without_a_time() {
        let text = "## CPU 0 hit stop tracing, analyzing it ##\n  \
            Previous IRQ interference:\t\t\tup to      2.22 us  IRQ handler delay:\t\t    18.06 us (0.00 %)\n  \
            IRQ latency:\t\t\t 18.52 us\n  Blocking thread:\n\t\t\t  objtool:49256\n    \
            Blocking thread stack trace\n\t\t-> timerlat_irq\n\
            -----\n     IRQ latency:\t\t\t 18.52 us (100%)\n";
        let found = &read(text).unwrap()[0];
        assert!(found.is_irq);
        assert_eq!(found.parts[0].ns, Some(18_060));
        assert_eq!(
            found.parts[1].culprits,
            [("objtool/49256".to_owned(), None)]
        );
        assert_eq!(found.latency_ns, 18_520);
    }

    #[test]
    fn damage_has_a_line() {
        let refused =
            |from: &str, to: &str| read(&TEXT.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(refused("CPU 3", "CPU x").starts_with("2: "));
        assert!(refused("371.00", "37x.00").starts_with("7: "));
        let cut = &TEXT[..TEXT.find("-----").unwrap()];
        assert!(read(cut).unwrap_err().to_string().contains("cut off"));
        assert_eq!(read("nothing\n"), Ok(Vec::new()));
    }
}
