// SPDX-License-Identifier: GPL-2.0-only
//! What is not known and would matter, and what to type to know it.

use super::choice::{Decided, Missing, were};
use super::miss::{self, Meets, SlowdownSource};
use super::{Candidate, Facts, Judged, Origin, Question, Way};
use crate::job::{Job, Work};

/// The words that ask the question again.
#[derive(Clone, Debug, PartialEq)]
pub struct Again {
    /// With the job, and without files: `artis decide job.toml`.
    pub command: String,
    /// Whether `--measure` was among them: what it left out, it cannot measure.
    pub measured: bool,
}

impl Default for Again {
    fn default() -> Self {
        Self {
            command: "artis decide JOB.toml".to_owned(),
            measured: false,
        }
    }
}

impl Again {
    /// The command that measures, with more words.
    fn measure(&self, more: &str) -> String {
        format!("sudo {} --measure{more}", self.command)
    }
}

/// What to type when the answer is unknown.
pub fn next(again: &Again, facts: &Facts, decided: &Decided) -> Option<String> {
    match decided.missing.as_ref()? {
        Missing::Ways(ways) => {
            let [here, there] = by_kernel(again, facts, ways);
            match (here.is_empty(), there.first()) {
                (false, _) => Some(again.measure("")),
                (true, Some(_)) => Some(elsewhere(again, &there)),
                (true, None) => None,
            }
        }
        Missing::Longer(seconds) => {
            let duration = duration((*seconds)?)?;
            Some(again.measure(&format!(" -D {duration}")))
        }
        Missing::Loads | Missing::Inside => Some(again.measure("")),
        Missing::Rounds(name) => Some(format!(
            "artis measure jitter -D 1m --json {name}-jitter.json"
        )),
        Missing::Nothing => None,
    }
}

/// The ways that can be measured here, and those that another kernel has. A measurement that left
/// ways of its own kernel out said why.
fn by_kernel(again: &Again, facts: &Facts, ways: &[Way]) -> [Vec<Way>; 2] {
    let here_is_rt = facts.candidates.iter().any(|one| one.way.is_preempt_rt());
    let is_rt = again.measured && here_is_rt;
    let (mut here, there): (Vec<Way>, Vec<Way>) =
        ways.iter().partition(|way| way.is_preempt_rt() == is_rt);
    if again.measured {
        here.clear();
    }
    [here, there]
}

/// The command for ways of another kernel.
fn elsewhere(again: &Again, ways: &[Way]) -> String {
    let folder = match ways.iter().any(|way| way.is_preempt_rt()) {
        true => "rt",
        false => "stock",
    };
    again.measure(&format!(" --keep {folder}"))
}

/// At least so long, as `-D` takes it; none beyond its range.
fn duration(seconds: f64) -> Option<String> {
    let units = [("d", 86_400.0), ("h", 3600.0), ("m", 60.0), ("s", 1.0)];
    let (unit, size) = units
        .into_iter()
        .find(|(_, size)| seconds >= 2.0 * size)
        .unwrap_or(("s", 1.0));
    let count = (seconds / size).ceil();
    (count * size <= 36_500.0 * 86_400.0).then(|| format!("{count}{unit}"))
}

/// What would have to be measured, and what for.
pub fn unknown(
    question: &Question,
    facts: &Facts,
    judged: &[Judged],
    decided: &Decided,
) -> Vec<String> {
    let job = &question.job;
    let mut all = Vec::new();
    if let (Some(Work::Command(command)), None) = (&job.work, &question.work) {
        all.push(format!(
            "how long {} takes: --measure runs it; or work_file with a result of artis measure exec",
            command.join(" ")
        ));
    }
    all.extend(prices(job, facts));
    let chosen = |one: &&Judged| decided.candidate.as_ref() == Some(&one.name);
    if let Some(one) = judged.iter().find(chosen)
        && let (Some(misses), None) = (&one.misses, miss::allowed(job))
        && one.meets == Meets::Yes
    {
        all.push(format!(
            "whether {} never misses: no run shows that, and this one shows at most {:.1e} each \
             activation; a probability below [miss] in the job says what has to be shown",
            one.name, misses.at_most
        ));
    }
    for one in judged {
        all.extend(of_candidate(job, one));
    }
    all.extend(machines(facts));
    if job.barrier && job.deadline_us.is_none() {
        for one in facts.candidates.iter().filter(|one| one.round_us.is_none()) {
            all.push(format!(
                "how long a barrier's round takes on {}: artis measure jitter",
                one.name()
            ));
        }
    }
    all.extend(ways(&question.again, facts));
    all
}

