// SPDX-License-Identifier: GPL-2.0-only
//! Tests of experiment files.

use super::*;
use artis_admit::model::Set;
use proptest::prelude::*;

const SMALL: &str = r#"
        name = "small"
        title = "a test"
        measure = ["latency", "kernel-latency"]
        cpus = [2, 4]
        seconds = 1
        seeds = [7, 8]
        loads = ["compute", "compute", "hackbench"]
        [[configuration]]
        name = "lazy"
        preemption = "lazy"
        scheduler = "stock"
        [[configuration]]
        name = "isolcpus"
        preemption = "rt"
        scheduler = "isolcpus"
        append = "quiet"
    "#;

#[test]
fn an_experiment_is_all_its_combinations() {
    let experiment = Experiment::parse(SMALL).unwrap();
    let runs = experiment.runs();
    assert_eq!(runs.len(), 2 * 2 * 2 * 2);
    assert_eq!(runs[0].task.rt.to_string(), "1");
    assert_eq!(runs.last().unwrap().task.rt.to_string(), "3");
    let isolated = &experiment.configurations[1];
    assert_eq!(isolated.arguments(&rt_cpus(2)), "isolcpus=1 quiet");
    assert_eq!(isolated.kernel(), "newest-rt");
    let lazy = &experiment.configurations[0];
    assert_eq!(lazy.arguments(&rt_cpus(2)), "preempt=lazy");
}

#[test]
fn each_event_has_rows_of_its_own() {
    let text = SMALL.replace("seeds", "events = [\"futex\", \"rtc\"]\nseeds");
    let experiment = Experiment::parse(&text).unwrap();
    let rows = experiment.rows();
    assert_eq!(rows.len(), 2 * 2 * 2);
    let events: Vec<_> = rows.iter().take(4).map(|row| row.event.name()).collect();
    assert_eq!(events, ["futex", "futex", "rtc", "rtc"]);
    let runs = experiment.runs();
    assert!(experiment.guest_name(&runs[0]).contains("futex"));
    for row in rows {
        assert_eq!(runs.iter().filter(|run| row.has(run)).count(), 2 * 2);
    }
}

#[test]
fn caches_need_their_costs() {
    let caches = SMALL.replace("\"latency\", \"kernel-latency\"", "\"caches\"");
    let refused = Experiment::parse(&caches).unwrap_err();
    assert!(refused.contains("[caches]"), "{refused}");
    let costs = "[caches]\nl1_miss = 1\nl2_miss = 2\nother_cpu = 3\nmemory = 4\n";
    let whole = caches.replacen("[[configuration]]", &format!("{costs}[[configuration]]"), 1);
    let experiment = Experiment::parse(&whole).unwrap();
    assert_eq!(experiment.caches.unwrap().other_cpu, 3);
    assert!(Experiment::parse(&SMALL.replacen("[[c", &format!("{costs}[[c"), 1)).is_err());
}

