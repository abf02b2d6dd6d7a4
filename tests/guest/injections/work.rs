// SPDX-License-Identifier: GPL-2.0-only
//! Long kernel work on the victim's CPU that says itself when it ran: a work item, a stretch in
//! which nobody is preempted or interrupts are off, and an interrupt from another CPU.

use super::interrupts::{membarrier, register_for_barriers};
use super::{Injection, Kind, Shared, bind, now_ns, pause};
use crate::named;
use artis_testing_work::{Place, Work};
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Work that has not ended so long after its time is not waited for.
const PATIENCE: Duration = Duration::from_millis(100);

pub(super) fn work(kind: Kind, shared: &Shared, times: usize) -> Result<Vec<Injection>, String> {
    let (place, name, cpu) = match kind {
        Kind::Kept => (Place::PreemptionOff, c"inj-kept", shared.cpu),
        Kind::Masked => (Place::InterruptsOff, c"inj-masked", shared.cpu),
        Kind::Barrier => (Place::Barrier, c"inj-ipi", shared.other),
        _ => (Place::Workqueue, c"inj-work", shared.cpu),
    };
    bind(cpu);
    named(name);
    let length = 2 * Duration::from_nanos(shared.spin_ns);
    let mut storage = MaybeUninit::uninit();
    let work = Work::load(&mut storage, place, length)
        .map_err(|error| format!("this kernel lets no BPF program do it: {error}"))?;
    let patience_ns = (length + PATIENCE).as_nanos() as u64;
    if place != Place::Barrier {
        return repeat(shared, times, work, patience_ns, || ());
    }
    // Only a CPU that runs a thread of this process is interrupted.
    register_for_barriers();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            bind(shared.cpu);
            named(c"companion");
            while !done.load(Relaxed) {
                std::hint::spin_loop();
            }
        });
        let injected = repeat(shared, times, work, patience_ns, || {
            membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED);
        });
        done.store(true, Relaxed);
        injected
    })
}

/// Has the work done so often; `prompt` is called until it is done.
fn repeat(
    shared: &Shared,
    times: usize,
    mut work: Work<'_>,
    patience_ns: u64,
    prompt: impl Fn(),
) -> Result<Vec<Injection>, String> {
    let mut injected = Vec::new();
    for _ in 0..times {
        let (before, ..) = work.last();
        pause(shared);
        work.begin()?;
        let give_up_ns = now_ns() + patience_ns;
        while work.last().0 == before && now_ns() < give_up_ns {
            prompt();
            std::thread::sleep(Duration::from_millis(1));
        }
        let (count, begin_ns, end_ns) = work.last();
        if count == before + 1 {
            injected.push(Injection {
                begin_ns,
                end_ns,
                waited_ns: 0,
            });
        }
    }
    Ok(injected)
}
