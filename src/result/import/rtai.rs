// SPDX-License-Identifier: GPL-2.0-only
//! What `latency` of RTAI's test suite prints while it measures, in user space and in the kernel.
//!
//! Lines begin with their kind: `RTH` the heads of the columns, `RTD` one interval of a second
//! (minimum, minimum so far, average, maximum, maximum so far, overruns so far), all in whole
//! nanoseconds. There is no histogram, so nothing is known of a single sample: the lines become
//! `interval_min`, `interval_mean` and `interval_max`, one value an interval. Where the settings
//! show how many samples an interval has (its length by the period), count, extremes and mean of
//! all samples are the series `latency`, without percentiles.

use super::text::{self, lines, number};
use super::xenomai::{INTERVALS, ascending, figures};
use super::{Importer, Refusal, TimeUnit, document};
use crate::{Distribution, Document, Kind, Series, Unit};

pub struct Rtai;

impl Importer for Rtai {
    fn name(&self) -> &'static str {
        "rtai"
    }

    fn recognises(&self, head: &str) -> bool {
        // Xenomai's columns have no extremes so far.
        head.lines()
            .any(|line| line.starts_with("RTH|") && line.contains("ovl m"))
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["RTH|"]
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let mut intervals: [Distribution; 3] = std::array::from_fn(|_| Distribution::signed());
        let (mut overruns, mut period_ns, mut interval_s): (u64, Option<u64>, Option<u64>) =
            (0, None, None);
        let setting = |line, words: &str, what| -> Result<u64, Refusal> {
            number(line, words.split(' ').next().unwrap_or(words), what)
        };
        for (line, text) in lines(content) {
            if let Some(fields) = text.strip_prefix("RTD|") {
                let [min, min_so_far, mean, max, max_so_far, overrun] = figures::<6>(line, fields)?;
                let ns = |word: &str, what| number::<i64>(line, word.trim(), what);
                let values = [
                    ns(min, "lat min")?,
                    ns(mean, "lat avg")?,
                    ns(max, "lat max")?,
                ];
                ascending(line, values)?;
                let [least, most] = [ns(min_so_far, "ovl min")?, ns(max_so_far, "ovl max")?];
                if least > values[0] || most < values[2] {
                    let reason = "an extreme so far lies within the interval's own";
                    return Err(Refusal::line(line, reason));
                }
                for (distribution, value) in intervals.iter_mut().zip(values) {
                    distribution.record(value);
                }
                let so_far = number(line, overrun.trim(), "the overruns")?;
                if so_far < overruns {
                    let reason = "fewer overruns than before; are these two runs?";
                    return Err(Refusal::line(line, reason));
                }
                overruns = so_far;
            } else if let Some(words) = text.strip_prefix("# period = ") {
                period_ns = Some(setting(line, words, "the period")?);
            } else if let Some(words) = text.strip_prefix("# average time = ") {
                interval_s = Some(setting(line, words, "the average time")?);
            }
        }
        if intervals[0].count() == 0 {
            let reason = "no RTD lines, so there are no figures; let it run longer";
            return Err(Refusal::line(text::last_line(content), reason));
        }
        let samples = period_ns.zip(interval_s).and_then(|(period_ns, seconds)| {
            let each = seconds.checked_mul(1_000_000_000)?.checked_div(period_ns)?;
            each.checked_mul(intervals[0].count())
        });
        let all = samples.map(|count| -> Result<Distribution, Refusal> {
            let extreme =
                |of: &Distribution| of.moments().map(|moments| (moments.min, moments.max));
            let [min, _, max] = [0, 1, 2].map(|at| extreme(&intervals[at]).unwrap_or_default());
            let mean = intervals[1].moments().map_or(0.0, |moments| moments.mean);
            Distribution::summary(count, min.0, mean, max.1)
                .map_err(|error| Refusal::line(text::last_line(content), error.to_string()))
        });
        let all = all.transpose()?;
        let mut document = document("RTAI latency".to_owned(), Vec::new(), Vec::new());
        let all = all.map(|all| ("latency", all)).into_iter();
        for (name, values) in all.chain(INTERVALS.into_iter().zip(intervals)) {
            let series = Series::new(name, Kind::Latency, Unit::Nanoseconds, values);
            document.series.push(series);
        }
        // Of all samples, which the last series stands for where the first cannot.
        let of_all = document.series.iter().position(|one| one.name == "latency");
        let of_all = of_all.unwrap_or(document.series.len() - 1);
        document.series[of_all].missed = Some(overruns);
        if let Some(ns) = period_ns {
            let us = serde_json::Value::from(ns as f64 / 1000.0);
            document.setup.options.insert("interval_us".to_owned(), us);
        }
        Ok(document)
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::refused_at;
    use super::*;

    const FILE: &str = "\
## RTAI latency calibration tool ##
# period = 100000 (ns)
# average time = 1 (s)
# use the FPU
RTAI Testsuite - USER latency (all data in nanoseconds)
RTH|    lat min|    ovl min|    lat avg|    lat max|    ovl max|   overruns
RTD|      -1571|      -1571|       1622|       8446|       8446|          0
RTD|      -1558|      -1571|       1607|       7704|       8446|          1
";

    #[test]
    fn each_interval_is_a_value_of_three_series() {
        let document = Rtai.read(FILE.as_bytes(), None).unwrap();
        let extremes = document.series.iter().map(|series| {
            let moments = series.distribution.moments().unwrap();
            (series.name.as_str(), moments.min, moments.max)
        });
        assert_eq!(
            extremes.collect::<Vec<_>>(),
            [
                ("latency", -1571, 8446),
                ("interval_min", -1571, -1558),
                ("interval_mean", 1607, 1622),
                ("interval_max", 7704, 8446)
            ]
        );
        assert_eq!(document.series[0].distribution.count(), 20_000);
        assert_eq!(document.series[0].distribution.percentile(50.0), None);
        assert_eq!(document.series[0].missed, Some(1));
        assert_eq!(document.setup.options["interval_us"], 100.0);
        assert!(Rtai.recognises(FILE));
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let refused = |from, to| refused_at(&Rtai, FILE, from, to);
        assert_eq!(refused("= 100000", "= x").0, 2);
        assert_eq!(refused("       1622", "       16x2").0, 7);
        assert_eq!(
            refused("       1622|       8446", "       1622|       1446").0,
            7
        );
        assert_eq!(
            refused("       8446|          1", "       7446|          1").0,
            8
        );
        assert_eq!(refused("|          0\n", "|          2\n").0, 8);
        assert_eq!(refused("|          1\n", "\n").0, 8);
        let heads = FILE.split("RTD").next().unwrap();
        let none = Rtai.read(heads.as_bytes(), None).unwrap_err();
        assert!(none.reason.contains("no RTD lines"), "{}", none.reason);
    }
}
