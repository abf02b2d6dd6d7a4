// SPDX-License-Identifier: GPL-2.0-only
//! The runs, one after the other in turn, so that what changes with time changes all
//! configurations; and what each of them is marked with.

use super::{AROUND, Measured, Prepared, Wanted};
use crate::beside::Beside;
use crate::own::{COMMANDS, Run};
use crate::progress::{Sign, Stderr};
use crate::session::alone;
use crate::signals::stop_on_signals;
use anyhow::{Context, bail};
use artis_decide::job::{Job, Work};
use artis_field::clean::during::{Look, disturbed, smis, undone};
use artis_field::clean::stall::{self, Watched};
use artis_field::column::Column;
use artis_field::kept::Kept;
use artis_lab::progress::Progress;
use artis_machine::{CpuList, Root, managers, processes, tasks};
use artis_partition::host::Host;
use artis_partition::transaction::{State, in_force};
use artis_result::names::{BEGAN_NS, LATENCY, RT_CPU_SHARE_OTHERS, SYSTEM_MANAGEMENT_INTERRUPTS};
use artis_result::{Document, Warning, file};
use humantime::format_duration;
use serde_json::json;
use std::fmt;
use std::time::{Duration, Instant};

/// From the fork of the loads until they are at work.
const LOADS_START: Duration = Duration::from_millis(500);
/// How often a run is looked at.
const LOOK: Duration = Duration::from_secs(2);
/// What was interrupted is taken back by its guard within this time.
const PATIENCE: Duration = Duration::from_secs(20);

/// The worst latency so far, and whose it is, for the sign of life.
#[derive(Default)]
struct Worst(Option<(i64, &'static str)>);

impl fmt::Display for Worst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((ns, name)) = self.0 else {
            return Ok(());
        };
        write!(f, "; worst so far {:.1} us, of {name}", ns as f64 / 1000.0)
    }
}

impl Prepared {
    /// Measures each configuration that has too few runs.
    ///
    /// # Errors
    /// Without root, beside another partition or scheduler, and when nothing could be measured; the
    /// machine is as before.
    pub fn measured(mut self, job: &Job) -> anyhow::Result<Measured> {
        let stop = stop_on_signals()?;
        let _alone = alone(&stop)?;
        let run = Run {
            artis: std::env::current_exe().context("cannot find the program artis")?,
            stop,
            rt: self.rt.to_string(),
            errors: tempfile::NamedTempFile::new().context("cannot keep what artis says")?,
        };
        if self.interrupted.is_some() {
            take_back(&run)?;
        }
        refuse_others()?;
        self.kept.begin()?;
        self.kept.unmark();
        let work = match &job.work {
            Some(Work::Command(words)) => {
                Stderr::default().note(&format!("{COMMANDS} times {}", words.join(" ")));
                Some(run.command_times(words, self.kept.folder())?)
            }
            _ => None,
        };
        let mut notes = std::mem::take(&mut self.damaged);
        let done = self.rounds(&run, job, &mut notes);
        let boot = self.boot.clone();
        let mut measured = self.without_measuring();
        measured.work = work;
        measured.notes.append(&mut notes);
        match done {
            Err(error) if !measured.kept.runs.is_empty() => return Err(measured.kept(error)),
            done => done?,
        }
        measured.columns = Column::all(&measured.kept);
        measured.choose(&boot);
        if measured.words.is_empty() {
            bail!("no run counts: {}", measured.notes.join("; "));
        }
        Ok(measured)
    }

    fn rounds(&mut self, run: &Run, job: &Job, notes: &mut Vec<String>) -> anyhow::Result<()> {
        let total = self.runs();
        let sign = Sign::new(true, Some(self.time()));
        let mut progress = Stderr::default();
        let mut worst = Worst::default();
        for one in &self.wanted {
            if let Err(why) = &one.missing {
                notes.push(format!(
                    "{} was not measured: not possible: {why}",
                    one.name
                ));
            }
        }
        let mut at = 0;
        while let Some(index) = next(&self.wanted, at) {
            let one = &self.wanted[index];
            let name = one.name;
            let left = (self.duration + AROUND) * self.runs();
            progress.note(&format!(
                "{name}, {} of {total}: CPU {} beside {}; about {} left",
                total - self.runs() + 1,
                run.rt,
                self.load,
                format_duration(Duration::from_secs(left.as_secs()))
            ));
            sign.step(&format!("{name}{worst}"));
            let place = self.kept.next(name)?;
            self.kept.mark(name)?;
            let done = self.one(run, job, &self.wanted[index], &place.1);
            self.kept.unmark();
            match done {
                Ok(document) => {
                    let added = self.kept.add(name, place, document)?;
                    let max_ns = added.document.merged(LATENCY).and_then(|all| all.moments());
                    worst.0 = worst.0.max(max_ns.map(|all| (all.max, name)));
                    for (_, warning) in artis_field::clean::causes(&added.document) {
                        let fix = warning.fix.as_deref().unwrap_or_default();
                        let text = format!(
                            "{name}, run {}, is kept and not counted: {}; {fix}; the same command \
                             measures another",
                            added.number, warning.seen
                        );
                        progress.note(&text);
                    }
                    self.wanted[index].take_one();
                }
                Err(error) => {
                    notes.push(format!("{name} was not measured: {error:#}"));
                    if run.is_stopped() {
                        progress.note(
                            "stopped by a signal; the machine is as before, and what was measured \
                             is judged",
                        );
                        break;
                    }
                    self.wanted[index].missing = Err(format!("{error:#}"));
                }
            }
            at = index + 1;
        }
        drop(sign);
        notes.extend(left_out(&self.kept));
        Ok(())
    }

