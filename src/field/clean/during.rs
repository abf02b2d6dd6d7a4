// SPDX-License-Identifier: GPL-2.0-only
//! What happened to the machine while a run went on: looked at before it, some times during it and
//! after it, and compared.

use super::Cause;
use artis_machine::{CpuList, Root, package_managers, sessions, smi, supply, tasks, thermal};
use artis_result::Warning;
use std::collections::{BTreeMap, BTreeSet};
use std::time::SystemTime;

/// The state of the machine at one moment. What cannot be read is none, and then says nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    throttled: Option<u64>,
    sessions: Option<BTreeSet<String>>,
    on_battery: Option<bool>,
    elapsed: BTreeMap<&'static str, SystemTime>,
    at_work: BTreeSet<&'static str>,
    smis: Option<u64>,
}

impl Look {
    /// Takes some milliseconds of one CPU.
    pub fn at(root: &Root, cpus: &CpuList) -> Self {
        let first = cpus.first().unwrap_or(0);
        let sessions = sessions::all(root).ok().flatten();
        let tasks = tasks::all(root).unwrap_or_default();
        Self {
            throttled: thermal::throttled(root, cpus).ok().flatten(),
            sessions: sessions.map(|all| all.into_keys().collect()),
            on_battery: supply::on_battery(root).ok().flatten(),
            elapsed: package_managers::elapsed(root),
            at_work: package_managers::at_work(&tasks).into_iter().collect(),
            smis: smi::count(root, first).ok().flatten(),
        }
    }
}

/// What disturbed a run, by the looks at it, the first one before it and the last one after it.
pub fn disturbed(looks: &[Look]) -> Vec<Warning> {
    let Some((first, last)) = looks.first().zip(looks.last()) else {
        return Vec::new();
    };
    let all = [
        throttled(first, last),
        login(looks),
        packages(first, looks),
        supplied(looks),
    ];
    all.into_iter().flatten().collect()
}

/// How many system management interrupts came in between; none where nobody counts them. They are
/// the machine's own, so they disturb no run: they explain it.
pub fn smis(looks: &[Look]) -> Option<u64> {
    let (first, last) = looks.first().zip(looks.last())?;
    Some(last.smis?.saturating_sub(first.smis?))
}

fn throttled(first: &Look, last: &Look) -> Option<Warning> {
    let times = last.throttled?.saturating_sub(first.throttled?);
    (times > 0).then(|| {
        Cause::Throttled.warning(
            format!("heat made CPUs slower {times} times (thermal_throttle/*_throttle_count)"),
            "the same work took longer for a while, in every configuration that came to it",
            "let it cool down, clean its fans, or choose a load that it can carry for long",
        )
    })
}

fn login(looks: &[Look]) -> Option<Warning> {
    let mut all = looks.iter().filter_map(|look| look.sessions.as_ref());
    let first = all.next()?;
    let changed = all.any(|sessions| sessions != first);
    changed.then(|| {
        Cause::Login.warning(
            format!("somebody logged in or out ({})", sessions::FOLDER),
            "a login starts dozens of processes and, with a desktop, draws: milliseconds of work in \
             the kernel that no counter of interrupts shows",
            "keep others out meanwhile: `sudo touch /run/nologin`, and `sudo rm` it afterwards",
        )
    })
}

fn packages(first: &Look, looks: &[Look]) -> Option<Warning> {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for look in looks {
        names.extend(&look.at_work);
        let elapsed = look.elapsed.iter();
        names.extend(
            elapsed
                .filter(|(timer, at)| first.elapsed.get(*timer) != Some(at))
                .map(|(timer, _)| *timer),
        );
    }
    (!names.is_empty()).then(|| {
        let names: Vec<&str> = names.into_iter().collect();
        Cause::Packages.warning(
            format!("package managers were at work: {}", names.join(", ")),
            "they unpack, hash and write for minutes, beside the load that is to be measured",
            "stop their timers meanwhile, as `artis decide --measure --plan` lists them",
        )
    })
}

