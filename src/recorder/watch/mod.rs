// SPDX-License-Identifier: GPL-2.0-only
//! The keeper: loads the recorder, says whom to watch, and copies the rings' parts that matter.

mod load;

use crate::cgroups::Cgroups;
use crate::convert::{Names, subject};
use crate::error::Error;
use crate::history::{self, BLOCKS_MAX, Block, Copied, History};
use crate::hooks;
use crate::part::part;
use crate::rings::{EVENTS, MARKS, Rings, stack};
use crate::skeleton::RecorderSkel;
use crate::skeleton::types::recorder_stack;
use crate::skeleton::types::{recorder_cpu, recorder_event, recorder_mark};
use crate::targets::{self, Watched};
use crate::threads::{NAMELESS, Threads};
use artis_explain::document::{Missed, Thread};
use artis_explain::functions::Functions;
use artis_explain::recording::{Hole, Loss, Recording, Subject};
use artis_machine::{Root, smi};
use libbpf_rs::Link;
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::skel::Skel;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long an event or a mark that is being written is waited for. Writing takes less than a
/// microsecond, but a hypervisor may stop the CPU meanwhile.
const PATIENCE: Duration = Duration::from_millis(50);
const PAUSE: Duration = Duration::from_millis(1);

/// How often the memory of what is kept is counted.
const COPIES_BETWEEN_COUNTS: u64 = 16;

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// How many of the worst.
    pub worst: usize,
    /// Only what is above it.
    pub threshold_ns: u64,
    /// What is above it ends the recording.
    pub until_ns: Option<u64>,
}

/// The attached recorder. It watches until it is dropped.
pub struct Recorder<'obj> {
    skeleton: RecorderSkel<'obj>,
    threads: Threads,
    events: Rings<recorder_event>,
    marks: Rings<recorder_mark>,
    stacks: Rings<recorder_stack>,
    functions: Functions,
    settings: Settings,
    cpus: u64,
    /// Marks of each CPU that were looked at.
    seen: Vec<u64>,
    kept: Vec<Copied>,
    history: History,
    missed: Missed,
    /// Losses that were copied.
    copies: u64,
    absent: Vec<String>,
    virtual_machine: bool,
    smi: u64,
    programs: BTreeSet<u32>,
    /// What ends page faults, where no program can wait for the end of a function.
    counts: Vec<Link>,
}