    /// One run, with what it is marked with.
    fn one(
        &self,
        run: &Run,
        job: &Job,
        one: &Wanted,
        place: &std::path::Path,
    ) -> anyhow::Result<Document> {
        let folder = tempfile::tempdir().context("cannot create a folder for a result")?;
        let path = folder.path().join("run.json");
        let (path_word, seconds) = (
            path.to_string_lossy(),
            self.duration.as_secs_f64().to_string(),
        );
        let words = [
            "measure", "all", "-q", "-a", &run.rt, "-D", &seconds, "--load", &self.load, "--json",
            &path_word,
        ];
        let root = Root::default();
        let undo = run.become_way(one.way)?;
        let mut looks = Looks::begin(&root, &self.online);
        let mut beside = Beginning::default();
        let done = run
            .finished_beside(&words, &mut |process| {
                looks.look(&root, &self.online);
                beside.look(&root, process, self);
            })
            .and_then(|()| {
                run.rest_times(
                    job.rest_command.as_deref(),
                    &place.with_extension("rest.json"),
                )
            });
        looks.end(&root, &self.online);
        let seen = beside.beside.map(Beside::end).transpose();
        let changed = undone(&changed()?, &managers_here(&root));
        undo.undo()?;
        done?;
        let mut document = file::read(&path)?;
        let mut found = disturbed(&looks.all);
        found.extend(changed);
        match seen {
            Err(error) => found.push(nothing_beside(&error)),
            Ok(None) => {}
            Ok(Some(seen)) => {
                found.extend(stalled(&document, &seen.watched(), smis(&looks.all)));
                document.series.extend(seen.series);
                let share = seen.share_others.map(|share| json!(share));
                let options = &mut document.setup.options;
                options.extend(share.map(|share| (RT_CPU_SHARE_OTHERS.to_owned(), share)));
            }
        }
        if let Some(count) = smis(&looks.all) {
            let options = &mut document.setup.options;
            options.insert(SYSTEM_MANAGEMENT_INTERRUPTS.to_owned(), json!(count));
        }
        document.audit.extend(found);
        Ok(document)
    }
}

impl Wanted {
    fn take_one(&mut self) {
        if let Ok(missing) = &mut self.missing {
            *missing = missing.saturating_sub(1);
        }
    }
}

/// The configuration whose turn it is, from this one on.
fn next(wanted: &[Wanted], at: usize) -> Option<usize> {
    let order = (0..wanted.len()).map(|step| (at + step) % wanted.len());
    let is_wanted = |one: &Wanted| one.missing.as_ref().is_ok_and(|missing| *missing > 0);
    order.into_iter().find(|index| is_wanted(&wanted[*index]))
}

/// Begins what runs beside a measurement when its loads are at work.
#[derive(Default)]
struct Beginning {
    loads: Option<Instant>,
    beside: Option<Beside>,
}

impl Beginning {
    fn look(&mut self, root: &Root, process: i32, prepared: &Prepared) {
        if let Some(beside) = &mut self.beside {
            beside.look();
            return;
        }
        if self.loads.is_none() && !processes::below(root, process).is_empty() {
            self.loads = Some(Instant::now());
        }
        if self.loads.is_some_and(|at| at.elapsed() >= LOADS_START) {
            let (rt, online) = (prepared.rt, &prepared.online);
            self.beside = Some(Beside::start(process, rt, online, prepared.duration));
        }
    }
}

/// Looks at the machine during a run; those that show nothing new are not kept.
struct Looks {
    all: Vec<Look>,
    last: Instant,
}