fn supplied(looks: &[Look]) -> Option<Warning> {
    let mut all = looks.iter().filter_map(|look| look.on_battery);
    let first = all.next()?;
    let changed = all.any(|now| now != first);
    changed.then(|| {
        Cause::Supply.warning(
            "the machine went from the mains to its battery, or back".to_owned(),
            "firmware and power managers change frequencies and idle states with the supply",
            "leave it plugged in, and measure again",
        )
    })
}

/// A setting of the configuration that was no longer in force when the run ended.
pub fn undone(settings: &[String], managers: &[String]) -> Option<Warning> {
    let first = settings.first()?;
    let by = match managers.is_empty() {
        true => String::new(),
        false => format!("; running: {}", managers.join(", ")),
    };
    Some(Cause::Undone.warning(
        format!(
            "{} settings were changed by somebody else, the first one {first}{by}",
            settings.len()
        ),
        "a part of the run was measured with other settings than its name says",
        "stop the programs that change them: `artis check` names each and says how",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn ids(looks: &[Look]) -> Vec<String> {
        disturbed(looks).into_iter().map(|one| one.id).collect()
    }

    /// A change of what was seen.
    type Change = fn(&mut Look);

    #[test]
    fn each_kind_of_disturbance_is_seen_also_when_it_is_over_at_the_end() {
        let sessions = |names: &[&str]| Some(names.iter().map(|one| (*one).to_owned()).collect());
        let quiet = Look {
            throttled: Some(3),
            sessions: sessions(&["1"]),
            on_battery: Some(false),
            elapsed: BTreeMap::from([("apt-daily.timer", SystemTime::UNIX_EPOCH)]),
            at_work: BTreeSet::new(),
            smis: Some(5),
        };
        assert_eq!(ids(&[quiet.clone(), quiet.clone()]), [""; 0]);
        let rows: [(&str, bool, Change); 5] = [
            ("unclean_throttled", false, |it| it.throttled = Some(4)),
            ("unclean_login", true, |it| {
                it.sessions = Some(BTreeSet::from(["1".to_owned(), "c2".to_owned()]));
            }),
            ("unclean_packages", true, |it| {
                it.at_work = BTreeSet::from(["dpkg"]);
            }),
            ("unclean_packages", false, |it| {
                let later = SystemTime::UNIX_EPOCH + Duration::from_secs(9);
                it.elapsed = BTreeMap::from([("apt-daily.timer", later)]);
            }),
            ("unclean_supply", true, |it| it.on_battery = Some(true)),
        ];
        for (id, also_in_between, change) in rows {
            let mut other = quiet.clone();
            change(&mut other);
            assert_eq!(ids(&[quiet.clone(), other.clone()]), [id]);
            if also_in_between {
                assert_eq!(ids(&[quiet.clone(), other, quiet.clone()]), [id]);
            }
        }
    }

    #[test]
    fn what_cannot_be_read_says_nothing() {
        let unknown = Look::default();
        let known = Look {
            throttled: Some(9),
            smis: Some(2),
            ..Look::default()
        };
        assert_eq!(ids(&[unknown.clone(), known.clone()]), [""; 0]);
        assert_eq!(smis(&[unknown.clone(), known.clone()]), None);
        assert_eq!(ids(&[]), [""; 0]);
        let mut later = known.clone();
        later.smis = Some(7);
        assert_eq!(smis(&[known, later.clone()]), Some(5));
        // They are the machine's own.
        assert_eq!(ids(&[unknown, later]), [""; 0]);
    }

    #[test]
    fn settings_that_were_undone_are_named_with_who_may_have() {
        assert_eq!(undone(&[], &[]), None);
        let seen = undone(&["irq 5: 1 -> 0".to_owned()], &["irqbalance".to_owned()]);
        let seen = seen.unwrap().seen;
        assert!(
            seen.contains("irq 5") && seen.contains("irqbalance"),
            "{seen}"
        );
    }
}