/// How sure prices are that were measured once.
fn prices(job: &Job, facts: &Facts) -> Option<String> {
    let once = facts.measured_once(job);
    let what = match job.rest_command {
        Some(_) => "a command never takes the same time twice",
        None => "loads never do the same work twice",
    };
    let were = match &once[..] {
        [] => return None,
        [one] => format!("{one} was"),
        [first @ .., last] => format!("{} and {last} were", first.join(", ")),
    };
    Some(format!(
        "how sure the prices are: {were} measured once, and {what}; measure each several times \
         (--measure: --runs 3), and name each file of one alike"
    ))
}

fn of_candidate(job: &Job, one: &Judged) -> Vec<String> {
    let mut all = Vec::new();
    if job.deadline_us.is_some() && one.misses.is_none() && one.latency_us_max.is_none() {
        all.push(format!(
            "how late {} is: its file has no latency (artis measure latency, or all)",
            one.name
        ));
    }
    if one.throughput_kept.is_none() && one.origin != Origin::Elsewhere {
        all.push(match &job.rest_command {
            Some(command) => format!(
                "what {} costs: artis measure throughput --json FILE -- {}",
                one.name,
                command.join(" ")
            ),
            None => format!(
                "what {} costs: its files have no work of a load (--load), and no time of a \
                 command (artis measure throughput)",
                one.name
            ),
        });
    }
    if one.slowdown.source == SlowdownSource::Unknown {
        all.push(format!(
            "how much slower {} does {} work: artis measure completion",
            one.name, job.nature
        ));
    }
    all
}

/// Whether all is of one machine, where files do not say it.
fn machines(facts: &Facts) -> Vec<String> {
    let here = facts
        .candidates
        .iter()
        .filter(|one| one.origin == Origin::Measured);
    let says_nothing = |one: &&Candidate| one.machine.is_none();
    let nameless = here.clone().filter(says_nothing).map(|one| {
        format!(
            "whether {} was measured on this machine: its file does not say where",
            one.name()
        )
    });
    let no_cpu = here.filter(|one| {
        let machine = one.machine.as_ref();
        machine.is_some_and(|machine| machine.cpu_model.is_none())
    });
    let no_cpu: Vec<&str> = no_cpu.map(Candidate::name).collect();
    let no_cpu = (!no_cpu.is_empty()).then(|| {
        format!(
            "whether all was measured on one machine: no CPU has a name in the files of {}",
            no_cpu.join(", ")
        )
    });
    nameless.chain(no_cpu).collect()
}

/// The ways that nobody measured, and how.
fn ways(again: &Again, facts: &Facts) -> Vec<String> {
    let [here, there] = by_kernel(again, facts, &facts.unmeasured());
    let mut all = Vec::new();
    if !here.is_empty() {
        all.push(format!(
            "{} not measured; type: {}",
            were(&here),
            again.measure("")
        ));
    }
    let Some(first) = there.first() else {
        return all;
    };
    let kernel = match first.is_preempt_rt() {
        true => "a kernel with PREEMPT_RT",
        false => "a kernel without PREEMPT_RT",
    };
    all.push(format!(
        "{} not measured; boot {kernel}, type there: {}; then name the files in that folder here, too",
        were(&there),
        elsewhere(again, &there)
    ));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_rounded_up_in_the_unit_that_suits_it() {
        for (seconds, words) in [
            (0.5, "1s"),
            (90.2, "91s"),
            (2995.731, "50m"),
            (8000.0, "3h"),
            (1e6, "12d"),
        ] {
            assert_eq!(duration(seconds).as_deref(), Some(words), "{seconds}");
        }
        assert_eq!(duration(1e12), None);
    }
}
