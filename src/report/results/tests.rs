// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use artis_decide::compare::{compare, figures};
use artis_result::experiment::{Made, Scheduler, Summary};
use artis_testing::experiment::{experiment, row};

fn made(text: &str) -> Result<String, Error> {
    page(text, |name| format!("\n{name} says 7\n\n"))
}

#[test]
fn each_made_part_is_replaced_and_all_else_stays() {
    let before = "# Title\n\n<!-- made: one -->\nold\n<!-- end -->\nWords.\n\
                  <!-- made: two -->\n<!-- end -->\n";
    let after = made(before).unwrap();
    let expected = "# Title\n\n<!-- made: one -->\n\none says 7\n\n<!-- end -->\nWords.\n\
                    <!-- made: two -->\n\ntwo says 7\n\n<!-- end -->\n";
    assert_eq!(after, expected);
    assert_eq!(made(&after).unwrap(), after);
    assert_eq!(names(&after), ["one", "two"]);
    assert_eq!(made("no marks\n").unwrap(), "no marks\n");
}

#[test]
fn damaged_marks_are_named() {
    let said = |text| made(text).unwrap_err().to_string();
    assert!(said("<!-- made: one -->\nold\n").contains("made: one -->\" has no \"<!-- end -->\""));
    assert!(said("<!-- made: one\nold -->\n").contains("on its line"));
}

/// Three rows, and what became of two gates on them.
fn measured() -> (Experiment, Vec<Verdict>) {
    let mut rows = vec![
        row("stock", &[300.0, 280.0]),
        row("isolcpus", &[50.0, 60.0]),
        row("artis", &[55.0, 59.0]),
    ];
    rows[1].scheduler = Scheduler::Isolcpus;
    rows[2].scheduler = Scheduler::Artis;
    for row in &mut rows {
        row.interval_us = Some(1003);
        row.groups = Some("systemd".to_owned());
        row.figures.worst_places = Some(0.02);
        let of = Summary {
            samples: 10,
            us_mean: 100.0,
            us_p99: 1000.0,
            us_max: 2000.0,
        };
        row.figures.responsiveness = [("normal".to_owned(), of)].into();
    }
    let experiment = experiment(rows);
    let configurations = figures::of_experiment(&experiment).unwrap();
    let all = compare(configurations, experiment.time_unit(), None, true).unwrap();
    let gates = ["artis:latency.max<=1.2*isolcpus", "artis:latency.max<50"];
    let verdicts = gates.map(|gate| {
        let gate: artis_decide::compare::Gate = gate.parse().unwrap();
        gate.check(&all).unwrap()
    });
    (experiment, verdicts.into())
}

#[test]
fn a_part_tells_where_its_figures_are_from_and_what_became_of_the_gates() {
    let (mut experiment, verdicts) = measured();
    experiment.made = Some(Made {
        commit: "0123abc".to_owned(),
        packages: vec!["libc6 2.41".to_owned()],
    });
    let text = part(&experiment, &verdicts);
    let flat = text.replace('\n', " ");
    for said in [
        "In us at 100 MIPS, emulated (bochs). Linux 7.3.4",
        "2 seeds of 8 virtual s; loads: hackbench; RT0 every 1003 us, at every place of the tick; \
         control groups as systemd makes them; commit 0123abc, with libc6 2.41.",
        "With artis the worst latency is 0.98 times that of the isolated CPU",
        "| artis | 14.8 | 29.5 | 59.0 | 2 % | 55, 59 |",
        "| ordinary tasks | normal: mean | 99 % | longest |",
        "| artis:latency.max<=1.2*isolcpus | 59.0 | 72.0 | held |",
        "| artis:latency.max<50 | 59.0 | 50.0 | **missed** |",
    ] {
        assert!(flat.contains(said), "{said} in\n{text}");
    }
    // A figure that no row has takes no column.
    assert!(!text.contains("kernel max"), "{text}");
}

#[test]
fn an_older_document_says_that_it_kept_its_places() {
    let experiment = experiment(vec![row("stock", &[300.0])]);
    let text = part(&experiment, &[]).replace('\n', " ");
    let said = "RT0 stayed at the same places of the tick; no control groups but the loads' own.";
    assert!(text.contains(said), "{said} in\n{text}");
    assert!(!text.contains("wanted"), "{text}");
}

#[test]
fn a_first_page_has_a_table_and_a_sentence() {
    let text = in_brief(&measured().0);
    assert!(text.starts_with("\n```\n") && text.contains("\n```\n\nWith artis the worst"));
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}

#[test]
fn missed_gates_are_named_with_their_figures() {
    let (_, verdicts) = measured();
    assert_eq!(
        judged("short", &verdicts),
        "short: 1 of 2 gates held\n  artis:latency.max<50  59.0  50.0  missed\n"
    );
}
