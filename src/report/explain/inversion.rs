// SPDX-License-Identifier: GPL-2.0-only
//! `artis demo inversion`: how long the high thread waited, and for whom.

use super::{losses, us};
use artis_explain::Document;

/// Without and with inheritance: the waits of all rounds, and the explanation of the longest.
pub fn text(tried: &[(&[u64], &Document)]) -> String {
    let mut text = format!(
        "{:30} {:>6} {:>11} {:>11} {:>11}\n",
        "us that high waits", "rounds", "min", "mean", "max"
    );
    let titles = ["without priority inheritance", "with priority inheritance"];
    for ((waits, _), title) in tried.iter().zip(titles) {
        if waits.is_empty() {
            text += &format!("{title:30} {:>6}\n", 0);
            continue;
        }
        let sum: u64 = waits.iter().sum();
        text += &format!(
            "{title:30} {:>6} {:>11.3} {:>11.3} {:>11.3}\n",
            waits.len(),
            us(waits.iter().copied().min().unwrap_or(0)),
            us(sum) / waits.len() as f64,
            us(waits.iter().copied().max().unwrap_or(0)),
        );
    }
    for ((_, document), title) in tried.iter().zip(titles) {
        text += &format!("\n{title}, the longest:\n");
        match document.worst.first() {
            Some(explained) => text += &losses::table(1, explained),
            None => text += "it was not recorded\n",
        }
    }
    text
}
