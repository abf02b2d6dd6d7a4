// SPDX-License-Identifier: GPL-2.0-only
//! A scenario while its file is read: objects are found by their names, and made when they are
//! named for the first time.

use super::NoteKind;
use super::place::Wrong;
use crate::model::*;
use artis_machine::CpuList;
use std::collections::BTreeMap;

/// The most notes that are kept.
const NOTES_MAX: usize = 200;

/// A note at a byte of the text.
pub type NoteAt = (NoteKind, Option<usize>, String);

/// The kinds of objects that have names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum What {
    Mutex,
    Condition,
    Semaphore,
    Barrier,
    Channel,
    Timer,
    Arrivals,
    Group,
    Buffer,
    Task,
}

impl What {
    fn words(self) -> &'static str {
        match self {
            Self::Mutex => "mutexes",
            Self::Condition => "conditions",
            Self::Semaphore => "semaphores",
            Self::Barrier => "barriers",
            Self::Channel => "channels",
            Self::Timer => "timers",
            Self::Arrivals => "streams of arrivals",
            Self::Group => "groups",
            Self::Buffer => "buffers",
            Self::Task => "tasks",
        }
    }
}

/// See the module.
pub struct Builder {
    pub scenario: Scenario,
    names: BTreeMap<(What, String), usize>,
    notes: Vec<NoteAt>,
    left_out: usize,
    buffers: usize,
    /// Where each task stands in the text.
    pub places: Vec<usize>,
    /// What a mutex is that the file says nothing of.
    pub protocol: Protocol,
}

impl Builder {
    pub fn new(name: &str) -> Self {
        Self {
            scenario: Scenario {
                name: name.to_owned(),
                ..Scenario::default()
            },
            names: BTreeMap::new(),
            notes: Vec::new(),
            left_out: 0,
            buffers: 0,
            places: Vec::new(),
            protocol: Protocol::None,
        }
    }

    pub fn note(&mut self, kind: NoteKind, at: Option<usize>, text: impl Into<String>) {
        match self.notes.len() < NOTES_MAX {
            true => self.notes.push((kind, at, text.into())),
            false => self.left_out += 1,
        }
    }

    pub fn known(&self, what: What, name: &str) -> Option<usize> {
        self.names.get(&(what, name.to_owned())).copied()
    }

    /// Gives an object its name.
    pub fn name(&mut self, what: What, name: &str, place: usize) {
        self.names.insert((what, name.to_owned()), place);
    }

    /// The place of an object, which is `made` when it is new.
    pub fn find(
        &mut self,
        what: What,
        name: &str,
        at: usize,
        made: impl FnOnce(&mut Objects),
    ) -> Result<usize, Wrong> {
        if let Some(place) = self.known(what, name) {
            return Ok(place);
        }
        let place = self.count(what);
        if place >= OBJECTS_MAX {
            let reason = format!("there are more than {OBJECTS_MAX} {}", what.words());
            return Err(Wrong::new(at, reason));
        }
        made(&mut self.scenario.objects);
        if what == What::Buffer {
            self.buffers += 1;
        }
        self.name(what, name, place);
        Ok(place)
    }

    fn count(&self, what: What) -> usize {
        let objects = &self.scenario.objects;
        match what {
            What::Mutex => objects.mutexes.len(),
            What::Condition => objects.conditions.len(),
            What::Semaphore => objects.semaphores.len(),
            What::Barrier => objects.barriers.len(),
            What::Channel => objects.channels.len(),
            What::Timer => objects.timers.len(),
            What::Arrivals => objects.arrivals.len(),
            What::Group => objects.groups.len(),
            What::Buffer => self.buffers,
            What::Task => self.scenario.tasks.len(),
        }
    }

    pub fn mutex(&mut self, name: &str, at: usize) -> Result<usize, Wrong> {
        let protocol = self.protocol;
        let name_owned = name.to_owned();
        self.find(What::Mutex, name, at, |objects| {
            objects.mutexes.push(Mutex {
                name: name_owned,
                protocol,
            });
        })
    }

