// SPDX-License-Identifier: GPL-2.0-only
//! Long work items of the workqueue of the victim's CPU.

use super::{Injection, Shared, bind, now_ns, pause};
use crate::named;
use artis_testing_work::Work;
use std::mem::MaybeUninit;
use std::time::Duration;

/// An item that did not begin so long after it was queued is not waited for.
const PATIENCE_NS: u64 = 100_000_000;

pub(super) fn work(shared: &Shared, times: usize) -> Result<Vec<Injection>, String> {
    bind(shared.cpu);
    named(c"inj-work");
    let mut storage = MaybeUninit::uninit();
    let mut work = Work::load(&mut storage)
        .map_err(|error| format!("this kernel has no work items of BPF programs: {error}"))?;
    let mut injected = Vec::new();
    for _ in 0..times {
        let (before, ..) = work.last();
        pause(shared);
        work.queue()?;
        let give_up_ns = now_ns() + PATIENCE_NS;
        while work.last().0 == before && now_ns() < give_up_ns {
            std::thread::sleep(Duration::from_millis(1));
        }
        let (items, begin_ns, end_ns) = work.last();
        if items == before + 1 {
            injected.push(Injection {
                begin_ns,
                end_ns,
                waited_ns: 0,
            });
        }
    }
    Ok(injected)
}
