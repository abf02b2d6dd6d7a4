// SPDX-License-Identifier: GPL-2.0-only
//! Many machines beside each other, in words.

use super::WORDS;
use crate::columns::{Columns, Side};
use crate::comparison::WIDTH;
use crate::words::plain;
use artis_field::join::Joined;

/// So many of each kind are printed.
const SHOWN: usize = 20;

/// The table of the configurations, and what stands out.
pub fn joined(of: &Joined) -> String {
    let mut table = Columns::new([
        ("", Side::Left),
        ("machines", Side::Right),
        ("runs", Side::Right),
        ("not counted", Side::Right),
        ("least", Side::Right),
        ("middle", Side::Right),
        ("largest", Side::Right),
        ("better than stock", Side::Left),
    ]);
    for way in &of.ways {
        let us = |us: f64| format!("{us:.1}");
        let better = way.better_than_stock;
        table.push([
            plain(&way.way),
            way.machines.to_string(),
            way.runs.to_string(),
            way.runs_left_out.to_string(),
            us(way.least),
            us(way.middle),
            us(way.largest),
            better.map_or_else(String::new, |(better, all)| format!("{better} of {all}")),
        ]);
    }
    let mut text = format!(
        "{} machines; the middle of each one's worsts, us\n{}",
        of.machines,
        table.text(WIDTH)
    );
    text += "\nMachines that stand out\n";
    let machines = of.standing_out.iter().map(|one| {
        format!(
            "{}: {:.1} us with {}, {:.1} times the middle of all ({})",
            one.name, one.us, one.way, one.times, one.model
        )
    });
    text += &list(machines.collect(), "none lies far from the others");
    text += "\nKernels and settings that stand out\n";
    let groups = of.groups.iter().map(|one| {
        format!(
            "{} {}: {:.2} times the others with {} ({} machines against {}, p {:.1e})",
            one.what, one.value, one.times, one.way, one.with, one.without, one.p
        )
    });
    let none = match of.questions {
        0 => "unknown: it takes five machines with each and five without".to_owned(),
        count => format!("none of {count} that were asked about"),
    };
    text += &list(groups.collect(), &none);
    let legend = "A machine far from the others lies beyond Tukey's outer fences of the logarithms. \
                  Settings are asked about together (Mann and Whitney, Holm, 5 %). Machines differ \
                  in more than one thing: this names what to try, and proves no cause.";
    text + "\n" + &WORDS.paragraph("", &format!("{legend}{}", unlike(of)))
}

/// What keeps the machines from being compared.
fn unlike(of: &Joined) -> String {
    /// Runs of one length differ by some wakeups.
    const ALIKE: f64 = 1.05;
    let mut text = String::new();
    if let Some((shortest, longest)) = of.seconds.filter(|(one, other)| other / one > ALIKE) {
        text += &format!(
            " Runs are {shortest:.0} s to {longest:.0} s long, and a longer run has a worse worst: \
             compare those of one length."
        );
    }
    if of.loads.len() > 1 {
        let loads: Vec<&str> = of.loads.iter().map(String::as_str).collect();
        text += &format!(" Loads differ: {}.", loads.join("; "));
    }
    text
}

fn list(all: Vec<String>, none: &str) -> String {
    if all.is_empty() {
        return format!("  {none}\n");
    }
    let layout = crate::paragraph::Layout {
        margin: 2,
        indent: 4,
        width: WIDTH,
    };
    let rest = all.len().saturating_sub(SHOWN);
    let shown = all.iter().take(SHOWN);
    let mut text: String = shown.map(|line| layout.paragraph("", line)).collect();
    if rest > 0 {
        text += &format!("  and {rest} more, which --json has\n");
    }
    text
}
