// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use artis_field::boot::Boot;
use artis_field::clean::Cause;
use std::time::Duration;

/// A column of runs with these worsts; those below 0 do not count.
fn column(way: &str, kernel: &str, worsts: &[f64]) -> Column {
    let times = |us_max: f64| Times {
        count: 1000,
        us_mean: 10.0,
        us_p99: Some(20.0),
        us_max,
    };
    Column {
        way: way.to_owned(),
        boot: Boot {
            kernel: kernel.to_owned(),
            preemption: "lazy".to_owned(),
            arguments: Vec::new(),
        },
        runs: worsts
            .iter()
            .map(|worst| Run {
                causes: BTreeSet::from_iter((*worst < 0.0).then_some(Cause::Login)),
                is_pooled: *worst >= 0.0,
                seconds: 1.0,
                latency: times(worst.abs()),
                rt_cpu_share_others: Some(0.5),
                work: BTreeMap::from([("hackbench".to_owned(), worst.abs())]),
                normal: Some(times(90.0)),
                commands: None,
                system_management_interrupts: None,
            })
            .collect(),
    }
}

#[test]
fn the_table_has_a_row_for_each_configuration_and_says_what_does_not_count() {
    let columns = [
        column("stock", "6.18", &[100.0, 120.0, -3800.0]),
        column("artis", "6.18", &[50.0, 60.0]),
    ];
    let text = machine(&columns);
    for part in [
        "stock          120.0      10.0         -      50 %     100 %      10.0      20.0         -",
        "artis           60.0      10.0         -      50 %      50 %",
        "2/3",
        "at most 78 %",
        "Not counted: 1 of stock, worst 3800.0 us: somebody logged in or out.",
    ] {
        assert!(text.contains(part), "{part} in\n{text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    assert_eq!(machine(&[column("stock", "6.18", &[-1.0])]), "");
}

#[test]
fn a_way_on_two_kernels_has_two_rows() {
    let columns = [
        column("stock", "6.12", &[100.0, 120.0]),
        column("stock", "6.18", &[100.0, 120.0]),
    ];
    let text = machine(&columns);
    assert!(
        text.contains("stock 6.12") && text.contains("stock 6.18"),
        "{text}"
    );
}

#[test]
fn the_plan_says_what_is_changed_and_what_is_not_possible() {
    let configuration = |name, how, changes, missing| Configuration {
        name,
        how,
        changes,
        done: 1,
        left_out: 1,
        missing,
    };
    let outline = Outline {
        rt: 1,
        load: "hackbench",
        run: Duration::from_secs(60),
        time: Duration::from_secs(189),
        boot: "6.18 (lazy)",
        cpu_model: None,
        folder: Some("runs"),
        configurations: vec![
            configuration("stock", "the machine as it is", Some(0), Ok(2)),
            configuration("tuned", "artis partition apply --rt 1", Some(33), Ok(1)),
            configuration("artis", "", None, Err("this kernel has no sched_ext")),
        ],
        seen: &[],
        interrupted: Some("tuned"),
        damaged: &["runs/stock-2.json ends in the middle".to_owned()],
    };
    let text = plan(&outline);
    for part in [
        "3 runs of 1m, in turn; about 3m 9s",
        "changes 33 settings; 1 of 2 runs are there; 1 more do not count",
        "not possible: this kernel has no sched_ext",
        "the last time in tuned",
        "stock-2.json ends in the middle",
    ] {
        let words: Vec<&str> = text.split_whitespace().collect();
        assert!(words.join(" ").contains(part), "{part} in\n{text}");
    }
}

#[test]
fn machines_that_were_measured_otherwise_are_said_to_be_unlike() {
    let mut of = artis_field::join::Joined {
        machines: 2,
        ways: Vec::new(),
        standing_out: Vec::new(),
        groups: Vec::new(),
        questions: 0,
        seconds: Some((60.0, 60.1)),
        loads: BTreeSet::from(["io".to_owned()]),
    };
    let text = joined(&of);
    assert!(
        !text.contains("long") && !text.contains("differ:"),
        "{text}"
    );
    assert!(text.contains("unknown: it takes five machines"), "{text}");
    of.seconds = Some((60.0, 600.0));
    of.loads.insert("compute".to_owned());
    let text = joined(&of);
    let words: Vec<&str> = text.split_whitespace().collect();
    let text = words.join(" ");
    assert!(text.contains("60 s to 600 s long"), "{text}");
    assert!(text.contains("Loads differ: compute; io."), "{text}");
}
