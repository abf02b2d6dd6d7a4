// SPDX-License-Identifier: GPL-2.0-only
//! Tests with traces of guests: `*.trace` is what the emulator said, `*.segments` what it means.

use super::*;
use artis_result::{Kind, Series, Unit};
use std::path::Path;

fn shipped(name: &str) -> Experiment {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../lab");
    Experiment::read(&Path::new(folder).join(name)).unwrap()
}

#[test]
fn a_part_of_the_list_of_functions_is_none() {
    let whole = "ffffffff81000000 T first\nffffffff81000100 t second\n";
    let listed = |ended, text| listed(ended, text, "7.3-amd64");
    assert!(listed(Ended::Exit(0), whole).is_ok());
    for (ended, text) in [
        (Ended::Exit(0), ""),
        (Ended::Exit(0), &whole[..40]),
        (Ended::Exit(1), whole),
        (Ended::TimedOut, whole),
    ] {
        let said = listed(ended, text).unwrap_err();
        assert!(matches!(said, Error::NoSymbols(_)), "{said}");
    }
    let said = listed(Ended::Interrupted(15), whole).unwrap_err();
    assert!(matches!(said, Error::Run(_)), "{said}");
}

#[test]
fn what_was_not_seen_is_not_an_empty_list() {
    // Their symbols name the timer's handler, and no system call.
    let mut latency = Distribution::new();
    for _ in 0..40 {
        latency.record(40_000);
    }
    let series = Series::new(USER_LATENCY, Kind::Latency, Unit::Nanoseconds, latency);
    let kept = Kept {
        sample: Sample {
            series: vec![series],
            ..Sample::default()
        },
        kernel: String::new(),
        engine_version: String::new(),
        host_seconds: 0.0,
        caches: None,
    };
    let functions = Functions::default();
    let of = |lateness: &[u64], which| {
        let watched = watch::tests::watched(lateness);
        document("x", &kept, watched, (which, 2), 1, &functions).map(|(document, _)| document)
    };
    let explained = of(&[4000; 40], Which::Wakeups).unwrap();
    assert_eq!(explained.worst.len(), 2);
    let said = of(&[4000; 40], Which::Activations).unwrap_err().to_string();
    assert!(
        said.starts_with("no activations of RT0 were seen on CPU 1, where 40"),
        "{said}"
    );
    let said = of(&[], Which::Wakeups).unwrap_err().to_string();
    assert!(said.starts_with("no wakeups of RT0"), "{said}");
}

#[test]
fn a_guest_is_found_or_what_there_is_is_named() {
    let first = Wanted {
        configuration: "artis",
        seed: 3,
        cpus: None,
        loads: None,
    };
    let table1 = shipped("table1.toml");
    let run = first.of(&table1).unwrap();
    assert_eq!((run.configuration, run.seed, run.cpus), (4, 3, 2));
    assert_eq!(run.task.measure, Measure::Latency);
    let others = shipped("others.toml");
    assert_eq!(first.of(&others).unwrap().task.loads.len(), 2);
    let other = Wanted {
        cpus: Some(4),
        loads: Some("six"),
        ..first
    };
    let run = other.of(&others).unwrap();
    assert_eq!((run.cpus, run.task.loads.len()), (4, 6));
    for (experiment, wanted, said) in [
        (
            &table1,
            Wanted {
                configuration: "art",
                ..first
            },
            "the experiment table1 has no configuration art; it has lazy, full",
        ),
        (
            &table1,
            Wanted { seed: 9, ..first },
            "the experiment table1 has no seed 9; it has 1, 2, 3, 4, 5",
        ),
        (
            &others,
            Wanted {
                cpus: Some(3),
                ..first
            },
            "the experiment others has no guest of 3 CPUs; it has guests of 2, 4",
        ),
        (
            &others,
            Wanted {
                loads: Some("ten"),
                ..first
            },
            "the experiment others has no loads ten; it has two, six",
        ),
        (
            &table1,
            Wanted {
                loads: Some("two"),
                ..first
            },
            "the experiment table1 has no loads two; it has one list of loads, without a name",
        ),
    ] {
        let error = wanted.of(experiment).unwrap_err().to_string();
        assert!(error.starts_with(said), "{error}");
    }
}
