// SPDX-License-Identifier: GPL-2.0-only
//! What to do, and the fact that decides.

use crate::units::time;
use artis_decide::verdict::busy::TooIdle;
use artis_decide::verdict::miss::Misses;
use artis_decide::verdict::{Because, Choice, Judged, Meets, Nearest, Origin, Verdict, Way};

/// What to do.
pub fn choice(choice: Choice) -> String {
    match choice {
        Choice::Take(Way::Stock) => "stay as you are".to_owned(),
        Choice::Take(Way::Tuned) => "tune: artis partition".to_owned(),
        Choice::Take(Way::Shield) => "shield: artis partition --shield".to_owned(),
        Choice::Take(way) => way.to_string(),
        Choice::NotOnThisMachine => "not on this machine".to_owned(),
        Choice::Unknown => "unknown".to_owned(),
    }
}

/// The fact that decides, a sentence.
pub fn because(verdict: &Verdict) -> String {
    let job = &verdict.job;
    match &verdict.decided.because {
        Because::WorkTooLong(work_us) => format!(
            "the work alone takes {} and the deadline is {}",
            time(*work_us),
            time(job.deadline_us.unwrap_or(0.0))
        ),
        Because::MemoryFull => {
            "the workload needs all memory or more, so page faults come, and no \
                                scheduler bounds them: buy memory, or let the workload take less"
                .to_owned()
        }
        Because::NotInside => "it runs in a virtual machine, and none was measured: the host \
                               decides how late it is; measure inside, with CPUs of its own"
            .to_owned(),
        Because::NothingMeasured => "nothing was measured".to_owned(),
        Because::WorkNotMeasured => "how long the work takes was not measured".to_owned(),
        Because::NoLatency => "no file has a latency".to_owned(),
        Because::TooIdle(idle) => too_idle(*idle),
        Because::NoPrice(name) => format!(
            "{name} meets the deadline, and what it costs was not measured; {:.1} % of the \
             throughput are wanted",
            job.wanted() * 100.0
        ),
        Because::Meets => meets(verdict),
        Because::NotShown(name, needed) => {
            let more = match needed {
                Some(needed) => format!("; {needed} without a miss would show it"),
                None => "; measure longer".to_owned(),
            };
            let found = found(verdict, name);
            format!("{name} may be good enough, but {found} does not show it{more}")
        }
        Because::NoneIsGood(one, ways) => {
            let mut words = nearest(verdict, one);
            if !ways.is_empty() {
                words += &format!("; {} not measured", were(ways));
                if ways.iter().all(|way| way.is_preempt_rt()) {
                    words += ", and a kernel with PREEMPT_RT has to be booted for that";
                }
            }
            words
        }
        Because::NoRounds => {
            "all threads wait for the slowest, and how long a round takes was not \
                              measured on two ways to run the machine"
                .to_owned()
        }
        Because::Rounds(us, base_us) => rounds(verdict, *us, *base_us),
        Because::OnlyThroughput => only_throughput(verdict),
    }
}

fn too_idle(idle: TooIdle) -> String {
    let per_cent = |part: f64| format!("{:.0} %", part * 100.0);
    let beside = match idle.share {
        Some(share) => format!("the loads used {} while this was measured", per_cent(share)),
        None => "the files do not say how busy the machine was".to_owned(),
    };
    format!(
        "the job uses {} of the CPUs' time at its peak, and {beside}: how late it is at the peak is \
         not known",
        per_cent(idle.wanted)
    )
}

/// The candidate that was taken, and the name of the baseline.
fn taken(verdict: &Verdict) -> (Option<&Judged>, &str) {
    let name = verdict.decided.candidate.as_deref();
    let taken = name.and_then(|name| verdict.candidate(name));
    (taken, verdict.base.as_deref().unwrap_or("stock"))
}

