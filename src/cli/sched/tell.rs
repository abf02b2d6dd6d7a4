// SPDX-License-Identifier: GPL-2.0-only
//! The scheduler's messages on standard error while it is on.

use crate::partition::change::Change;
use crate::sched::service::Event;
use sd_notify::NotifyState;

/// Says to the user, and to systemd where it started artis, what happens while the scheduler is on.
pub fn tell(event: Event) {
    match event {
        Event::Restored(changes) => tell_restored(&changes),
        Event::ServersUnseen => eprintln!(
            "artis: warning: /sys/kernel/debug is not mounted, so the kernel's deadline servers \
             may take RT CPUs from RT0 for some 5 % of the time; \
             `mount -t debugfs debugfs /sys/kernel/debug`"
        ),
        Event::Cycled(rt) => eprintln!(
            "artis: RT CPUs {rt} were offline for a moment: timers and work of others there have moved"
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
            // Without NOTIFY_SOCKET this does nothing; with a broken one there is no reader.
            let _ = sd_notify::notify(&[NotifyState::Ready]);
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

/// Says which settings of an earlier artis were put back.
pub fn tell_restored(changes: &[Change]) {
    eprintln!(
        "artis: an earlier artis was killed; put back what it had changed: {}",
        changes
            .iter()
            .map(|change| change.target.path())
            .collect::<Vec<_>>()
            .join(", ")
    );
}
