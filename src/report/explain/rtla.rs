// SPDX-License-Identifier: GPL-2.0-only
//! rtla's analysis of late wakeups in words: its parts, with the lanes of artis where they are
//! sure, and what no part accounts for.

use super::{TEXT, short, us};
use crate::words::plain;
use artis_explain::rtla::{Analysis, Part};

/// All analyses of a file, one below the other.
pub fn text(all: &[Analysis]) -> String {
    let each: Vec<String> = all.iter().map(table).collect();
    each.join("\n")
}

/// In one sentence: how late, and what took most of it.
pub fn sentence(one: &Analysis) -> String {
    let mut words = format!(
        "CPU {}: the {} was {:.2} us late",
        one.cpu,
        if one.is_irq { "interrupt" } else { "thread" },
        us(one.latency_ns)
    );
    let Some(worst) = one.worst() else {
        return words;
    };
    let culprits: Vec<String> = worst.culprits.iter().map(|(name, _)| plain(name)).collect();
    let part = match worst.ns {
        Some(ns) => format!("{:.2} us of it: ", us(ns)),
        None => String::new(),
    };
    words += &format!("; {part}{}", worst.name.to_lowercase());
    if !culprits.is_empty() {
        words += &format!(" {}", culprits.join(", "));
    }
    words
}

fn table(one: &Analysis) -> String {
    let mut text = TEXT.paragraph("", &format!("rtla: {}", sentence(one)));
    text = text.trim_start().to_owned();
    for part in &one.parts {
        text += &row(one, part);
    }
    for function in &one.stack {
        text += &format!("{:35}in {}\n", "", plain(function));
    }
    text += &match one.rest_ns() {
        Some(0) => String::new(),
        Some(rest) => line(one, Some(rest), "unknown", "in no part of rtla's"),
        None => "  rtla's parts are more than the whole: some are counted twice\n".to_owned(),
    };
    text + &line(one, Some(one.latency_ns), "in all", "")
}

fn row(one: &Analysis, part: &Part) -> String {
    let lane = part
        .lane
        .map_or_else(|| "-".to_owned(), |lane| lane.to_string());
    let mut text = line(one, part.ns, &lane, part.name);
    for (name, ns) in &part.culprits {
        let ns = ns.map_or(String::new(), |ns| format!("{:.2}", us(ns)));
        text += &format!("{:35}{:28} {ns:>9}\n", "", short(name, 28));
    }
    text
}

/// A time with its share, a lane and what rtla calls it.
fn line(one: &Analysis, ns: Option<u64>, lane: &str, name: &str) -> String {
    let (time, share) = match ns {
        Some(ns) => {
            let share = 100.0 * ns as f64 / one.latency_ns.max(1) as f64;
            (format!("{:.2}", us(ns)), format!("{share:.1} %"))
        }
        None => ("-".to_owned(), String::new()),
    };
    let text = format!("{time:>10} {share:>7} {lane:15} {name}");
    format!("{}\n", text.trim_end())
}

#[cfg(test)]
mod tests {

    #[test]
    fn parts_and_rest_are_the_whole() {
        let text = "## CPU 3 hit stop tracing, analyzing it ##\n  \
            Blocking thread:      371.00 us (89.40 %)\n      backup:912     371.00 us\n    \
            Blocking thread stack trace\n      -> copy_page_range\n  \
            Thread latency:       415.00 us (100%)\n";
        let all = artis_explain::rtla::read(text).unwrap();
        assert_eq!(
            super::text(&all),
            "\
rtla: CPU 3: the thread was 415.00 us late; 371.00 us of it: blocking thread
  backup/912
    371.00  89.4 % -               Blocking thread
                                   backup/912                      371.00
                                   in copy_page_range
     44.00  10.6 % unknown         in no part of rtla's
    415.00 100.0 % in all
"
        );
    }
}
