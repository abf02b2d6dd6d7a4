// SPDX-License-Identifier: GPL-2.0-only
use super::*;
use artis_decide::compare::{compare, figures};
use artis_result::experiment::{Scheduler, Summary};
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
fn a_part_shows_what_each_side_gains_and_pays_and_the_gates_that_are_missed() {
    let (mut experiment, verdicts) = measured();
    let artis = &mut experiment.rows[2].figures;
    artis.work_relative = [("io".to_owned(), 0.5), ("locks".to_owned(), 2.0)].into();
    artis.work_per_cpu_second_relative = [("io".to_owned(), 0.99)].into();
    artis.messages_per_cpu_second_relative = [("messages".to_owned(), 0.95)].into();
    artis.rt_cpu_share_others = Some(1.0);
    let usual = Usual::of([&experiment]);
    let text = part("some", &experiment, &verdicts, &usual);
    let flat = text.replace('\n', " ");
    for said in [
        "`some`: 2 seeds of 8 virtual s. ",
        "With artis the worst latency is 0.98 times that of the isolated CPU",
        "| RT0 | mean | 99.9 % | worst | at places, % | RT CPU lent, % | work kept | least | least \
         per CPU second |",
        "| stock | 75.0 | 150.0 | 300.0 | 2 |  | 1.000 |  |  |",
        "| artis | 14.8 | 29.5 | 59.0 | 2 | 100 | 1.000 | 0.500 io | 0.950 messages |",
        "| ordinary tasks | normal mean | 99 % | normal longest |",
        "1 of 2 gates held; these did not:  | gate | measured | bound |",
        "| artis:latency.max<50 | 59.0 | 50.0 |",
    ] {
        assert!(flat.contains(said), "{said} in\n{text}");
    }
    // What no row has takes no column, and a gate that is held no line.
    assert!(!text.contains("kernel max"), "{text}");
    assert!(!text.contains("1.2*isolcpus"), "{text}");
    let common = common(&usual).replace('\n', " ");
    let said =
        "RT0 every 1003 us, at every place of the tick; control groups as systemd makes them";
    assert!(common.contains(said), "{common}");
}

#[test]
fn leaks_are_a_column_only_where_there_are_some() {
    let (mut experiment, _) = measured();
    let usual = Usual::of([&experiment]);
    experiment.rows[2].figures.leaks = Some(0);
    let text = part("some", &experiment, &[], &usual);
    assert!(text.contains("virtual s; no leaks."), "{text}");
    assert!(!text.contains("gates"), "{text}");
    experiment.rows[2].figures.leaks = Some(3);
    let text = part("some", &experiment, &[], &usual);
    assert!(
        text.contains("| leaks |") && text.contains("; leaks: 3."),
        "{text}"
    );
}

#[test]
fn gates_that_are_all_held_take_a_line() {
    let (experiment, verdicts) = measured();
    let text = part("some", &experiment, &verdicts[..1], &Usual::default());
    assert!(text.ends_with("|\n\n1 of 1 gates held.\n\n"), "{text}");
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
