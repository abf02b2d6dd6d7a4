// SPDX-License-Identifier: GPL-2.0-only
//! Experiments around guests that a fake engine plays: what is run, what is taken from
//! the cache, and what an interruption, a failure or a lost guest leaves.

use super::plan::Experiment;
use super::rows::document;
use super::run::{Error, Measured, Options, run};
use crate::Error as LabError;
use crate::debian::kernel::{Kernels, tests as canned};
use crate::distribution::Distro;
use crate::engine::fake::{Behaviour, Fake};
use crate::host::cache::Cache;
use crate::image::Image;
use crate::kernel::Flavour;
use crate::machine::Machine;
use crate::progress::{Progress, Silent};
use artis_guest::experiment::{Done, Sample};
use artis_result::{Distribution, Kind, Series, Unit};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const RELEASE: &str = "7.3-amd64";
const GUESTS: usize = 4;

/// Two configurations, two seeds.
pub(super) fn experiment() -> Experiment {
    let text = r#"
        name = "fake"
        title = "guests without a kernel"
        measure = ["latency"]
        cpus = [2]
        seconds = 1
        seeds = [1, 2]
        loads = ["compute"]
        [[configuration]]
        name = "lazy"
        preemption = "lazy"
        scheduler = "stock"
        [[configuration]]
        name = "full"
        preemption = "full"
        scheduler = "stock"
    "#;
    let experiment = Experiment::parse(text).unwrap();
    assert_eq!(experiment.runs().len(), GUESTS);
    experiment
}

#[test]
fn an_experiment_can_be_cut_to_some_of_its_configurations() {
    let mut cut = experiment();
    cut.keep_only(&["full".to_owned()]).unwrap();
    let names: Vec<_> = cut.configurations.iter().map(|one| &one.name).collect();
    assert_eq!(names, ["full"]);
    assert_eq!(cut.runs().len(), GUESTS / 2);
    let said = experiment().keep_only(&["full".to_owned(), "rt".to_owned()]);
    let said = said.unwrap_err();
    assert!(
        said.contains("\"rt\"") && said.contains("lazy, full"),
        "{said}"
    );
}

/// A cache that has a kernel.
pub(super) struct Lab {
    _folder: tempfile::TempDir,
    pub(super) kernels: Kernels,
    stop: Arc<AtomicUsize>,
}

