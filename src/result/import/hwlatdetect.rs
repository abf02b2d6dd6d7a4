// SPDX-License-Identifier: GPL-2.0-only
//! What hwlatdetect of rt-tests prints, and the samples that it writes with `--report`.
//!
//! A kernel thread spins for `width` of each `window` with interrupts off, on one CPU after
//! another, and notes gaps above a threshold: hardware or firmware (SMIs) took the CPU. A sample
//! is a line `ts: TIME, inner:US, outer:US`, since rt-tests 2.5 with `cpu:N`, later also with
//! `delta:` and `count:`, and up to rt-tests 1.0 `SECONDS US US`; it counts as the larger of both
//! gaps. Without a sample nothing was above the threshold. With `rdmsr` SMIs are counted, too.

use super::text::{self, COLUMNS_MAX, lines, number};
use super::{Importer, Refusal, TimeUnit, document};
use crate::{Distribution, Document, Kind, Series, Unit, Warning};
use std::collections::BTreeMap;

pub struct Hwlatdetect;

const NS_PER_US: i64 = 1000;
/// More than any run of it finds.
const GAP_US_MAX: u64 = 1 << 40;

impl Importer for Hwlatdetect {
    fn name(&self) -> &'static str {
        "hwlatdetect"
    }

    fn recognises(&self, head: &str) -> bool {
        let known = |line: &str| line.starts_with("hwlatdetect:") || Sample::begins(line);
        head.lines().any(known)
    }

    fn anchors(&self) -> &'static [&'static str] {
        &["hwlatdetect:", "ts: "]
    }

    fn read(&self, content: &[u8], _: Option<TimeUnit>) -> Result<Document, Refusal> {
        let content = text::text(content)?;
        let run = Run::read(content)?;
        run.check(text::last_line(content))?;
        let mut document = document("hwlatdetect".to_owned(), Vec::new(), Vec::new());
        document.seconds = run.seconds;
        document.audit.push(run.unseen());
        for (name, value) in &run.settings {
            document
                .setup
                .options
                .insert((*name).to_owned(), (*value).into());
        }
        if let Some(cpus) = run.cpus {
            document
                .setup
                .options
                .insert("cpus".to_owned(), cpus.into());
        }
        for (cpu, gaps) in run.gaps() {
            document.series.push(Series {
                cpu,
                ..Series::new("hwlat", Kind::Noise, Unit::Nanoseconds, gaps)
            });
        }
        document.series.extend(run.smis());
        Ok(document)
    }
}

/// A gap that it found.
struct Sample {
    us: u64,
    cpu: Option<u32>,
}

impl Sample {
    fn begins(line: &str) -> bool {
        line.starts_with("ts: ") && line.contains(", inner:") && line.contains(", outer:")
    }

    /// `1252345678.0123456789\t23\t0`, as the kernel module of old gave them; none for another
    /// line.
    fn read_old(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split_whitespace().take(4).collect();
        let (time, gaps) = words.split_first()?;
        let seconds: f64 = time.split_once('.').and(time.parse().ok())?;
        let gaps: Result<Vec<u64>, _> = gaps.iter().map(|word| word.parse()).collect();
        let us = gaps.ok()?.into_iter().max()?;
        (seconds.is_finite() && words.len() <= 3 && us <= GAP_US_MAX)
            .then_some(Self { us, cpu: None })
    }

    /// `ts: 1790000012.100000001, inner:23, outer:0, count:1, cpu:2`
    fn read(line: usize, text: &str) -> Result<Self, Refusal> {
        let field = |name: &str| {
            let mut fields = text.split(", ");
            fields.find_map(|field| field.trim().strip_prefix(name))
        };
        let gap = |name: &str| {
            let word = field(name)
                .ok_or_else(|| Refusal::line(line, format!("no {name:?}; is the line cut off?")))?;
            let us: u64 = number(line, word, name)?;
            match us <= GAP_US_MAX {
                true => Ok(us),
                false => Err(Refusal::line(line, format!("{name}{us} is out of range"))),
            }
        };
        let cpu = field("cpu:").map(|word| number(line, word, "the CPU"));
        Ok(Self {
            us: gap("inner:")?.max(gap("outer:")?),
            cpu: cpu.transpose()?,
        })
    }
}

/// All that it printed.
#[derive(Default)]
struct Run<'a> {
    seconds: Option<f64>,
    cpus: Option<&'a str>,
    /// `threshold_us`, `window_us`, `width_us`.
    settings: BTreeMap<&'static str, u64>,
    samples: Vec<Sample>,
    /// `Max Latency`: 0 is below the threshold.
    max_us: Option<(usize, u64)>,
    recorded: Option<(usize, u64)>,
    smis_of_cpu: BTreeMap<u32, u64>,
    smis: Option<u64>,
    is_whole: bool,
}