fn meets(verdict: &Verdict) -> String {
    let (Some(best), base) = taken(verdict) else {
        return String::new();
    };
    let mut words = format!("{} meets the deadline", best.name);
    match verdict.candidate(base) {
        Some(stock) if stock.name != best.name && !stock.meets.is_yes() => {
            words += &match stock.meets {
                Meets::No => format!(", {base} does not: {}", shortly(stock)),
                Meets::Unknown => format!(", and {base} was not measured"),
                _ => format!(", and of {base} it is not shown: {}", shortly(stock)),
            };
        }
        Some(stock) if stock.name != best.name => {
            words += &format!(" and keeps more throughput than {base}");
        }
        _ => words += &format!(": {}", shortly(best)),
    }
    if let (true, Some(kept)) = (best.name != base, best.throughput_kept) {
        words += &format!("; it keeps {:.1} % of {base}'s throughput", kept * 100.0);
        if let Some(used) = verdict.job.utilisation {
            words += &format!(", and the peak takes {:.1} %", used * 100.0);
        }
    }
    if best.origin == Origin::Elsewhere {
        words += "; it was measured elsewhere, so measure it on this machine";
    }
    words
}

/// What was found of misses, in few words.
fn shortly(one: &Judged) -> String {
    match &one.misses {
        None => "it was not measured".to_owned(),
        Some(Misses {
            activations,
            extrapolation: Some(found),
            ..
        }) if one.meets == Meets::Extrapolated => format!(
            "no miss in {activations} activations, and by laws of extremes a miss has a \
             probability of at most {:.1e} each (95 %)",
            found.probability.high
        ),
        Some(it) if it.misses == 0 => format!(
            "no miss in {} activations (at most {:.1e} each, 95 %)",
            it.activations, it.at_most
        ),
        Some(it) => format!("{} of {} activations miss", how_many(it), it.activations),
    }
}

/// `10`, `1 to 10`, `at least 1`.
fn how_many(all: &Misses) -> String {
    match (all.at_least, all.misses_most) {
        (true, _) => format!("at least {}", all.misses),
        (false, most) if most > all.misses => format!("{} to {most}", all.misses),
        _ => all.misses.to_string(),
    }
}

fn found(verdict: &Verdict, name: &str) -> String {
    verdict.candidate(name).map(shortly).unwrap_or_default()
}

/// What was found of those that are not good enough.
fn nearest(verdict: &Verdict, one: &Nearest) -> String {
    let measured = verdict.candidates.iter().filter(|one| one.misses.is_some());
    match one {
        Nearest::TooDear(name) => {
            let kept = verdict.candidate(name).and_then(|one| one.throughput_kept);
            format!(
                "{name} meets the deadline and keeps only {:.1} % of the throughput; {:.1} % are \
                 wanted",
                kept.unwrap_or(0.0) * 100.0,
                verdict.job.wanted() * 100.0
            )
        }
        Nearest::Misses(name) if measured.count() == 1 => {
            format!(
                "{name} does not meet the deadline: {}",
                found(verdict, name)
            )
        }
        Nearest::Misses(name) => format!(
            "none of what was measured meets the deadline: even on {name}, {}",
            found(verdict, name)
        ),
        Nearest::NoLatency => "no file has a latency".to_owned(),
    }
}

fn rounds(verdict: &Verdict, us: f64, base_us: f64) -> String {
    match taken(verdict) {
        (Some(best), base) if best.name != base => format!(
            "all threads wait for the slowest: a round takes {} on {} and {} on {base}, so less OS \
             jitter lets the work finish earlier",
            time(us),
            best.name,
            time(base_us)
        ),
        (_, base) => format!(
            "all threads wait for the slowest, and a round takes {} on {base}, which is no longer \
             than elsewhere",
            time(base_us)
        ),
    }
}

fn only_throughput(verdict: &Verdict) -> String {
    let mut words = "there is no deadline, so only throughput counts".to_owned();
    let (Some(best), base) = taken(verdict) else {
        return words;
    };
    if best.name == base || best.way == Way::Stock {
        let others = verdict.candidates.iter().filter(|one| one.name != base);
        let others = others.filter_map(|one| Some((&one.name, one.throughput_kept?)));
        for (at, (name, kept)) in others.enumerate() {
            words += if at == 0 { ", and " } else { ", " };
            words += &format!("{name} keeps {:.1} %", kept * 100.0);
        }
        return words;
    }
    let kept = best.throughput_kept.unwrap_or(1.0) * 100.0;
    words + &format!(", and {} does {kept:.1} % of {base}'s work", best.name)
}

/// `tuned, shield and artis were`.
pub(super) fn were(all: &[impl ToString]) -> String {
    let names: Vec<String> = all.iter().map(ToString::to_string).collect();
    match &names[..] {
        [] => String::new(),
        [one] => format!("{one} was"),
        [first @ .., last] => format!("{} and {last} were", first.join(", ")),
    }
}
