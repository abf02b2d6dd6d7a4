// SPDX-License-Identifier: GPL-2.0-only
//! What speaks against real time on a machine: all of it, or one screen.

use super::facts;
use super::paragraph::Layout;
use artis_check::{Finding, Report, Severity};

const WIDTH: usize = 100;

const FACT: Layout = Layout {
    margin: 2,
    indent: 22,
    width: WIDTH,
};

const FINDING: Layout = Layout {
    margin: 4,
    indent: 15,
    width: WIDTH,
};

/// How each severity is headed, the gravest first.
const TITLES: [(Severity, &str); 3] = [
    (Severity::Breaks, "breaks real time"),
    (Severity::Worsens, "worsens the worst case"),
    (Severity::Notice, "worth knowing"),
];

/// All of it: the verdict, every finding, the principles and the facts.
pub fn in_words(report: &Report) -> String {
    let mut text = verdict(report);
    for (severity, title) in TITLES {
        if report.count(severity) > 0 {
            text += &format!("\n{title}:\n");
        }
        text.extend(of(report, severity).map(finding_in_words));
    }
    text += "\nreal time or real fast? (McKenney's six principles)\n";
    for principle in &report.principles {
        let number = format!("{}.", principle.number);
        text += &NUMBERED.paragraph(&number, principle.question);
        text += &NUMBERED.paragraph("", &principle.here);
    }
    text += "\nfacts\n";
    for (name, value, from) in facts::in_words(&report.facts) {
        text += &FACT.paragraph(name, &format!("{value} [{from}]"));
    }
    text
}

/// One screen: the findings that break real time, and the names of the others.
pub fn in_brief(report: &Report) -> String {
    let mut text = verdict(report);
    for finding in of(report, Severity::Breaks) {
        text += &format!("\n{}\n", finding.id);
        text += &BRIEF.paragraph("seen", &finding.seen);
        text += &BRIEF.paragraph("fix", finding.fix.as_deref().unwrap_or_default());
    }
    for (severity, title) in &TITLES[1..] {
        let mut names: Vec<&str> = of(report, *severity).map(|one| one.id).collect();
        names.dedup();
        if !names.is_empty() {
            text += &format!("\n{title}\n");
            text += &NAMES.paragraph("", &names.join(", "));
        }
    }
    text + "\n`artis check` without --brief gives reasons, fixes and facts\n"
}

fn of(report: &Report, severity: Severity) -> impl Iterator<Item = &Finding> {
    let findings = report.findings.iter();
    findings.filter(move |one| one.severity == severity)
}

const BRIEF_WIDTH: usize = 80;

const BRIEF: Layout = Layout {
    margin: 2,
    indent: 8,
    width: BRIEF_WIDTH,
};

const NAMES: Layout = Layout {
    margin: 0,
    indent: 2,
    width: BRIEF_WIDTH,
};

const NUMBERED: Layout = Layout {
    margin: 2,
    indent: 5,
    width: WIDTH,
};

fn finding_in_words(finding: &Finding) -> String {
    let mut text = FINDING.paragraph("seen", &format!("{} [{}]", finding.seen, finding.evidence));
    text += &FINDING.paragraph("why", &format!("{} ({})", finding.why, finding.source));
    text += &FINDING.paragraph("fix", finding.fix.as_deref().unwrap_or_default());
    if !finding.partition_fixes.is_empty() {
        let fixes = format!("fixes it: {}", finding.partition_fixes.join(", "));
        text += &FINDING.paragraph("partition", &fixes);
    }
    format!("\n  {}\n{text}", finding.id)
}

/// Fit or not, and which CPUs that is about.
fn verdict(report: &Report) -> String {
    let count = |severity, one: &str, many: &str| match report.count(severity) {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    };
    let fit = match report.count(Severity::Breaks) {
        0 => "fit",
        _ => "not fit",
    };
    format!(
        "{fit} for real time: {}, {} it, {}\n{} ({})\n",
        count(Severity::Breaks, "finding breaks it", "findings break it"),
        count(Severity::Worsens, "worsens", "worsen"),
        count(Severity::Notice, "notice", "notices"),
        report.subject.cpus.in_words(),
        report.subject.chosen_by,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_check::Subject;
    use artis_machine::Root;
    use artis_machine::facts::Facts;

    fn report() -> Report {
        let facts = Facts::read(&Root::default());
        let subject = Subject::choose(&facts, None, None);
        Report::new(facts, subject)
    }

    #[test]
    fn this_machine_is_described_within_the_width() {
        let text = in_words(&report());
        for line in text.lines() {
            let one_word = line.split_whitespace().count() == 1;
            assert!(line.chars().count() <= WIDTH || one_word, "{line}");
        }
        let verdict = text.lines().next().unwrap();
        assert!(verdict.contains("fit for real time: "), "{verdict}");
        assert!(text.contains("six principles"));
    }

    #[test]
    fn a_fact_without_a_source_is_not_shown() {
        let facts = Facts::read(&Root("/no/such/machine".into()));
        let shown = facts::in_words(&facts);
        for absent in ["SMIs", "governors", "watchdogs", "default affinity"] {
            assert!(!shown.iter().any(|(name, ..)| *name == absent), "{absent}");
        }
    }
}