impl<'a> Run<'a> {
    fn read(content: &'a str) -> Result<Self, Refusal> {
        let mut run = Self::default();
        for (line, text) in lines(content) {
            let text = text.trim();
            if Sample::begins(text) {
                run.samples.push(Sample::read(line, text)?);
            } else if text == "test finished" {
                run.is_whole = true;
            } else if let (Some(sample), Some(_)) = (Sample::read_old(text), run.recorded) {
                run.samples.push(sample);
            } else if let Some((count, cpu)) = text.split_once(" SMIs occured on cpu ") {
                let cpu: u32 = number(line, cpu, "the CPU")?;
                if cpu as usize >= COLUMNS_MAX {
                    return Err(Refusal::line(line, "no machine has so many CPUs"));
                }
                run.smis_of_cpu
                    .insert(cpu, number(line, count, "the SMIs")?);
            } else if let Some((label, value)) = text.split_once(':') {
                run.line(line, label, value.trim())?;
            }
        }
        Ok(run)
    }

    fn line(&mut self, line: usize, label: &str, value: &'a str) -> Result<(), Refusal> {
        let us = |what| number(line, value.strip_suffix("us").unwrap_or(value), what);
        match label {
            "hwlatdetect" if self.seconds.is_some() => {
                return Err(Refusal::line(line, "a second head; are these two runs?"));
            }
            "hwlatdetect" => {
                let seconds = value.strip_prefix("test duration ");
                let seconds = seconds.and_then(|rest| rest.strip_suffix(" seconds"));
                self.seconds = seconds
                    .map(|word| number::<u32>(line, word, "the duration").map(f64::from))
                    .transpose()?;
            }
            "CPU list" => self.cpus = Some(value).filter(|cpus| *cpus != "None"),
            "Latency threshold" => {
                self.settings.insert("threshold_us", us(label)?);
            }
            "Sample window" => {
                self.settings.insert("window_us", us(label)?);
            }
            "Sample width" => {
                self.settings.insert("width_us", us(label)?);
            }
            "Max Latency" if value == "Below threshold" => self.max_us = Some((line, 0)),
            "Max Latency" => self.max_us = Some((line, us(label)?)),
            "Samples recorded" => self.recorded = Some((line, number(line, value, label)?)),
            "SMIs during run" => self.smis = Some(number(line, value, label)?),
            _ => {}
        }
        Ok(())
    }

    /// Refuses a head without an end, and samples that are not those of the summary.
    fn check(&self, end: usize) -> Result<(), Refusal> {
        let has_head = self.seconds.is_some();
        if has_head && !(self.is_whole && self.recorded.is_some()) {
            return Err(Refusal::line(
                end,
                "no line \"Samples recorded:\" up to here; is the file cut off?",
            ));
        }
        if let Some((line, recorded)) = self.recorded
            && recorded != self.samples.len() as u64
        {
            let reason = match self.samples.len() {
                0 => format!("its {recorded} samples are not here; give the file of its --report"),
                found => format!("{recorded} samples, but {found} are here; is the file cut off?"),
            };
            return Err(Refusal::line(line, reason));
        }
        let found = self
            .samples
            .iter()
            .map(|sample| sample.us)
            .max()
            .unwrap_or(0);
        match self.max_us {
            Some((line, max)) if max != found => {
                let reason = format!("the maximum is {max} us, but that of the samples {found}");
                Err(Refusal::line(line, reason))
            }
            _ => Ok(()),
        }
    }

    /// The gaps of each CPU; of none where there is no gap.
    fn gaps(&self) -> Vec<(Option<u32>, Distribution)> {
        let mut all: BTreeMap<Option<u32>, Distribution> = BTreeMap::new();
        for sample in &self.samples {
            let gaps = all.entry(sample.cpu);
            let gaps = gaps.or_insert_with(|| Distribution::for_multiples(1000, 0, 1 << 50));
            gaps.record(i64::try_from(sample.us).unwrap_or(i64::MAX) * NS_PER_US);
        }
        if all.is_empty() {
            return vec![(None, Distribution::new())];
        }
        all.into_iter().collect()
    }

    /// How many SMIs there were; none where nobody counted.
    fn smis(&self) -> Vec<Series> {
        let series = |cpu, count: u64| {
            let mut values = Distribution::new();
            values.record(i64::try_from(count).unwrap_or(i64::MAX));
            Series {
                cpu,
                ..Series::new("smi", Kind::Count, Unit::Count, values)
            }
        };
        if self.smis_of_cpu.is_empty() {
            return self
                .smis
                .map(|count| series(None, count))
                .into_iter()
                .collect();
        }
        let each = self.smis_of_cpu.iter();
        each.map(|(cpu, count)| series(Some(*cpu), *count))
            .collect()
    }

