// SPDX-License-Identifier: GPL-2.0-only
//! What is not known and would matter, and what to type to know it.

use super::because::were;
use artis_decide::job::Work;
use artis_decide::verdict::{Again, Next, Unknown, Verdict, Way};

/// What to type when the answer is unknown.
pub fn next(verdict: &Verdict) -> Option<String> {
    let again = &verdict.again;
    Some(match verdict.next.as_ref()? {
        Next::Here => measure(again, ""),
        Next::Longer(seconds) => measure(again, &format!(" -D {}", duration(*seconds))),
        Next::Elsewhere { is_rt } => elsewhere(again, *is_rt),
        Next::Rounds(name) => format!("artis measure jitter -D 1m --json {name}-jitter.json"),
    })
}

/// The command that measures, with more words.
fn measure(again: &Again, more: &str) -> String {
    format!("sudo {} --measure{more}", again.command)
}

/// The command for ways of another kernel.
fn elsewhere(again: &Again, is_rt: bool) -> String {
    if let Some(words) = &again.kept {
        return format!("sudo {words}");
    }
    let folder = if is_rt { "rt" } else { "stock" };
    measure(again, &format!(" --keep {folder}"))
}

/// At least so long, as `-D` takes it.
fn duration(seconds: f64) -> String {
    let units = [("d", 86_400.0), ("h", 3600.0), ("m", 60.0)];
    let (unit, size) = units
        .into_iter()
        .find(|(_, size)| seconds >= 2.0 * size)
        .unwrap_or(("s", 1.0));
    format!("{}{unit}", (seconds / size).ceil())
}

/// What would have to be measured, and what for: a sentence each.
pub fn unknown(verdict: &Verdict) -> Vec<String> {
    let all = verdict.unknown.iter();
    all.map(|one| sentence(verdict, one)).collect()
}

fn sentence(verdict: &Verdict, one: &Unknown) -> String {
    let job = &verdict.job;
    match one {
        Unknown::Work => {
            let command = match &job.work {
                Some(Work::Command(words)) => words.join(" "),
                _ => "the work".to_owned(),
            };
            format!(
                "how long {command} takes: --measure runs it; or work_file with a result of artis \
                 measure exec"
            )
        }
        Unknown::Prices(once) => {
            let what = match job.rest_command {
                Some(_) => "a command never takes the same time twice",
                None => "loads never do the same work twice",
            };
            format!(
                "how sure the prices are: {} measured once, and {what}; measure each several times \
                 (--measure: --runs 3), and name each file of one alike",
                were(once)
            )
        }
        Unknown::NeverMisses(name) => {
            let misses = verdict.candidate(name).and_then(|one| one.misses.as_ref());
            format!(
                "whether {name} never misses: no run shows that, and this one shows at most {:.1e} \
                 each activation; a probability below [miss] in the job says what has to be shown",
                misses.map_or(1.0, |misses| misses.at_most)
            )
        }
        Unknown::Latency(name) => {
            format!("how late {name} is: its file has no latency (artis measure latency, or all)")
        }
        Unknown::Cost(name) => match &job.rest_command {
            Some(command) => format!(
                "what {name} costs: artis measure throughput --json FILE -- {}",
                command.join(" ")
            ),
            None => format!(
                "what {name} costs: its files have no work of a load (--load), and no time of a \
                 command (artis measure throughput)"
            ),
        },
        Unknown::Slowdown(name) => format!(
            "how much slower {name} does {} work: artis measure completion",
            job.nature
        ),
        Unknown::Here(name) => {
            format!("whether {name} was measured on this machine: its file does not say where")
        }
        Unknown::OneMachine(names) => format!(
            "whether all was measured on one machine: no CPU has a name in the files of {}",
            names.join(", ")
        ),
        Unknown::Round(name) => {
            format!("how long a barrier's round takes on {name}: artis measure jitter")
        }
        Unknown::Ways(ways) => format!(
            "{} not measured; type: {}",
            were(ways),
            measure(&verdict.again, "")
        ),
        Unknown::WaysElsewhere(ways) => ways_elsewhere(&verdict.again, ways),
    }
}

fn ways_elsewhere(again: &Again, ways: &[Way]) -> String {
    let is_rt = ways.iter().any(|way| way.is_preempt_rt());
    let which = if is_rt { "with" } else { "without" };
    let then = match again.kept {
        Some(_) => "it goes on in the same folder",
        None => "then name the files in that folder here, too",
    };
    format!(
        "{} not measured; boot a kernel {which} PREEMPT_RT, type there: {}; {then}",
        were(ways),
        elsewhere(again, is_rt)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_of_runs_goes_on_on_another_kernel() {
        let mut again = Again::default();
        let ways = [Way::PreemptRt];
        let text = ways_elsewhere(&again, &ways);
        assert!(text.contains("--keep rt; then name the files"), "{text}");
        again.kept = Some("artis decide j.toml --measure --keep runs --runs 10".to_owned());
        let text = ways_elsewhere(&again, &ways);
        assert!(
            text.contains("sudo artis decide j.toml --measure --keep runs --runs 10; it goes on"),
            "{text}"
        );
    }

    #[test]
    fn a_duration_is_rounded_up_in_the_unit_that_suits_it() {
        for (seconds, words) in [
            (0.5, "1s"),
            (90.2, "91s"),
            (2995.731, "50m"),
            (8000.0, "3h"),
            (1e6, "12d"),
        ] {
            assert_eq!(duration(seconds), words, "{seconds}");
        }
    }
}