    pub fn condition(&mut self, name: &str, at: usize) -> Result<usize, Wrong> {
        self.find(What::Condition, name, at, |objects| {
            objects.conditions.push(name.to_owned());
        })
    }

    pub fn semaphore(&mut self, name: &str, at: usize) -> Result<usize, Wrong> {
        self.find(What::Semaphore, name, at, |objects| {
            objects.semaphores.push(Semaphore {
                name: name.to_owned(),
                value: 0,
            });
        })
    }

    /// One without parties, which the caller counts.
    pub fn barrier(&mut self, name: &str, at: usize) -> Result<usize, Wrong> {
        self.find(What::Barrier, name, at, |objects| {
            objects.barriers.push(Barrier {
                name: name.to_owned(),
                parties: 0,
            });
        })
    }

    pub fn channel(&mut self, name: &str, at: usize) -> Result<usize, Wrong> {
        self.find(What::Channel, name, at, |objects| {
            objects.channels.push(Channel {
                name: name.to_owned(),
                medium: Medium::Pipe,
                capacity_bytes: PIPE_BYTES,
            });
        })
    }

    /// A timer of `name`, or the one that is there.
    pub fn timer(&mut self, name: &str, at: usize, timer: Timer) -> Result<usize, Wrong> {
        self.find(What::Timer, name, at, |objects| objects.timers.push(timer))
    }

    pub fn group(&mut self, name: &str, at: usize) -> Result<usize, Wrong> {
        if !is_path(name) {
            let reason = format!(
                "{name:?} is no name of a group; write letters, digits and _ - with / between, \
                 such as \"service/worker\""
            );
            return Err(Wrong::new(at, reason));
        }
        self.find(What::Group, name, at, |objects| {
            objects.groups.push(Group {
                name: name.to_owned(),
                weight: None,
                quota: None,
                cpus: None,
            });
        })
    }

    pub fn buffer(&mut self, name: &str, at: usize) -> Result<usize, Wrong> {
        self.find(What::Buffer, name, at, |_| {})
    }

    /// Takes those CPUs for RT CPUs that a FIFO or RR task is bound to.
    pub fn assume_rt_cpus(&mut self, otherwise: &str) {
        let is_real_time =
            |task: &&Task| matches!(task.policy, Policy::Fifo { .. } | Policy::RoundRobin { .. });
        let tasks = self.scenario.tasks.iter().filter(is_real_time);
        let bound = tasks.filter_map(|task| task.cpus.as_ref().filter(|cpus| cpus.len() == 1));
        let cpus: CpuList = bound.filter_map(CpuList::first).collect();
        if !cpus.is_empty() {
            let text = format!("RT CPUs are {cpus}, where real-time tasks are bound; {otherwise}");
            self.note(NoteKind::Assumed, None, text);
        }
        self.scenario.machine.rt_cpus = cpus;
    }

    /// The scenario, checked, and the notes.
    pub fn finish(mut self) -> Result<(Scenario, Vec<NoteAt>), Wrong> {
        let places = &self.places;
        check(&self.scenario).map_err(|error| {
            let at = error.task.and_then(|task| places.get(task).copied());
            Wrong::new(at.unwrap_or(0), error.what)
        })?;
        if self.left_out > 0 {
            let text = format!("{} more notes are left out", self.left_out);
            self.notes.push((NoteKind::Ignored, None, text));
        }
        Ok((self.scenario, self.notes))
    }
}

/// What a pipe holds (`pipe(7)`).
pub const PIPE_BYTES: u32 = 65_536;

/// Whether a name can be a folder below the run's own: it must not lead out of it.
fn is_path(name: &str) -> bool {
    let is_part = |part: &str| {
        let mut letters = part.chars();
        letters.next().is_some_and(|it| it.is_ascii_alphanumeric())
            && letters.all(|it| it.is_ascii_alphanumeric() || "_-".contains(it))
    };
    name.split('/').all(is_part)
}