impl Looks {
    fn begin(root: &Root, online: &CpuList) -> Self {
        Self {
            all: vec![Look::at(root, online)],
            last: Instant::now(),
        }
    }

    fn look(&mut self, root: &Root, online: &CpuList) {
        if self.last.elapsed() >= LOOK {
            self.last = Instant::now();
            let now = Look::at(root, online);
            if self.all.last() != Some(&now) {
                self.all.push(now);
            }
        }
    }

    fn end(&mut self, root: &Root, online: &CpuList) {
        self.all.push(Look::at(root, online));
    }
}

/// The run counts without what should have run beside it.
fn nothing_beside(error: &anyhow::Error) -> Warning {
    Warning {
        id: "nothing_beside".to_owned(),
        seen: format!("nothing could be timed beside the measurement: {error:#}"),
        why: "a stall of the whole machine would not be seen, and ordinary work has no figures"
            .to_owned(),
        fix: None,
    }
}

/// A stall of the whole machine. With system management interrupts in the run the firmware made it,
/// and it is the machine's own.
fn stalled(document: &Document, others: &[Watched], smis: Option<u64>) -> Option<Warning> {
    let began_ns = document.setup.options.get(BEGAN_NS)?.as_f64()?;
    let mut series = document.series.iter();
    let blocks = series.find(|one| one.name == LATENCY)?.blocks.as_ref()?;
    let measured = Watched {
        began_s: began_ns / 1e9,
        blocks,
    };
    let found = stall::find(&measured, document.seconds?, others)?;
    match smis {
        Some(count) if count > 0 => Some(Warning {
            id: "firmware_stall".to_owned(),
            seen: format!("{}; {count} system management interrupts came", found.seen),
            why: "the firmware of this machine does so, and will do so again".to_owned(),
            fix: None,
        }),
        _ => Some(found),
    }
}

/// Settings in force that somebody else has changed.
fn changed() -> anyhow::Result<Vec<String>> {
    let all = in_force(&Host::default())?;
    let changes = all.iter().flat_map(|one| &one.changes);
    let changed = changes.filter_map(|one| match &one.state {
        State::Changed(now) => Some(format!("{}, now {now}", one.change)),
        _ => None,
    });
    Ok(changed.collect())
}

fn managers_here(root: &Root) -> Vec<String> {
    let tasks = tasks::all(root).unwrap_or_default();
    let all = managers::running(root, &tasks);
    all.iter().map(|one| one.name.to_owned()).collect()
}

/// Waits for the guard of a killed artis, and takes back what is left.
fn take_back(run: &Run) -> anyhow::Result<()> {
    let began = Instant::now();
    // The lock of the machine makes it wait for the guard.
    run.reset()?;
    while !in_force(&Host::default())?.is_empty() && began.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Refuses a machine whose settings somebody else holds.
fn refuse_others() -> anyhow::Result<()> {
    if let Some(other) = in_force(&Host::default())?.first() {
        bail!(
            "{} holds settings of CPUs {}; take them back first: artis partition reset, artis sched \
             stop",
            other.owner.command(),
            other.rt
        );
    }
    Ok(())
}

/// What does not count, and why.
fn left_out(kept: &Kept) -> Vec<String> {
    let mut notes = Vec::new();
    for run in &kept.runs {
        let pooled = kept.pooled(&run.way, &run.boot);
        if pooled.iter().any(|one| one.path == run.path) {
            continue;
        }
        for (cause, warning) in artis_field::clean::causes(&run.document) {
            let fix = warning.fix.as_deref().unwrap_or_default();
            notes.push(format!(
                "{}, run {}, is not counted: {}: {}; {fix}",
                run.way,
                run.number,
                cause.in_words(),
                warning.seen
            ));
        }
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ways::Way;

    fn wanted(missing: Result<u32, &str>) -> Wanted {
        Wanted {
            way: Way::AsItIs,
            name: "stock",
            how: String::new(),
            changes: None,
            done: 0,
            left_out: 0,
            missing: missing.map_err(str::to_owned),
        }
    }

    #[test]
    fn configurations_take_turns_and_those_with_enough_are_passed_over() {
        let mut all = [
            wanted(Ok(2)),
            wanted(Err("not possible")),
            wanted(Ok(1)),
            wanted(Ok(0)),
        ];
        let (mut at, mut order) = (0, Vec::new());
        while let Some(index) = next(&all, at) {
            order.push(index);
            all[index].take_one();
            at = index + 1;
        }
        assert_eq!(order, [0, 2, 0]);
        assert_eq!(next(&[], 0), None);
    }
}
