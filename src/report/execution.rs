// SPDX-License-Identifier: GPL-2.0-only
//! How much the time of a fixed piece of work varied, as text.

use super::{loads, us};
use artis_result::names::{EXCESS, EXECUTION_TIME, EXECUTION_TIME_UNLOADED};
use artis_result::{Document, PERCENTILES};
use std::fmt::{Display, Write as _};

/// The table; `what` is the piece of work.
pub fn table(document: &Document, what: &str, cpu: u32, policy: impl Display) -> String {
    let mut text = String::new();
    let of = |name: &str| document.series.iter().find(|series| series.name == name);
    let (Some(time), Some(excess), Some(unloaded)) =
        (of(EXECUTION_TIME), of(EXCESS), of(EXECUTION_TIME_UNLOADED))
    else {
        return text;
    };
    let (Some(moments), Some(before)) = (
        excess.distribution.moments(),
        unloaded.distribution.moments(),
    ) else {
        return text;
    };
    let t_min_us = us(before.min);
    let _ = writeln!(
        text,
        "{what} on CPU {cpu}, {policy}\n\
         Tmin {t_min_us:.3} us, of {} samples before any load\n\
         {} samples in {:.1} s, the longest after {:.2} s, {}\n\n\
         {:8} {:>14} {:>14} {:>10}",
        before.count,
        moments.count,
        document.seconds.unwrap_or(0.0),
        time.max_at_s.unwrap_or(0.0),
        loads::names(document),
        "",
        "time us",
        "excess us",
        "excess %"
    );
    let mut row = |name: &str, excess_ns: i64| {
        let excess_us = us(excess_ns);
        let _ = writeln!(
            text,
            "{name:8} {:14.3} {excess_us:14.3} {:10.3}",
            t_min_us + excess_us,
            excess_us * 100.0 / t_min_us
        );
    };
    row("min", moments.min);
    row("mean", moments.mean.round() as i64);
    for (name, percent) in PERCENTILES {
        if let Some(value) = excess.distribution.supported_percentile(percent) {
            row(&format!("{name} %"), value);
        }
    }
    row("max", moments.max);
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::document_of;
    use super::*;

    #[test]
    fn the_table_gives_the_excess_in_us_and_per_cent() {
        let all: [(&str, &[i64]); 3] = [
            (EXECUTION_TIME, &[1_000_500, 1_020_600]),
            (EXCESS, &[500, 20_600]),
            (EXECUTION_TIME_UNLOADED, &[1_000_000]),
        ];
        let document = document_of(1.0, &all);
        let text = table(&document, "10 steps", 1, "FIFO 98");
        let row = |name: &str| {
            let line = text.lines().find(|line| line.starts_with(name)).unwrap();
            line.split_whitespace().skip(1).collect::<Vec<_>>()
        };
        assert_eq!(row("max"), ["1020.600", "20.600", "2.060"]);
        assert_eq!(row("min"), ["1000.500", "0.500", "0.050"]);
        assert!(text.contains("50 %") && !text.contains("90 %"), "{text}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }
}
