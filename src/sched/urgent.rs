// SPDX-License-Identifier: GPL-2.0-only
//! While real-time tasks keep all NRT CPUs from everybody else, artis is a real-time task, too, and
//! so is the thread of RCU, for which the end of a scheduler waits.
//!
//! Then `artis sched stop`, and the kernel after artis was killed, need not wait until a deadline
//! server gives them a turn; kernels before 7.0 have none for tasks of a BPF scheduler. Owns one
//! thread, of the highest real-time priority and on NRT CPUs, which looks ten times a second.
//! Real-time tasks of that priority on every NRT CPU keep it from running, too.

use super::policy;
use super::records::Records;
use artis_machine::CpuList;
use artis_machine::kernel_threads::KernelThread;
use artis_partition::change::{Change, Kind, Target};
use artis_partition::host::scheduling_text;
use artis_task::syscall::{self, Scheduling};
use nix::errno::Errno;
use nix::unistd::gettid;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

const LOOK: Duration = Duration::from_millis(100);

/// It goes on for so long after the last look that found all NRT CPUs beset: a deadline server
/// serves others for a moment once a second.
const LINGER: Duration = Duration::from_secs(3);

/// Of the thread that looks.
const PRIORITY: u32 = 99;
/// Of artis and RCU's thread meanwhile. Not above RT0, should RCU's thread meet it.
const PRIORITY_RAISED: u32 = 98;

const fn fifo(priority: u32) -> Scheduling {
    Scheduling {
        policy: libc::SCHED_FIFO,
        nice: 0,
        priority,
        reset_on_fork: true,
    }
}

/// What is changed of it meanwhile, for the journal.
pub fn change(thread: &KernelThread) -> Change {
    Change {
        kind: Kind::RcuThreadPriority,
        what: thread.name.clone(),
        target: Target::Scheduling {
            tid: thread.tid,
            start_ticks: thread.start_ticks,
        },
        old: scheduling_text(thread.policy, thread.nice, thread.priority),
        new: scheduling_text(libc::SCHED_FIFO, 0, PRIORITY_RAISED),
        detour: None,
        reason: "the end of a scheduler waits for it".to_owned(),
    }
}

/// The thread that looks. Ends, and takes everything back, when dropped.
pub struct Urgency {
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Urgency {
    /// Looks at the records of these NRT CPUs, for the thread that calls this.
    pub fn watch(records: Records, nrt: CpuList, rcu: Option<KernelThread>) -> Self {
        let ends = Arc::new(AtomicBool::new(false));
        let (ending, artis) = (Arc::clone(&ends), gettid().as_raw());
        let looks = move || look_on(&records, &nrt, artis, rcu.map(|one| one.tid), &ending);
        Self {
            ends,
            thread: thread::Builder::new()
                .name("artis-urgent".to_owned())
                .spawn(looks)
                .ok(),
        }
    }
}

impl Drop for Urgency {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It does not panic.
            let _ = thread.join();
        }
    }
}

/// Where this thread may not be a real-time task, it changes nothing of the others either.
fn look_on(records: &Records, nrt: &CpuList, artis: i32, rcu: Option<i32>, ends: &AtomicBool) {
    if syscall::set_affinity(0, nrt).is_err() || syscall::set_scheduling(0, fifo(PRIORITY)).is_err()
    {
        return;
    }
    let mut raised: Option<Raised> = None;
    let mut last_beset = Instant::now();
    while !ends.load(Ordering::Relaxed) {
        if is_beset(records, nrt) {
            last_beset = Instant::now();
            raised.get_or_insert_with(|| Raised::raise(artis, rcu));
        } else if last_beset.elapsed() > LINGER {
            raised = None;
        }
        thread::park_timeout(LOOK);
    }
}

/// Do real-time tasks keep all these CPUs that are online?
fn is_beset(records: &Records, nrt: &CpuList) -> bool {
    let mut online = nrt.iter().filter_map(|cpu| records.online(cpu)).peekable();
    online.peek().is_some() && online.all(|record| policy::is_beset_long(record.beset_ns()))
}

/// Threads that are real-time tasks for a while, and what they were.
struct Raised(Vec<(i32, Scheduling)>);

impl Raised {
    fn raise(artis: i32, rcu: Option<i32>) -> Self {
        let raise = |tid| -> Result<(i32, Scheduling), Errno> {
            let before = syscall::scheduling(tid)?;
            let reset_on_fork = tid == artis;
            let to = Scheduling {
                reset_on_fork,
                ..fifo(PRIORITY_RAISED)
            };
            syscall::set_scheduling(tid, to).map(|()| (tid, before))
        };
        // A kernel that refuses leaves the thread as it is; its turn comes by a deadline server.
        Self(
            [Some(artis), rcu]
                .into_iter()
                .flatten()
                .flat_map(raise)
                .collect(),
        )
    }
}

impl Drop for Raised {
    fn drop(&mut self) {
        for (tid, before) in &self.0 {
            // The journal has RCU's thread, too.
            let _ = syscall::set_scheduling(*tid, *before);
        }
    }
}
