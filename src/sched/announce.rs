// SPDX-License-Identifier: GPL-2.0-only
//! What the scheduler says on standard error, and to systemd, while it is on.

use super::service::Event;
use artis_partition::change::Change;
use sd_notify::NotifyState;

/// Says what happened, to the user and to systemd where it matters there.
pub fn announce(event: Event) {
    match event {
        Event::Restored(changes) => announce_restored(&changes),
        Event::ServersUnseen => eprintln!(
            "artis: warning: /sys/kernel/debug is not mounted, so the kernel's deadline servers \
             may take RT CPUs from RT0 for some 5 % of the time; \
             `mount -t debugfs debugfs /sys/kernel/debug`"
        ),
        Event::LimitsUnseen(cgroups) => eprintln!(
            "artis: warning: while artis schedules, limits on CPU time (cpu.max) do not hold: {}; \
             to keep such a cgroup small, give it a low cpu.weight",
            some(&cgroups)
        ),
        Event::WeightsUnseen(cgroups) => eprintln!(
            "artis: warning: while artis schedules on this kernel, weights of cgroups (cpu.weight) \
             count for nothing: {}; boot one with CONFIG_EXT_GROUP_SCHED=y",
            some(&cgroups)
        ),
        Event::Cycled(rt) => eprintln!(
            "artis: RT CPUs {rt} were offline for a moment: timers and work that others had \
             started there are on other CPUs now"
        ),
        Event::Changed(changes) => {
            for change in changes {
                eprintln!(
                    "artis: {} {} -> {} (put back at the end)",
                    change.target.path(),
                    change.old,
                    change.new
                );
            }
        }
        Event::Ready { rt, nrt, detector } => {
            eprintln!("artis: scheduling: RT CPUs {rt}, NRT CPUs {nrt}, detector {detector}");
            notify_ready();
        }
        Event::Offline { offline, rt } if offline.is_empty() => {
            eprintln!("artis: all RT CPUs ({rt}) are online again");
        }
        Event::Offline { offline, rt } => eprintln!(
            "artis: RT CPU {offline} of {rt} is offline: RT0 tasks bound to it run wherever the \
             kernel put them, without any guarantee; bring it online again, or stop them"
        ),
    }
}

/// As [`announce`], but says warnings only.
pub fn announce_warnings(event: Event) {
    match event {
        Event::Cycled(_) | Event::Changed(_) => (),
        Event::Offline { offline, .. } if offline.is_empty() => (),
        Event::Ready { .. } => notify_ready(),
        warning => announce(warning),
    }
}

/// The first names of a list, and how many more there are.
fn some(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>();
    let shown = shown.join(", ");
    match names.len().saturating_sub(SHOWN) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

fn notify_ready() {
    // Without NOTIFY_SOCKET this does nothing. With a broken one nobody can be notified.
    let _ = sd_notify::notify(&[NotifyState::Ready]);
}

/// Says which settings of an earlier artis were put back.
pub fn announce_restored(changes: &[Change]) {
    eprintln!(
        "artis: an earlier artis was killed; put back what it had changed: {}",
        changes
            .iter()
            .map(|change| change.target.path())
            .collect::<Vec<_>>()
            .join(", ")
    );
}

#[cfg(test)]
mod tests {
    use super::some;

    #[test]
    fn a_long_list_is_cut_and_counted() {
        let names =
            |count: usize| -> Vec<String> { (1..=count).map(|n| format!("/{n}")).collect() };
        assert_eq!(some(&names(1)), "/1");
        assert_eq!(some(&names(3)), "/1, /2, /3");
        assert_eq!(some(&names(5)), "/1, /2, /3 and 2 more");
    }
}
