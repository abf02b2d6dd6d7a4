// SPDX-License-Identifier: GPL-2.0-only
//! Tests of the decision in words.

use super::*;
use artis_decide::verdict::{Candidate, Facts, Question, verdict};
use artis_testing::experiment::of_rows;

#[test]
fn every_line_fits_80_columns_and_says_what_is_emulated() {
    let rows: [(&str, &[f64]); 1] = [("stock-with-a-very-long-name-indeed", &[1e9, 2e9])];
    let candidates = Candidate::of_experiment(&of_rows(&rows)).unwrap();
    let facts = Facts::new(candidates).unwrap();
    let job = "[activation]\ndeadline = \"1ms\"\nwork = \"10us\"\nperiod = \"10ms\"";
    let question = Question::new(Job::parse(job).unwrap(), None).unwrap();
    let text = text(&verdict(&question, &facts).unwrap(), &[]);
    let long: Vec<&str> = text
        .lines()
        .filter(|line| line.chars().count() > WIDTH)
        .collect();
    assert!(long.is_empty(), "{long:?}");
    assert!(text.contains("the facts are an emulator's"), "{text}");
    assert!(text.contains("PREEMPT_RT were not measured"), "{text}");
}

#[test]
fn a_command_can_be_copied_from_several_lines() {
    let words = format!("sudo artis decide {}--measure", "--option value ".repeat(6));
    let text = command("type", &words);
    let lines: Vec<&str> = text.lines().collect();
    let (last, first) = lines.split_last().unwrap();
    assert!(
        first.len() == 1 && first.iter().all(|line| line.ends_with(" \\")),
        "{text}"
    );
    assert!(last.ends_with("--measure"), "{text}");
    assert!(
        lines.iter().all(|line| line.chars().count() <= WIDTH),
        "{text}"
    );
}
