// SPDX-License-Identifier: GPL-2.0-only
//! What `artis decide --measure` is going to do, before it does it.

use crate::comparison::WIDTH;
use crate::paragraph::{Layout, TITLED};
use crate::words::plain;
use artis_field::clean::before::{Seen, State};
use humantime::format_duration;
use std::time::Duration;

/// A configuration.
pub struct Configuration<'a> {
    pub name: &'a str,
    /// What makes it.
    pub how: &'a str,
    /// How many settings that changes, where it is known.
    pub changes: Option<usize>,
    /// Runs that are there: those that count, and those that do not.
    pub done: usize,
    pub left_out: usize,
    /// Runs to come; or why there can be none.
    pub missing: Result<u32, &'a str>,
}

/// All of it.
pub struct Outline<'a> {
    pub rt: u32,
    pub load: &'a str,
    pub run: Duration,
    pub time: Duration,
    pub boot: &'a str,
    pub cpu_model: Option<&'a str>,
    pub folder: Option<&'a str>,
    pub configurations: Vec<Configuration<'a>>,
    pub seen: &'a [Seen],
    pub interrupted: Option<&'a str>,
    pub damaged: &'a [String],
}

const CONFIGURATION: Layout = Layout {
    margin: 2,
    indent: 12,
    width: WIDTH,
};
const SEEN: Layout = Layout {
    margin: 2,
    indent: 22,
    width: WIDTH,
};

/// The plan in words.
pub fn plan(of: &Outline) -> String {
    let runs: u32 = of
        .configurations
        .iter()
        .map(|one| one.missing.unwrap_or(0))
        .sum();
    let whole = |time: Duration| format_duration(Duration::from_secs(time.as_secs())).to_string();
    let plan = match runs {
        0 => "nothing is left to measure".to_owned(),
        _ => format!(
            "{runs} runs of {}, in turn; about {}",
            format_duration(of.run),
            whole(of.time)
        ),
    };
    let mut text = TITLED.paragraph("plan", &plan);
    let model = of.cpu_model.unwrap_or("unknown CPU");
    let machine = format!("{model}; kernel {}; CPU {} for real time", of.boot, of.rt);
    text += &TITLED.paragraph("machine", &machine);
    text += &TITLED.paragraph("load", of.load);
    let kept = match of.folder {
        Some(folder) => format!(
            "{}: the same command goes on there after any interruption, and on another kernel adds \
             its columns",
            plain(folder)
        ),
        None => {
            "only until the answer; --keep DIR keeps the runs, and goes on after an interruption"
                .to_owned()
        }
    };
    text += &TITLED.paragraph("kept", &kept);
    if let Some(way) = of.interrupted {
        let words = format!("the last time in {way}; what is left of it is taken back first");
        text += &TITLED.paragraph("ended", &words);
    }
    for damaged in of.damaged {
        text += &TITLED.paragraph("damaged", damaged);
    }
    text += &TITLED.paragraph(
        "back",
        "each change is taken back after its run, also after Ctrl-C and kill -9; a power cut ends \
         them all",
    );
    text += "\nConfigurations\n";
    for one in &of.configurations {
        text += &CONFIGURATION.paragraph(one.name, &configuration(one));
    }
    text += "\nBefore it is measured\n";
    for seen in of.seen {
        let mark = match seen.state {
            State::Doubt => "! ",
            State::Fine | State::Unknown => "",
        };
        let fix = match (&seen.fix, seen.state) {
            (Some(fix), State::Doubt | State::Unknown) => format!("; {fix}"),
            _ => String::new(),
        };
        text += &SEEN.paragraph(seen.about, &format!("{mark}{}{fix}", seen.words));
    }
    text
}

fn configuration(one: &Configuration) -> String {
    let missing = match one.missing {
        Err(why) => return format!("not possible: {why}"),
        Ok(missing) => missing,
    };
    let mut parts = vec![one.how.to_owned()];
    match one.changes {
        Some(0) | None => {}
        Some(changes) => parts.push(format!("changes {changes} settings")),
    }
    parts.push(match (one.done, missing) {
        (0, missing) => format!("{missing} runs"),
        (done, 0) => format!("all {done} runs are there"),
        (done, missing) => {
            let all = done.saturating_add(missing as usize);
            format!("{done} of {all} runs are there")
        }
    });
    if one.left_out > 0 {
        parts.push(format!("{} more do not count", one.left_out));
    }
    parts.join("; ")
}
