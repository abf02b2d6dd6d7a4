// SPDX-License-Identifier: GPL-2.0-only
//! Keeps artis's own thread off the CPUs that are measured, where it may use another: it looks at
//! the measuring threads meanwhile, and whatever it starts (the sign of life) stays off, too.

use artis_machine::CpuList;
use artis_task::syscall::{affinity, set_affinity};

/// Gives the calling thread its CPUs back when it is dropped.
pub struct Aside {
    before: CpuList,
}

impl Aside {
    /// None where it may use no other CPU.
    pub fn of(measured: &CpuList) -> Option<Self> {
        let before = affinity(0).ok()?;
        let others = &before - measured;
        if others.is_empty() {
            return None;
        }
        set_affinity(0, &others).ok()?;
        Some(Self { before })
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // A CPU that has gone meanwhile is no loss.
        let _ = set_affinity(0, &self.before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_stays_off_until_it_is_over() {
        std::thread::spawn(|| {
            let before = affinity(0).unwrap();
            let last: CpuList = before.last().into_iter().collect();
            let others = &before - &last;
            let aside = Aside::of(&last);
            assert_eq!(aside.is_some(), !others.is_empty());
            if aside.is_some() {
                assert_eq!(affinity(0).unwrap(), others);
            }
            drop(aside);
            assert_eq!(affinity(0).unwrap(), before);
            assert!(Aside::of(&before).is_none());
        })
        .join()
        .unwrap();
    }
}
