// SPDX-License-Identifier: GPL-2.0-only
//! What to stop or to know before a machine is measured for hours.
//!
//! The findings are those of `artis check`; only what matters for runs that are compared with each
//! other is chosen here. What cannot be seen is said with the reason.

use artis_check::{Finding, Report, Subject};
use artis_machine::facts::{Fact, Facts};
use artis_machine::{CpuList, Root, Unreadable, package_managers, sessions, smi, supply, thermal};
use serde::Serialize;

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Fine,
    /// Something that speaks against the figures.
    Doubt,
    Unknown,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Seen {
    pub about: &'static str,
    pub state: State,
    /// What was seen, or why nothing could be.
    pub words: String,
    /// What to type or to do.
    pub fix: Option<String>,
}

impl Seen {
    fn new(about: &'static str, state: State, words: impl Into<String>) -> Self {
        Self {
            about,
            state,
            words: words.into(),
            fix: None,
        }
    }

    fn fix(self, fix: impl Into<String>) -> Self {
        Self {
            fix: Some(fix.into()),
            ..self
        }
    }
}

/// What could not be read.
fn unread(about: &'static str, error: &Unreadable) -> Seen {
    let words = format!("not known: {}", error.in_words());
    Seen::new(about, State::Unknown, words)
}

/// Programs that undo what others set, by the findings that name them.
const MANAGERS: [&str; 6] = [
    "irqbalance",
    "tuned",
    "power_manager",
    "numad",
    "stalld",
    "kubelet",
];

/// Looks at the machine as a place for a real-time task on this CPU.
pub fn look(root: &Root, rt: u32) -> Vec<Seen> {
    let facts = Facts::read(root);
    let subject = Subject::choose(&facts, Some(CpuList::from_iter([rt])), None);
    let report = Report::new(facts, subject);
    let mut all = vec![noise(root, &report.facts.online())];
    all.push(of_findings(
        &report,
        "the host",
        &["virtual_machine", "steal_time"],
        &report.facts.virtualisation,
        "a real machine",
    ));
    all.push(of_findings(
        &report,
        "frequency",
        &["governor"],
        &report.facts.governors,
        "the governor is performance, or this kernel changes none",
    ));
    all.push(of_findings(
        &report,
        "idle states",
        &["idle_states"],
        &report.facts.idle_states,
        "none deeper than C1",
    ));
    all.extend([heat(root), supplied(root), logins(root), timers(root)]);
    all.push(of_findings(
        &report,
        "daemons",
        &MANAGERS,
        &report.facts.managers,
        "none that undoes settings",
    ));
    all.push(of_findings(
        &report,
        "real-time threads",
        &["real_time_tasks"],
        &report.facts.threads,
        "none of other programs on the RT CPU",
    ));
    all
}

/// What `artis check` found of these kinds.
fn of_findings<T>(
    report: &Report,
    about: &'static str,
    ids: &[&str],
    fact: &Fact<T>,
    fine: &str,
) -> Seen {
    if let Some(problem) = &fact.problem {
        return Seen::new(about, State::Unknown, format!("not known: {problem}"));
    }
    let all = report.findings.iter().filter(|one| ids.contains(&one.id));
    let all: Vec<&Finding> = all.collect();
    if all.is_empty() {
        return Seen::new(about, State::Fine, fine);
    }
    let words: Vec<&str> = all.iter().map(|one| one.seen.as_str()).collect();
    let fixes: Vec<&str> = all.iter().filter_map(|one| one.fix.as_deref()).collect();
    let seen = Seen::new(about, State::Doubt, words.join("; "));
    match fixes.is_empty() {
        true => seen,
        false => seen.fix(fixes.join("; ")),
    }
}

/// System management interrupts of each CPU, isolated ones too.
fn noise(root: &Root, online: &CpuList) -> Seen {
    const ABOUT: &str = "hardware noise";
    let counts: Result<Vec<Option<u64>>, _> =
        online.iter().map(|cpu| smi::count(root, cpu)).collect();
    let counts = match counts {
        Err(error) => return unread(ABOUT, &error),
        Ok(counts) => counts,
    };
    let known: Vec<u64> = counts.iter().copied().flatten().collect();
    match (known.iter().min(), known.iter().max()) {
        (Some(least), Some(most)) if known.len() == counts.len() => {
            let state = if *most == 0 { State::Fine } else { State::Doubt };
            let words = format!(
                "{least} to {most} system management interrupts on each of {} since boot; what the \
                 firmware does without them is not known",
                online.in_words()
            );
            Seen::new(ABOUT, state, words)
        }
        _ => Seen::new(
            ABOUT,
            State::Unknown,
            "not known: no CPU here shows its counter of system management interrupts (Intel's do, \
             with the module msr, and not in a virtual machine)",
        )
        .fix("`sudo modprobe msr`; `sudo rtla hwnoise -c LIST -d 10m` measures it, isolated CPUs too"),
    }
}