    /// What it cannot say.
    fn unseen(&self) -> Warning {
        let cpus = match self.cpus {
            Some(cpus) => format!("of CPUs {cpus}"),
            None => "that its thread may use".to_owned(),
        };
        let times = ["width_us", "window_us"].map(|name| self.settings.get(name));
        let part = match times {
            [Some(width), Some(window)] if *window > 0 => {
                format!(
                    ", for {:.0} % of the time",
                    *width as f64 * 100.0 / *window as f64
                )
            }
            _ => ", for a part of the time".to_owned(),
        };
        Warning {
            id: "one_cpu_at_a_time".to_owned(),
            seen: format!("hwlatdetect watched one CPU after the other {cpus}{part}"),
            why: "it says nothing of CPUs that its thread may not use (isolated ones, or those \
                  outside its list), nor of what happened while it was elsewhere"
                .to_owned(),
            fix: Some(
                "name the CPU: hwlatdetect --cpu-list N --width 950ms --window 1s".to_owned(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::refused_at;
    use super::*;

    const FILE: &str = "\
hwlatdetect:  test duration 600 seconds
   detector: tracer
   parameters:
        CPU list:          0-3
        Latency threshold: 10us
        Sample window:     1000000us
        Sample width:      500000us
     Non-sampling period:  500000us
        Output File:       None

Starting test
test finished
Max Latency: 23us
Samples recorded: 3
Samples exceeding threshold: 3
2 SMIs occured on cpu 1
SMIs during run: 2
ts: 1790000012.100000001, inner:23, outer:0, count:1, cpu:2
ts: 1790000112.200000002, inner:0, outer:14, count:1, cpu:2
ts: 1790000212.300000003, inner:11, outer:12, count:2, cpu:3
";

    fn read(content: &str) -> Document {
        assert!(Hwlatdetect.recognises(content));
        Hwlatdetect.read(content.as_bytes(), None).unwrap()
    }

    /// Name, CPU, count and maximum of each series.
    fn figures(document: &Document) -> Vec<(&str, Option<u32>, u64, i64)> {
        let all = document.series.iter().map(|one| {
            let max = one.distribution.moments().map_or(-1, |moments| moments.max);
            (one.name.as_str(), one.cpu, one.distribution.count(), max)
        });
        all.collect()
    }

    #[test]
    fn each_gap_is_a_value_of_its_cpu() {
        let document = read(FILE);
        assert_eq!(
            figures(&document),
            [
                ("hwlat", Some(2), 2, 23_000),
                ("hwlat", Some(3), 1, 12_000),
                ("smi", Some(1), 1, 2)
            ]
        );
        assert_eq!(document.seconds, Some(600.0));
        assert_eq!(document.setup.options["threshold_us"], 10);
        let found = &document.audit[0];
        assert!(found.seen.contains("CPUs 0-3, for 50 %") && found.why.contains("may not use"));
    }

    #[test]
    fn nothing_above_the_threshold_is_a_result() {
        let fine = FILE.split("Max Latency").next().unwrap().to_owned()
            + "Max Latency: Below threshold\nSamples recorded: 0\nSamples exceeding threshold: 0\n";
        assert_eq!(figures(&read(&fine)), [("hwlat", None, 0, -1)]);
    }

    #[test]
    fn a_report_has_samples_alone_and_older_ones_no_cpu() {
        let report = "ts: 1790000012.1, inner:23, outer:0\nts: 1790000112.2, inner:0, outer:14\n";
        assert_eq!(figures(&read(report)), [("hwlat", None, 2, 23_000)]);
        let newer = "ts: 12:00:01, delta:nan, inner:23, outer:0, cpu:5, count:1\n";
        assert_eq!(figures(&read(newer)), [("hwlat", Some(5), 1, 23_000)]);
        let (head, _) = FILE.split_once("2 SMIs").unwrap();
        let old = format!("{head}1252345678.01\t23\t0\n1252345679.01\t3\t14\n1252345680.5\t5\t6\n");
        assert_eq!(figures(&read(&old)), [("hwlat", None, 3, 23_000)]);
    }

    #[test]
    fn damage_is_reported_with_its_line() {
        let refused = |from, to| refused_at(&Hwlatdetect, FILE, from, to);
        assert_eq!(refused("Max Latency: 23us", "Max Latency: 24us").0, 13);
        assert_eq!(refused("recorded: 3", "recorded: 4").0, 14);
        assert_eq!(refused("inner:23", "inner:x").0, 18);
        assert_eq!(refused("cpu:3", "cpu:x").0, 20);
        assert_eq!(refused("600 seconds", "x seconds").0, 1);
        assert!(refused("test finished\n", "").1.contains("cut off"));
        let (head, _) = FILE.split_once("2 SMIs").unwrap();
        let refusal = Hwlatdetect.read(head.as_bytes(), None).unwrap_err();
        assert!(refusal.reason.contains("--report"), "{refusal:?}");
    }
}
