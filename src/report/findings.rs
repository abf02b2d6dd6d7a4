// SPDX-License-Identifier: GPL-2.0-only
//! What speaks against real time on a machine: all of it, or one screen.

use super::facts;
use super::paragraph::Layout;
use artis_check::{Finding, Report, Severity};

/// How each part of the text is laid out.
struct Layouts {
    finding: Layout,
    brief: Layout,
    names: Layout,
    numbered: Layout,
    fact: Layout,
    subject: Layout,
}

impl Layouts {
    fn of(width: usize) -> Self {
        let layout = |margin, indent| Layout {
            margin,
            indent,
            width,
        };
        Self {
            finding: layout(4, 15),
            brief: layout(2, 8),
            names: layout(0, 2),
            numbered: layout(2, 5),
            fact: layout(2, 22),
            subject: layout(0, 0),
        }
    }
}

/// How each severity is headed, the gravest first.
const TITLES: [(Severity, &str); 3] = [
    (Severity::Breaks, "breaks real time"),
    (Severity::Worsens, "worsens the worst case"),
    (Severity::Notice, "worth knowing"),
];

/// All of it: the verdict, every finding, the principles and the facts, on lines of `width`
/// columns.
pub fn in_words(report: &Report, width: usize) -> String {
    let layouts = Layouts::of(width);
    let mut text = verdict(report, &layouts);
    for (severity, title) in TITLES {
        if report.count(severity) > 0 {
            text += &format!("\n{title}:\n");
        }
        text.extend(of(report, severity).map(|one| finding_in_words(one, &layouts)));
    }
    text += "\nreal time or real fast? (McKenney's six principles)\n";
    for principle in &report.principles {
        let number = format!("{}.", principle.number);
        text += &layouts.numbered.paragraph(&number, principle.question);
        text += &layouts.numbered.paragraph("", &principle.here);
    }
    text += "\nfacts\n";
    for (name, value, from) in facts::in_words(&report.facts) {
        text += &layouts.fact.paragraph(name, &format!("{value} [{from}]"));
    }
    text
}

/// One screen: the findings that break real time, and the names of the others.
pub fn in_brief(report: &Report, width: usize) -> String {
    let layouts = Layouts::of(width);
    let mut text = verdict(report, &layouts);
    for finding in of(report, Severity::Breaks) {
        text += &format!("\n{}\n", finding.id);
        text += &layouts.brief.paragraph("seen", &finding.seen);
        text += &layouts
            .brief
            .paragraph("fix", finding.fix.as_deref().unwrap_or_default());
    }
    for (severity, title) in &TITLES[1..] {
        let mut names: Vec<&str> = of(report, *severity).map(|one| one.id).collect();
        names.dedup();
        if !names.is_empty() {
            text += &format!("\n{title}\n");
            text += &layouts.names.paragraph("", &names.join(", "));
        }
    }
    text + "\n`artis check` without --brief gives reasons, fixes and facts\n"
}

fn of(report: &Report, severity: Severity) -> impl Iterator<Item = &Finding> {
    let findings = report.findings.iter();
    findings.filter(move |one| one.severity == severity)
}

fn finding_in_words(finding: &Finding, layouts: &Layouts) -> String {
    let mut text = layouts
        .finding
        .paragraph("seen", &format!("{} [{}]", finding.seen, finding.evidence));
    text += &layouts
        .finding
        .paragraph("why", &format!("{} ({})", finding.why, finding.source));
    text += &layouts
        .finding
        .paragraph("fix", finding.fix.as_deref().unwrap_or_default());
    if !finding.partition_fixes.is_empty() {
        let fixes = format!("fixes it: {}", finding.partition_fixes.join(", "));
        text += &layouts.finding.paragraph("partition", &fixes);
    }
    format!("\n  {}\n{text}", finding.id)
}

/// Fit or not, and which CPUs that is about.
fn verdict(report: &Report, layouts: &Layouts) -> String {
    let count = |severity, one: &str, many: &str| match report.count(severity) {
        1 => format!("1 {one}"),
        number => format!("{number} {many}"),
    };
    let fit = match report.count(Severity::Breaks) {
        0 => "fit",
        _ => "not fit",
    };
    let found = format!(
        "{fit} for real time: {}, {} it, {}",
        count(Severity::Breaks, "finding breaks it", "findings break it"),
        count(Severity::Worsens, "worsens", "worsen"),
        count(Severity::Notice, "notice", "notices"),
    );
    let (cpus, chosen_by) = (report.subject.cpus.in_words(), report.subject.chosen_by);
    let about = format!("{cpus} ({chosen_by})");
    layouts.subject.paragraph("", &found) + &layouts.subject.paragraph("", &about)
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
        for width in [60, 80, 100] {
            let report = report();
            let text = in_words(&report, width) + &in_brief(&report, width);
            for line in text.lines() {
                // A path is not broken; the widest indent is 22.
                let longest = line.split_whitespace().map(str::len).max();
                let is_path = longest.is_some_and(|longest| longest + 22 > width);
                assert!(line.chars().count() <= width || is_path, "{line}");
            }
        }
        let text = in_words(&report(), 80);
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