#[test]
fn every_error_is_named() {
    for (from, to, said) in [
        ("seeds = [7, 8]", "seeds = [7, 7]", "seed 7 is listed twice"),
        ("seeds = [7, 8]", "seeds = []", "there is no seed"),
        (
            "seeds = [7, 8]",
            "seeds = [7, 8]\nanswers = []",
            "answers must hold \"wakeups\"",
        ),
        (
            "measure = [\"latency\", \"kernel-latency\"]",
            "measure = []",
            "measure must hold \"latency\"",
        ),
        ("cpus = [2, 4]", "cpus = [1]", "another beside it"),
        (
            "cpus = [2, 4]",
            "cpus = [2, 64]",
            "cpus: 64 is out of range; write a whole number from 2 to ",
        ),
        (
            "\"hackbench\"",
            "\"hackbensh\"",
            "line 8: loads: \"hackbensh\" is not known here; write \"compute\"",
        ),
        (
            "seconds = 1",
            "secunds = 1",
            "line 6: secunds is no key here; write name, title, measure",
        ),
        (
            "seconds = 1",
            "seconds = 1\ncpus_per_load = 0",
            "cpus_per_load: 0 is out of range; write a whole number from 1 to 4294967295",
        ),
        (
            "seconds = 1",
            "seconds = -1",
            "line 6: seconds: -1 is out of range; write a whole number from 1 to 4294967295",
        ),
        (
            "seconds = 1",
            "seconds = \"1\"",
            "line 6: seconds: \"1\" does not fit; write a whole number from 1 to 4294967295",
        ),
        (
            "seeds = [7, 8]",
            "seeds = [7, 1.5]",
            "line 7: seeds: 1.5 does not fit; write a whole number from 0 to",
        ),
        (
            "seeds = [7, 8]",
            "seeds = 7",
            "line 7: seeds: 7 does not fit; write a list in square brackets",
        ),
        ("seeds = [7, 8]", "", "the key seeds is missing"),
        ("seeds = [7, 8]", "seeds = [7, 8", "line "),
        (
            "scheduler = \"stock\"",
            "scheduler = \"scx_bpfland\"",
            "with its version, as \"scx_bpfland@1.1.4\"",
        ),
        ("\"small\"", "\"../small\"", "it is part of file names"),
        (
            "name = \"isolcpus\"",
            "name = \"lazy\"",
            "configuration lazy is listed twice",
        ),
    ] {
        let error = Experiment::parse(&SMALL.replace(from, to)).unwrap_err();
        assert!(error.contains(said), "{error}");
        assert!(
            error.lines().count() == 1 && !error.contains("u32"),
            "{error}"
        );
    }
}