impl Lab {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned()).unwrap();
        canned::kernel(&cache, RELEASE, Flavour::Normal, "2-1");
        canned::index(&cache, 60, &[RELEASE]);
        Self {
            _folder: folder,
            kernels: Kernels::new(cache, None),
            stop: Arc::default(),
        }
    }

    pub(super) fn options(&self, engine: &Fake) -> Options {
        Options {
            engine: Arc::new(engine.clone()),
            system: Arc::new(Image::default()),
            system_of_artis: Arc::new(Image::default()),
            jobs: 1,
            fresh: false,
            stop: Arc::clone(&self.stop),
            kernels: BTreeMap::new(),
        }
    }

    pub(super) fn run(&self, engine: &Fake) -> Result<Vec<Measured>, Error> {
        self.run_file(&experiment(), engine)
    }

    fn run_file(&self, experiment: &Experiment, engine: &Fake) -> Result<Vec<Measured>, Error> {
        let options = self.options(engine);
        run(experiment, &self.kernels, &options, &mut Silent)
    }

    /// A published scheduler that was built before; its program is `content`.
    fn built(&self, which: &str, content: &str) {
        let name = which.split('@').next().unwrap();
        let place = format!("schedulers/{which}/bin/{name}");
        let program = self.kernels.cache().path(&place).unwrap();
        fs::write(&program, content).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// A guest that measured `window_ns`, by which a test knows the sample again.
pub(super) fn sample(window_ns: usize) -> Behaviour {
    let sample = Sample {
        window_ns: window_ns as u64,
        ..Sample::default()
    };
    Behaviour::Ends(serde_json::to_string(&sample).unwrap(), 0)
}

fn windows(measured: &[Measured]) -> Vec<u64> {
    let samples = measured.iter().map(|one| &one.kept.sample);
    samples.map(|sample| sample.window_ns).collect()
}

#[test]
fn a_sample_is_measured_once() {
    let lab = Lab::new();
    let engine = Fake::new(sample);
    let first = windows(&lab.run(&engine).unwrap());
    assert_eq!(first, [0, 1, 2, 3]);
    assert_eq!(windows(&lab.run(&engine).unwrap()), first);
    assert_eq!(engine.boots(), GUESTS);
}

/// Of a hundred places, or of as many as the guests report.
#[test]
fn places_have_the_worst_when_they_come_near_it() {
    let lab = Lab::new();
    let places = [
        vec![Some(100), Some(50), None, Some(10)],
        vec![Some(20), Some(89), None, Some(90)],
    ];
    let engine = Fake::new(move |boot| {
        let sample = Sample {
            places_ns: places[boot % 2].clone(),
            ..Sample::default()
        };
        Behaviour::Ends(serde_json::to_string(&sample).unwrap(), 0)
    });
    let document = document(&experiment(), &lab.run(&engine).unwrap());
    let row = &document.rows[0];
    assert_eq!(row.figures.worst_places, Some(0.5));
    assert_eq!(row.per_seed[0].figures.worst_places, Some(0.25));
    assert_eq!(row.interval_us, Some(1003));
    assert_eq!(row.groups.as_deref(), Some("systemd"));
}

#[test]
fn what_would_be_run_is_told_without_running_it() {
    let lab = Lab::new();
    let engine = Fake::new(sample);
    let missing = || {
        let options = lab.options(&engine);
        let all = |_| true;
        let experiment = experiment();
        super::missing::missing(&experiment, &lab.kernels, &options, &all, &mut Silent).unwrap()
    };
    let before = missing();
    assert_eq!((before.all, before.guests.len()), (GUESTS, GUESTS));
    assert!(!before.host.is_zero());
    assert_eq!(engine.boots(), 0);
    lab.run(&engine).unwrap();
    assert!(missing().guests.is_empty());
}

#[test]
fn each_guest_has_a_fingerprint_of_its_own() {
    let lab = Lab::new();
    let measured = lab.run(&Fake::new(sample)).unwrap();
    let mut prints: Vec<_> = measured.iter().map(|one| &one.fingerprint).collect();
    prints.sort();
    prints.dedup();
    assert_eq!(prints.len(), GUESTS);
}

#[test]
fn who_starts_over_finds_nothing_of_before() {
    let lab = Lab::new();
    let engine = Fake::new(sample);
    lab.run(&engine).unwrap();
    let mut options = lab.options(&engine);
    options.fresh = true;
    let again = run(&experiment(), &lab.kernels, &options, &mut Silent).unwrap();
    assert_eq!(windows(&again), [4, 5, 6, 7]);
}

#[test]
fn several_guests_at_the_same_time_give_the_same_samples() {
    let lab = Lab::new();
    let engine = Fake::new(|_| sample(7));
    let mut options = lab.options(&engine);
    options.jobs = 3;
    let measured = run(&experiment(), &lab.kernels, &options, &mut Silent).unwrap();
    assert_eq!(windows(&measured), [7; GUESTS]);
    assert_eq!(engine.boots(), GUESTS);
}

#[test]
fn an_interrupted_experiment_continues_where_it_was() {
    let lab = Lab::new();
    let stop = Arc::clone(&lab.stop);
    let engine = Fake::new(move |boot| match boot {
        1 => {
            stop.store(15, Ordering::Relaxed);
            Behaviour::Hangs
        }
        _ => sample(boot),
    });
    let interrupted = lab.run(&engine).unwrap_err();
    assert!(
        matches!(
            interrupted,
            Error::Interrupted {
                signal: 15,
                done: 1,
                all: GUESTS
            }
        ),
        "{interrupted}"
    );
    lab.stop.store(0, Ordering::Relaxed);
    assert_eq!(windows(&lab.run(&engine).unwrap()), [0, 2, 3, 4]);
}

#[test]
fn a_failure_names_the_guest_and_keeps_the_samples_before_it() {
    let lab = Lab::new();
    let failing = Fake::new(|boot| match boot {
        2 => Behaviour::Ends(String::new(), 3),
        _ => sample(boot),
    });
    let error = lab.run(&failing).unwrap_err().to_string();
    assert!(error.contains("full, 2 CPUs, seed 1"), "{error}");
    assert!(error.contains("exit status 3"), "{error}");
    let engine = Fake::new(|_| sample(9));
    assert_eq!(windows(&lab.run(&engine).unwrap()), [0, 1, 9, 9]);
}

/// Those of artis are run first, and the kernel's scheduler is the first of the file.
#[test]
fn a_guest_that_was_not_run_is_not_what_failed() {
    let lab = Lab::new();
    lab.built("scx_other@1.2.3", "#!/bin/sh\n");
    let experiment = Experiment::parse(PUBLISHED).unwrap();
    let failing = Fake::new(|_| Behaviour::Ends(String::new(), 3));
    let error = lab.run_file(&experiment, &failing).unwrap_err().to_string();
    assert!(
        error.contains("other") && error.contains("exit status 3"),
        "{error}"
    );
    assert_eq!(failing.boots(), 1);
}

#[test]
fn an_answer_that_is_not_a_sample_is_an_error() {
    let lab = Lab::new();
    let engine = Fake::new(|_| Behaviour::Ends("hello".to_owned(), 0));
    let error = lab.run(&engine).unwrap_err().to_string();
    assert!(error.contains("not a sample"), "{error}");
}

/// Two sets of loads, the kernel's scheduler and a published one, which is in the cache.
const PUBLISHED: &str = r#"
    name = "fake"
    title = "guests without a kernel"
    measure = ["responsiveness"]
    cpus = [2]
    seconds = 1
    seeds = [1]
    [loads]
    one = ["compute"]
    two = ["io", "locks"]
    [[configuration]]
    name = "stock"
    preemption = "lazy"
    scheduler = "stock"
    [[configuration]]
    name = "other"
    preemption = "lazy"
    scheduler = "scx_other@1.2.3"
"#;

#[test]
fn a_published_scheduler_is_a_part_of_its_guests_and_each_set_of_loads_has_rows() {
    let lab = Lab::new();
    lab.built("scx_other@1.2.3", "#!/bin/sh\n");
    let experiment = Experiment::parse(PUBLISHED).unwrap();
    let engine = Fake::new(|_| {
        let latency = |name, ns| {
            let mut values = Distribution::new();
            values.record(ns);
            Series::new(name, Kind::Latency, Unit::Nanoseconds, values)
        };
        let sample = Sample {
            series: vec![
                latency("user_latency", 50_000),
                latency("normal_latency", 700_000),
            ],
            messages: ["messages", "messages_to_many"]
                .map(|series| (series.to_owned(), Done { work: 8, cpu_ns: 2 }))
                .into(),
            ops: Some("other_1.2.3".to_owned()),
            ..Sample::default()
        };
        Behaviour::Ends(serde_json::to_string(&sample).unwrap(), 0)
    });
    let first = lab.run_file(&experiment, &engine).unwrap();
    let rows = document(&experiment, &first).rows;
    let names: Vec<&str> = rows.iter().map(|row| row.configuration.as_str()).collect();
    assert_eq!(names, ["stock-one", "other-one", "stock-two", "other-two"]);
    assert_eq!(rows[3].loads, ["io", "locks"]);
    assert_eq!(String::from(rows[3].scheduler.clone()), "scx_other@1.2.3");
    assert_eq!(rows[3].figures.responsiveness["normal"].us_max, 700.0);
    let messages = &rows[3].figures.messages_per_cpu_second_relative;
    let messages: Vec<(&str, f64)> = messages.iter().map(|(of, to)| (&**of, *to)).collect();
    assert_eq!(messages, [("messages", 1.0), ("messages-to-many", 1.0)]);

    // Another program is another guest; the others are in the cache.
    lab.built("scx_other@1.2.3", "#!/bin/bash\n");
    let second = lab.run_file(&experiment, &engine).unwrap();
    assert_eq!(engine.boots(), 4 + 2);
    let same = |at: usize| first[at].fingerprint == second[at].fingerprint;
    assert_eq!([0, 1, 2, 3].map(same), [true, false, true, false]);
}

#[test]
fn only_guests_of_artis_change_with_its_scheduler() {
    let lab = Lab::new();
    let stock_and_artis = PUBLISHED.replace("scx_other@1.2.3", "artis");
    let experiment = Experiment::parse(&stock_and_artis).unwrap();
    let engine = Fake::new(sample);
    let prints = |scheduler: &str| {
        let program = lab.kernels.cache().path("scheduler").unwrap();
        fs::write(&program, scheduler).unwrap();
        let mut system = Image::default();
        system.copy(&program, Path::new("/usr/bin/x")).unwrap();
        let mut options = lab.options(&engine);
        options.system_of_artis = Arc::new(system);
        let measured = run(&experiment, &lab.kernels, &options, &mut Silent).unwrap();
        measured.into_iter().map(|one| one.fingerprint)
    };
    let first = prints("one");
    let same: Vec<bool> = first.zip(prints("two")).map(|(a, b)| a == b).collect();
    assert_eq!(same, [true, false, true, false]);
    assert_eq!(engine.boots(), 4 + 2);
}

#[test]
fn a_published_scheduler_gets_the_kernels_configuration() {
    let lab = Lab::new();
    lab.built("scx_other@1.2.3", "#!/bin/sh\n");
    let experiment = Experiment::parse(PUBLISHED).unwrap();
    let engine = Fake::new(sample);
    let run = || lab.run_file(&experiment, &engine);
    let config = lab.kernels.resolve(RELEASE, &mut Silent).unwrap();
    let config = config.config().unwrap();
    let prints = |measured: Vec<Measured>| measured.into_iter().map(|one| one.fingerprint);
    let first = prints(run().unwrap());
    fs::write(&config, "CONFIG_HZ=1000\n").unwrap();
    let same: Vec<bool> = first
        .zip(prints(run().unwrap()))
        .map(|(a, b)| a == b)
        .collect();
    assert_eq!(same, [true, false, true, false]);

    fs::remove_file(&config).unwrap();
    let error = run().unwrap_err().to_string();
    assert!(
        error.contains("reads the configuration") && error.contains("choose another kernel"),
        "{error}"
    );
}

#[test]
fn what_cannot_be_built_is_a_sentence_and_boots_no_guest() {
    let lab = Lab::new();
    lab.stop.store(15, Ordering::Relaxed);
    let experiment = Experiment::parse(PUBLISHED).unwrap();
    let engine = Fake::new(|_| Behaviour::Hangs);
    let error = lab.run_file(&experiment, &engine).unwrap_err().to_string();
    assert!(
        error.contains("the same command builds it again"),
        "{error}"
    );
    assert_eq!(engine.boots(), 0);
}

#[test]
fn a_kernel_that_the_file_names_must_be_of_its_preemption_model() {
    let lab = Lab::new();
    let named = format!("kernel = \"{RELEASE}\"\npreemption = \"rt\"\nscheduler = \"stock\"");
    let text = PUBLISHED.replace("preemption = \"lazy\"\n    scheduler = \"stock\"", &named);
    let experiment = Experiment::parse(&text).unwrap();
    let engine = Fake::new(|_| Behaviour::Hangs);
    let error = lab.run_file(&experiment, &engine).unwrap_err().to_string();
    assert!(error.contains("is built without PREEMPT_RT"), "{error}");
}

/// Keeps the sentences that the user would read.
#[derive(Default)]
struct Notes(Vec<String>);

impl Progress for Notes {
    fn step(&mut self, _what: &str, _percent: Option<f32>) {}
    fn done(&mut self) {}
    fn note(&mut self, sentence: &str) {
        self.0.push(sentence.to_owned());
    }
}

/// Runs a guest with one command; the notes, and what it answered.
fn alone(engine: &Fake) -> (Vec<String>, Result<Vec<u8>, LabError>) {
    let lab = Lab::new();
    let kernel = lab.kernels.resolve("newest", &mut Silent).unwrap();
    let output = tempfile::tempdir().unwrap();
    let machine = Machine::new(
        Arc::new(engine.clone()),
        lab.kernels.cache(),
        kernel,
        Arc::new(Image::default()),
        output.path().to_owned(),
    );
    let mut notes = Notes::default();
    let ran = machine.run_again_when_lost(&["true".into()], &mut Vec::new(), &mut notes);
    (notes.0, ran.map(|(_, answer)| answer))
}

#[test]
fn a_guest_that_the_emulator_lost_is_started_again_twice_at_most() {
    let fault = Some("it crashed");
    let engine = Fake::new(move |boot| match boot {
        0 | 1 => Behaviour::Dies(fault),
        _ => Behaviour::Ends("[]".to_owned(), 0),
    });
    let (notes, answer) = alone(&engine);
    assert_eq!(answer.unwrap(), b"[]");
    assert_eq!(notes.len(), 2);
    assert!(
        notes[1].contains("it crashed") && notes[1].contains("2 of 2"),
        "{notes:?}"
    );

    let engine = Fake::new(move |_| Behaviour::Dies(fault));
    let error = alone(&engine).1.unwrap_err().to_string();
    assert!(error.contains("by a fault of the emulator"), "{error}");
    assert_eq!(engine.boots(), 3);
}

#[test]
fn a_guest_that_died_by_itself_is_not_started_again() {
    let engine = Fake::new(|_| Behaviour::Dies(None));
    let (notes, answer) = alone(&engine);
    assert!(answer.is_err() && notes.is_empty(), "{notes:?}");
    assert_eq!(engine.boots(), 1);
}
