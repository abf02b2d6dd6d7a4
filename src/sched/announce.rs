// SPDX-License-Identifier: GPL-2.0-only
//! What the scheduler says on standard error, and to systemd, while it is on.
//!
//! This is all that the guest's program says. `artis sched run` says more of some events
//! (`artis-report`, `scheduler`); what stands here must not change without need, because the
//! guest's figures change with it.

use super::service::Event;
use artis_partition::change::Change;
use sd_notify::NotifyState;
use std::io::{self, Write};

/// As `eprintln!`, and goes on when nobody can read it: that must not end the scheduler.
macro_rules! say {
    ($($text:tt)*) => {{
        let _ = writeln!(io::stderr(), $($text)*);
    }};
}

/// Says what happened, to the user and to systemd where it matters there.
pub fn announce(event: Event) {
    match event {
        Event::Restored(changes) => announce_restored(&changes),
        Event::Left(left) => {
            for one in left {
                say!("artis: {one}");
            }
        }
        Event::Refused(refused) => {
            for one in refused {
                say!("artis: {one}");
            }
        }
        Event::Claimed(claims) => {
            for claim in claims {
                say!("artis: warning: {claim}");
            }
        }
        // The lab's guests have no cgroups but the root.
        Event::LimitsUnseen(_) | Event::WeightsUnseen(_) => {}
        Event::Cycled(rt) => say!(
            "artis: RT CPUs {rt} were offline for a moment: timers and work that others had \
             started there are on other CPUs now"
        ),
        Event::Changed(changes) => {
            for change in changes {
                say!(
                    "artis: {} {} -> {} (put back at the end)",
                    change.target.path(),
                    change.old,
                    change.new
                );
            }
        }
        Event::Ready { rt, nrt, detector } => {
            say!("artis: scheduling: RT CPUs {rt}, NRT CPUs {nrt}, detector {detector}");
            notify_ready();
        }
        Event::Offline { offline, rt } if offline.is_empty() => {
            say!("artis: all RT CPUs ({rt}) are online again");
        }
        Event::Offline { offline, rt } => say!(
            "artis: RT CPU {offline} of {rt} is offline: RT0 tasks bound to it run wherever the \
             kernel put them, without any guarantee; bring it online again, or stop them"
        ),
    }
}

/// Says "ready" to systemd.
pub fn notify_ready() {
    // Without NOTIFY_SOCKET this does nothing. With a broken one nobody can be notified.
    let _ = sd_notify::notify(&[NotifyState::Ready]);
}

/// Says which settings of an earlier artis were put back.
fn announce_restored(changes: &[Change]) {
    say!(
        "artis: an earlier artis was killed; put back what it had changed: {}",
        changes
            .iter()
            .map(|change| change.target.path())
            .collect::<Vec<_>>()
            .join(", ")
    );
}