#[test]
fn each_set_of_loads_has_rows_of_its_own() {
    let two = "loads = { one = [\"compute\"], two = [\"io\", \"locks\"] }\ncpus_per_load = 2";
    let text = SMALL.replace("loads = [\"compute\", \"compute\", \"hackbench\"]", two);
    let experiment = Experiment::parse(&text).unwrap();
    let (rows, runs) = (experiment.rows(), experiment.runs());
    assert_eq!((rows.len(), runs.len()), (2 * 2 * 2, 2 * 2 * 2 * 2 * 2));
    for row in &rows {
        let own = runs.iter().filter(|run| row.has(run));
        let loads: Vec<usize> = own.map(|run| run.task.loads.len()).collect();
        assert_eq!(loads, [(row.loads + 1) * row.cpus as usize / 2; 4]);
        assert_eq!(row.reference().loads, row.loads);
        assert_eq!(row.reference().configuration, 0);
    }
    for (table, said) in [
        ("{}", "loads holds no list"),
        ("{ \"a b\" = [] }", "\"a b\""),
    ] {
        let text = SMALL.replace("[\"compute\", \"compute\", \"hackbench\"]", table);
        let error = Experiment::parse(&text).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_configuration_may_name_its_kernel_and_a_published_scheduler() {
    let text = SMALL.replace(
        "scheduler = \"stock\"",
        "kernel = \"7.2.13+deb14-amd64\"\nscheduler = \"scx_bpfland@1.1.4\"",
    );
    let experiment = Experiment::parse(&text).unwrap();
    let named = &experiment.configurations[0];
    assert_eq!(named.kernel(), "7.2.13+deb14-amd64");
    assert!(matches!(&named.scheduler, Scheduler::Published(one) if one.name() == "scx_bpfland"));
}

#[test]
fn rt0_goes_through_every_place_of_the_tick_unless_one_is_named() {
    let task = |more: &str| {
        let text = SMALL.replace("seconds = 1", &format!("seconds = 1\n{more}"));
        Experiment::parse(&text).unwrap().runs()[0].task.clone()
    };
    let usual = task("");
    assert_eq!((usual.interval_us, usual.place_us), (1003, None));
    assert_eq!(usual.groups, Groups::Systemd);
    let kept = task("place_us = 30\ngroups = \"none\"");
    assert_eq!((kept.interval_us, kept.place_us), (4000, Some(30)));
    assert_eq!(kept.groups, Groups::None);
    assert_eq!(task("place_us = 30\ninterval_us = 1000").interval_us, 1000);
    for (more, said) in [
        (
            "interval_us = 1000",
            "interval_us: with a period of 1000 RT0 comes to few places of the tick; write",
        ),
        (
            "groups = \"runit\"",
            "line 7: groups: \"runit\" is not known here; write \"systemd\" or \"none\"",
        ),
    ] {
        let text = SMALL.replace("seconds = 1", &format!("seconds = 1\n{more}"));
        let error = Experiment::parse(&text).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

/// With `isolcpus` too, where they may use fewer CPUs.
#[test]
fn every_row_starts_as_many_processes_of_each_load() {
    let text = SMALL.replace("seconds = 1", "seconds = 1\ncpus_per_load = 2");
    let runs = Experiment::parse(&text).unwrap().runs();
    for cpus in [2, 4] {
        let mut tasks = runs.iter().filter(|run| run.cpus == cpus);
        let first = &tasks.next().unwrap().task.loads;
        assert_eq!(first.len(), 3 * cpus as usize / 2);
        assert!(tasks.all(|run| run.task.loads == *first));
    }
}

/// Files written for earlier versions of artis say "shield".
#[test]
fn the_old_word_for_isolcpus_is_understood() {
    let old = SMALL.replace("scheduler = \"isolcpus\"", "scheduler = \"shield\"");
    assert_ne!(old, SMALL);
    assert_eq!(Experiment::parse(&old), Experiment::parse(SMALL));
}

/// The files that come with artis.
#[test]
fn the_shipped_experiments_are_understood() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|end| end == "toml") {
            names.push(Experiment::read(&path).unwrap().name);
        }
    }
    names.sort();
    assert_eq!(
        names,
        [
            "caches",
            "demo",
            "edf",
            "events",
            "forks",
            "kernels",
            "load-sweep",
            "luck",
            "others",
            "programs",
            "rowand",
            "scale",
            "short",
            "smoke",
            "table1",
            "table1-4cpus",
            "watch"
        ]
    );
}

#[test]
fn a_configuration_runs_the_set_that_it_names() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/edf.toml");
    let text = std::fs::read_to_string(path).unwrap();
    let runs = Experiment::parse(&text).unwrap().runs();
    let of = |at: usize| Set::parse(&runs[at].task.set.as_ref().unwrap().text).unwrap();
    // Two seeds each.
    let [rm, edf] = [of(0), of(2)];
    assert_eq!((rm.policy, edf.policy), (Policy::Rm, Policy::Edf));
    assert_eq!((&rm.tasks, rm.tasks.len()), (&edf.tasks, 5));
    for (from, to, said) in [
        (
            "set = \"one\"",
            "",
            "configuration places: its set is none; write set = and one of: five",
        ),
        (
            "set = \"one\"",
            "set = \"six\"",
            "configuration places: its set is six",
        ),
        (
            "measure = [\"set\"]",
            "measure = [\"set\", \"latency\"]",
            "stands alone",
        ),
        (
            "measure = [\"set\"]",
            "measure = [\"latency\"]",
            "need measure = [\"set\"]",
        ),
        (
            "execution = \"50us\"",
            "execution = \"50\"",
            "the table set.one: ",
        ),
    ] {
        assert!(text.contains(from), "{from}");
        let error = Experiment::parse(&text.replacen(from, to, 1)).unwrap_err();
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn only_who_is_watched_says_so_in_its_task() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lab/watch.toml");
    let experiment = Experiment::read(&path).unwrap();
    for run in experiment.runs() {
        let is_watched = experiment.configurations[run.configuration].watch;
        let task = serde_json::to_value(&run.task).unwrap();
        // The samples of all others are kept by their tasks: those must not change.
        let said = task.get("watch").map(|watch| watch == true);
        assert_eq!(said, is_watched.then_some(true));
    }
}

proptest! {
    #[test]
    fn any_text_is_read_or_refused(text in ".{0,200}") {
        let _ = Experiment::parse(&text);
    }
}
