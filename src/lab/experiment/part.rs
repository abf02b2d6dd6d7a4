// SPDX-License-Identifier: GPL-2.0-only
//! Samples as lines of text: what a machine that measured a part of an experiment hands on.

use super::caches::Seen;
use super::plan::Experiment;
use super::run::Measured;
use super::store::Kept;
use artis_guest::experiment::Sample;
use serde::{Deserialize, Serialize};

/// A sample. How long it took is not in it: it is the same wherever it was measured.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    /// For people.
    guest: String,
    fingerprint: String,
    kernel: String,
    engine_version: String,
    sample: Sample,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    caches: Option<Seen>,
}

/// The line of a sample, a JSON object.
///
/// # Errors
/// None is known.
pub fn line(experiment: &Experiment, measured: &Measured) -> serde_json::Result<String> {
    let Measured {
        run,
        kept,
        fingerprint,
    } = measured;
    serde_json::to_string(&Line {
        guest: experiment.guest_name(run),
        fingerprint: fingerprint.clone(),
        kernel: kept.kernel.clone(),
        engine_version: kept.engine_version.clone(),
        sample: kept.sample.clone(),
        caches: kept.caches,
    })
}

/// Every sample of an experiment, from its lines in their order.
///
/// # Errors
/// In words: the lines are not of this experiment.
pub fn measured(experiment: &Experiment, lines: &[String]) -> Result<Vec<Measured>, String> {
    let runs = experiment.runs();
    if runs.len() != lines.len() {
        let (guests, samples) = (runs.len(), lines.len());
        return Err(format!(
            "the experiment has {guests} guests, and its parts have {samples}; give the file and \
             the --only that they were made with"
        ));
    }
    let pairs = runs.into_iter().zip(lines);
    let both = pairs.enumerate().map(|(number, (run, line))| {
        let line: Line = serde_json::from_str(line)
            .map_err(|error| format!("sample {number} is damaged: {error}"))?;
        let guest = experiment.guest_name(&run);
        if line.guest != guest {
            return Err(format!(
                "sample {number} is of {}, and the experiment has {guest} there; give the file \
                 and the --only that the parts were made with",
                line.guest
            ));
        }
        Ok(Measured {
            run,
            kept: Kept {
                sample: line.sample,
                kernel: line.kernel,
                engine_version: line.engine_version,
                host_seconds: 0.0,
                caches: line.caches,
            },
            fingerprint: line.fingerprint,
        })
    });
    both.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::distribution::Distro;
    use crate::engine::fake::{Behaviour, Fake};
    use crate::experiment::rows::document;
    use crate::experiment::run::{Part, run_part};
    use crate::experiment::tests::{Lab, experiment, sample};
    use crate::progress::Silent;
    use artis_result::{Distribution, Kind, Series, Unit};

    /// A guest whose figures depend on its configuration and seed alone, as those of real ones.
    fn engine() -> Fake {
        Fake::new(|_| {
            let mut values = Distribution::new();
            values.record(50_001);
            let latency = Series::new("user_latency", Kind::Latency, Unit::Nanoseconds, values);
            let sample = Sample {
                window_ns: 7,
                series: vec![latency],
                ..Sample::default()
            };
            Behaviour::Ends(serde_json::to_string(&sample).unwrap(), 0)
        })
    }

    /// What the second or first half of the guests gives on this machine.
    fn half(lab: &Lab, engine: &Fake, odd: usize) -> Part {
        let options = lab.options(engine);
        let has = |place| place % 2 == odd;
        run_part(&experiment(), &lab.kernels, &options, &has, &mut Silent).unwrap()
    }

    #[test]
    fn parts_of_two_machines_are_the_whole_to_the_byte() {
        let experiment = experiment();
        let all = Lab::new().run(&engine()).unwrap();
        let [one, two] = [0, 1].map(|odd| {
            let engine = engine();
            let part = half(&Lab::new(), &engine, odd);
            assert_eq!((part.of, part.measured.len(), engine.boots()), (4, 2, 2));
            part
        });
        assert_eq!(one.whole, two.whole);
        let mut both = one.measured;
        both.extend(two.measured);
        let text = |measured: &Measured| line(&experiment, measured).unwrap();
        let lines: Vec<String> = both.values().map(text).collect();
        let direct: Vec<String> = all.iter().map(text).collect();
        assert_eq!(lines, direct);
        let merged = document(&experiment, &measured(&experiment, &lines).unwrap());
        let json = |document| serde_json::to_string(document).unwrap();
        assert_eq!(json(&merged), json(&document(&experiment, &all)));
    }

    #[test]
    fn a_cache_is_of_any_machine() {
        let (here, there) = (Lab::new(), Lab::new());
        let engine = Fake::new(sample);
        half(&here, &engine, 0);
        half(&there, &engine, 1);
        // The samples of the other machine, copied or on a shared disk.
        let [from, to] = [&there, &here].map(|lab| lab.kernels.cache().folder("samples").unwrap());
        for file in std::fs::read_dir(from).unwrap().flatten() {
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
        here.run(&engine).unwrap();
        assert_eq!(engine.boots(), 4);
    }

    #[test]
    fn lines_of_another_experiment_are_refused() {
        let one = experiment();
        let mut lines: Vec<String> = (Lab::new().run(&engine()).unwrap().iter())
            .map(|measured| line(&one, measured).unwrap())
            .collect();
        let mut other = experiment();
        other.keep_only(&["full".to_owned()]).unwrap();
        let said = measured(&other, &lines).unwrap_err();
        assert!(said.contains("has 2 guests"), "{said}");
        lines.swap(0, 1);
        let said = measured(&one, &lines).unwrap_err();
        assert!(
            said.contains("the experiment has lazy, 2 CPUs, seed 1"),
            "{said}"
        );
    }
}