fn heat(root: &Root) -> Seen {
    const ABOUT: &str = "temperature";
    match thermal::hottest(root) {
        Err(error) => unread(ABOUT, &error),
        Ok(None) => Seen::new(ABOUT, State::Unknown, "not known: there is no sensor"),
        Ok(Some(zone)) => {
            let now = zone.milli_celsius / 1000;
            let limit = zone.limit_milli_celsius.map_or_else(String::new, |limit| {
                format!("; from {} on it slows CPUs down", limit / 1000)
            });
            let words = format!("{} is at {now} degrees Celsius{limit}", zone.kind);
            match zone.is_over() {
                true => Seen::new(ABOUT, State::Doubt, words).fix("let it cool down first"),
                false => Seen::new(ABOUT, State::Fine, words),
            }
        }
    }
}

fn supplied(root: &Root) -> Seen {
    const ABOUT: &str = "power supply";
    match supply::on_battery(root) {
        Err(error) => unread(ABOUT, &error),
        Ok(None) => Seen::new(ABOUT, State::Fine, "no battery"),
        Ok(Some(false)) => Seen::new(ABOUT, State::Fine, "the mains; it has a battery"),
        Ok(Some(true)) => Seen::new(
            ABOUT,
            State::Doubt,
            "its battery: firmware and power managers lower frequencies",
        )
        .fix("plug it in"),
    }
}

fn logins(root: &Root) -> Seen {
    const ABOUT: &str = "sessions";
    match sessions::all(root) {
        Err(error) => unread(ABOUT, &error),
        Ok(None) => Seen::new(
            ABOUT,
            State::Unknown,
            "not known: no logind keeps them here",
        ),
        Ok(Some(all)) => {
            let with_screen = all.values().filter(|has_screen| **has_screen).count();
            let words = format!(
                "{} logged in, {with_screen} of them with a desktop",
                all.len()
            );
            match with_screen {
                0 => Seen::new(ABOUT, State::Fine, words),
                _ => Seen::new(ABOUT, State::Doubt, words).fix(
                    "log out of the desktop, or `sudo systemctl isolate multi-user.target` for the \
                     while",
                ),
            }
        }
    }
}

fn timers(root: &Root) -> Seen {
    const ABOUT: &str = "package managers";
    match package_managers::timers(root) {
        Err(error) => unread(ABOUT, &error),
        Ok(timers) if timers.is_empty() => {
            Seen::new(ABOUT, State::Fine, "no timer of theirs is enabled")
        }
        Ok(timers) => {
            let names = timers.join(" ");
            Seen::new(
                ABOUT,
                State::Doubt,
                format!("these timers are enabled, and may have been stopped: {names}"),
            )
            .fix(format!(
                "`sudo systemctl stop {names}`, and `sudo systemctl start {names}` afterwards"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    fn state(all: &[Seen], about: &str) -> State {
        let found = all.iter().find(|seen| seen.about == about);
        found.unwrap_or_else(|| panic!("{about}: {all:?}")).state
    }

    #[test]
    fn a_machine_that_shows_nothing_is_unknown_and_never_fine() {
        let (_folder, root) = canned(&[]);
        let all = look(&root, 1);
        for about in [
            "hardware noise",
            "temperature",
            "sessions",
            "frequency",
            "idle states",
        ] {
            let seen = all.iter().find(|seen| seen.about == about).unwrap();
            assert!(seen.state != State::Doubt, "{seen:?}");
        }
        assert_eq!(state(&all, "hardware noise"), State::Unknown);
        assert_eq!(state(&all, "sessions"), State::Unknown);
        assert_eq!(state(&all, "temperature"), State::Unknown);
    }

    #[test]
    fn what_is_to_be_stopped_is_said_with_the_command() {
        let stat = "9 (irqbalance) S 2 0 0 0 -1 0 0 0 0 0 3 74 0 0 20 0 1 0 25 0 0 1 0 0 0 0 0 0 0 \
                    2147483647 0 1 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
        let (_folder, root) = canned(&[
            ("sys/devices/system/cpu/online", "0-1\n"),
            ("sys/devices/system/cpu/possible", "0-1\n"),
            ("proc/9/stat", stat),
            ("sys/class/power_supply/B/type", "Battery"),
            ("sys/class/power_supply/B/status", "Discharging"),
            ("etc/systemd/system/timers.target.wants/apt-daily.timer", ""),
            ("run/systemd/system/x", ""),
            ("run/systemd/seats/seat0", ""),
            (
                "run/systemd/sessions/2",
                "CLASS=user\nTYPE=wayland\nUSER=bob\n",
            ),
        ]);
        let all = look(&root, 1);
        for (about, fix) in [
            ("power supply", "plug it in"),
            ("package managers", "systemctl stop apt-daily.timer"),
            ("sessions", "log out"),
        ] {
            assert_eq!(state(&all, about), State::Doubt);
            let seen = all.iter().find(|seen| seen.about == about).unwrap();
            assert!(seen.fix.as_ref().unwrap().contains(fix), "{seen:?}");
            assert!(!seen.words.contains("bob"), "{seen:?}");
        }
    }
}