impl Recorder<'_> {
    /// What this kernel does not show, a sentence each.
    pub fn absent(&self) -> &[String] {
        &self.absent
    }

    /// The memory of this process that what is kept takes at most, but for one loss that needs
    /// more.
    pub fn kept_bytes_max(&self) -> u64 {
        (BLOCKS_MAX * history::BLOCK as usize * history::EVENT_BYTES) as u64
    }

    /// The recorder's memory, which never grows.
    pub fn memory_bytes(&self) -> u64 {
        let threads = self.threads.bytes();
        let cpus = self.cpus as usize * size_of::<recorder_cpu>();
        (self.events.bytes() + self.marks.bytes() + self.stacks.bytes() + threads + cpus) as u64
    }

    /// Watches these threads from now on, and says how many of them are new.
    ///
    /// # Errors
    /// When there is no room for one more.
    pub fn watch(&mut self, watched: &Watched) -> Result<usize, Error> {
        let Some(data) = self.skeleton.maps.bss_data.as_deref_mut() else {
            return Ok(0);
        };
        if let Watched::Name(pattern) = watched
            && let Some((begin, is_whole)) = targets::begin(pattern)
        {
            // A name that is longer is that of no thread.
            for (to, from) in data.wanted.iter_mut().zip(begin.bytes()) {
                *to = from.cast_signed();
            }
            data.wanted_begin = u32::from(!is_whole);
            data.wanted_length = begin.len() as u32;
        }
        self.threads.watch(watched, &mut data.numbers[..])
    }

    /// Stops watching these threads, and forgets what they lost.
    pub fn forget(&mut self, watched: &Watched) {
        self.threads.forget(watched);
    }

    /// To be called about once a second: finds new threads and names, forgets ended ones.
    ///
    /// # Errors
    /// As [`Recorder::watch`].
    pub fn refresh(&mut self, watched: &Watched) -> Result<(), Error> {
        if watched.may_grow() {
            self.watch(watched)?;
        }
        self.threads.refresh();
        Ok(())
    }

    /// Whether any watched thread is left.
    pub fn is_alive(&self) -> bool {
        self.threads.is_alive()
    }

    /// Whether something was above the limit that ends the recording.
    pub fn has_stopped(&self) -> bool {
        let data = self.skeleton.maps.bss_data.as_deref();
        // SAFETY: a mapped integer that the kernel changes.
        data.is_some_and(|data| unsafe { (&raw const data.stopped).read_volatile() } != 0)
    }

    /// Keeps what is worth it among what was marked since the last call. To be called some tens of
    /// times a second: reads memory only, unless there is something to keep. A mark that is being
    /// written is looked at the next time.
    pub fn poll(&mut self) {
        let mut marked = Vec::new();
        for cpu in 0..self.cpus {
            let head = self.cpu(cpu).marks;
            while self.seen[cpu as usize] < head {
                let number = self.seen[cpu as usize];
                match self.marks.entry(cpu, number) {
                    Some(mark) => marked.push(mark),
                    None if self.cpu(cpu).marks > number + MARKS => self.missed.losses += 1,
                    None => break,
                }
                self.seen[cpu as usize] += 1;
            }
        }
        // The worst first: what is not kept is not copied.
        marked.sort_by_key(|mark| Reverse(mark.lost_ns));
        self.raise_bar(&marked);
        for mark in &marked {
            self.keep(subject(mark), mark.waits != 0);
        }
    }

    /// The last [`Recorder::poll`]: waits for what is being written, and counts as missed what is
    /// not written even then.
    pub fn finish(&mut self) {
        // The names of threads that nobody has asked for theirs.
        self.threads.refresh();
        let heads: Vec<u64> = (0..self.cpus).map(|cpu| self.cpu(cpu).marks).collect();
        let patient_until = Instant::now() + PATIENCE;
        self.poll();
        while self.has_unseen(&heads) && Instant::now() < patient_until {
            std::thread::sleep(PAUSE);
            self.poll();
        }
        for (seen, head) in self.seen.iter_mut().zip(heads) {
            self.missed.losses += head.saturating_sub(*seen);
            *seen = head.max(*seen);
        }
    }

    /// Lets the kernel mark only what is worse than all that will be kept of these. Before they are
    /// copied: that takes long beside a load, and marks of what nobody keeps are written over the
    /// others meanwhile.
    fn raise_bar(&mut self, marked: &[recorder_mark]) {
        let all = self.kept.len() + marked.len();
        if marked.is_empty() || all < self.settings.worst {
            return;
        }
        let kept = self.kept.iter().map(|one| one.subject.lost_ns);
        let mut lost_ns: Vec<u64> = kept.chain(marked.iter().map(|mark| mark.lost_ns)).collect();
        // The least of the worst.
        let (.., bar_ns, _) = lost_ns
            .select_nth_unstable_by_key(self.settings.worst.saturating_sub(1), |&ns| Reverse(ns));
        if let Some(data) = self.skeleton.maps.bss_data.as_deref_mut() {
            data.bar_ns = self.settings.threshold_ns.max(*bar_ns);
        }
    }

    /// `waits`: others have to be known from before the thread's history on.
    fn keep(&mut self, subject: Subject, waits: bool) {
        let full = self.kept.len() >= self.settings.worst;
        let least = self.kept.iter().map(|one| one.subject.lost_ns).min();
        if full && least.is_some_and(|least| subject.lost_ns <= least) {
            return;
        }
        if full {
            let at = self
                .kept
                .iter()
                .position(|one| Some(one.subject.lost_ns) == least);
            self.kept.swap_remove(at.unwrap_or(0));
        }
        // It is the same wakeup, which went on.
        let (tid, due_ns) = (subject.task.tid, subject.due_ns);
        if subject.loss == Loss::Late {
            self.kept.retain(|one| {
                let one = &one.subject;
                one.loss != Loss::Late || (one.task.tid, one.due_ns) != (tid, due_ns)
            });
        }
        let copied = self.copy(subject, waits);
        self.kept.push(copied);
        self.make_room();
    }

    /// Gives up the least of the losses until the others fit into the memory that is set aside.
    fn make_room(&mut self) {
        // Each of them may point into all that is kept, so they are not counted each time.
        self.copies += 1;
        if !self.copies.is_multiple_of(COPIES_BETWEEN_COUNTS) {
            return;
        }
        while self.kept.len() > 1 && history::blocks_of(&self.kept) > BLOCKS_MAX {
            self.kept.sort_by_key(|one| Reverse(one.subject.lost_ns));
            let left = self.kept.len() - self.kept.len().div_ceil(4);
            let given_up = self.kept.split_off(left.max(1));
            self.missed.without_room += given_up.len() as u64;
            let bar_ns = given_up.first().map_or(0, |one| one.subject.lost_ns);
            if let Some(data) = self.skeleton.maps.bss_data.as_deref_mut() {
                data.bar_ns = data.bar_ns.max(bar_ns);
            }
        }
        self.history.tidy();
    }

    /// Whether a mark before these is still to be looked at.
    fn has_unseen(&self, heads: &[u64]) -> bool {
        self.seen.iter().zip(heads).any(|(seen, head)| seen < head)
    }

    /// Copies the parts of all rings that concern this loss.
    fn copy(&mut self, subject: Subject, waits: bool) -> Copied {
        let smi = self.count_smi();
        let new_smi = smi.saturating_sub(self.smi);
        self.smi = smi;
        let patient_until = Instant::now() + PATIENCE;
        let mut history = std::mem::take(&mut self.history);
        let mut copied = Copied {
            subject,
            blocks: Vec::new(),
            holes: Vec::new(),
            smi: new_smi,
        };
        for ring in 0..self.cpus {
            let state = self.cpu(ring);
            let head = state.events;
            let numbers = head.saturating_sub(EVENTS)..head;
            let cpu = ring as u32;
            let of_event = |number| self.event(ring, number, head, patient_until);
            let of_stack = |number, ns| stack(&self.stacks, ring, number, ns);
            // They are read from the last one on.
            let mut blocks: Vec<(u64, Arc<Block>)> = Vec::new();
            let read = |number: u64| {
                let at = number / history::BLOCK;
                if blocks.last().is_none_or(|(last, _)| *last != at) {
                    let block = history.block(cpu, number, of_event, of_stack);
                    blocks.push((at, block));
                }
                Some(blocks.last()?.1.get(number)?.event)
            };
            let part = part(numbers, state.last_switch, &copied.subject, waits, read);
            let mut left = blocks.iter().peekable();
            for number in part.numbers {
                let at = number / history::BLOCK;
                while left.next_if(|(block, _)| *block != at).is_some() {}
                if let Some((_, block)) = left.peek() {
                    copied.add(block, number);
                }
            }
            let hole = |(from_ns, until_ns)| Hole {
                cpu,
                from_ns,
                until_ns,
                ..Hole::default()
            };
            let gap = part.gap.map(|gap| Hole {
                keeps_task: true,
                ..hole(gap)
            });
            let untraced = part.untraced.into_iter().map(|span| Hole {
                untraced: true,
                ..hole(span)
            });
            copied.holes.extend(part.holes.into_iter().map(hole));
            copied.holes.extend(gap.into_iter().chain(untraced));
        }
        self.history = history;
        copied
    }

    /// An event by its number; one that is being written is waited for. None when it was
    /// overwritten, is not written even then, or comes from `head` on.
    fn event(
        &self,
        cpu: u64,
        number: u64,
        head: u64,
        patient_until: Instant,
    ) -> Option<recorder_event> {
        if number >= head {
            return None;
        }
        loop {
            let event = self.events.entry(cpu, number);
            if event.is_some() {
                return event;
            }
            let is_overwritten = self.cpu(cpu).events > number + EVENTS;
            if is_overwritten || Instant::now() >= patient_until {
                return None;
            }
            std::thread::sleep(PAUSE);
        }
    }

    fn cpu(&self, cpu: u64) -> recorder_cpu {
        let data = self.skeleton.maps.bss_data.as_deref();
        data.map_or_else(recorder_cpu::default, |data| {
            // SAFETY: a mapped record of plain integers that the kernel changes.
            unsafe { (&raw const data.cpus[cpu as usize]).read_volatile() }
        })
    }

    fn count_smi(&self) -> u64 {
        let counts = (0..self.cpus as u32).map(|cpu| smi::count(&Root::default(), cpu));
        counts.filter_map(|count| count.ok().flatten()).sum()
    }

    /// All threads that were watched; those that ended are summed up by name.
    pub fn threads(&self) -> Vec<Thread> {
        let mut threads = self.threads.all();
        // A thread whose name nobody asked for has it in what was kept.
        for thread in threads.iter_mut().filter(|one| one.name == NAMELESS) {
            let mut kept = self.kept.iter().map(|one| &one.subject.task);
            if let Some(task) = kept.find(|task| task.tid == thread.tid) {
                thread.name.clone_from(&task.name);
            }
        }
        threads
    }

    /// What was kept so far. To be called when time does not matter: it gives everything its name.
    pub fn kept(&self) -> Vec<Recording> {
        let cgroups = Cgroups::default();
        let names = Names {
            functions: &self.functions,
            cgroups: &cgroups,
        };
        history::recordings(&self.kept, &names, self.virtual_machine)
    }

    /// The most that was lost at once so far, ns.
    pub fn worst_ns(&self) -> u64 {
        let kept = self.kept.iter().map(|one| one.subject.lost_ns);
        kept.max().unwrap_or(0)
    }

    /// Events written so far.
    pub fn events(&self) -> u64 {
        (0..self.cpus).map(|cpu| self.cpu(cpu).events).sum()
    }

    /// What could not be recorded so far.
    pub fn missed(&self) -> Missed {
        let own = ProgInfoIter::default().filter(|info| self.programs.contains(&info.id));
        let of_hooks: u64 = own.map(|info| info.recursion_misses).sum();
        let cpus = || (0..self.cpus).map(|cpu| self.cpu(cpu));
        let counted: u64 = cpus().map(|cpu| cpu.missed).sum();
        Missed {
            events: of_hooks + counted,
            untraced: cpus().map(|cpu| cpu.untraced).sum(),
            ..self.missed
        }
    }

    /// The kernel's numbers of the programs of which it counts what they miss.
    fn own_programs(&self) -> BTreeSet<u32> {
        let programs = self.skeleton.object().progs();
        let counts = |name: &OsStr| hooks::counts_misses(&name.to_string_lossy());
        let fds = programs.filter(|program| program.autoload() && counts(program.name()));
        fds.filter_map(|program| libbpf_rs::Program::id_from_fd(program.as_fd()).ok())
            .collect()
    }
}
