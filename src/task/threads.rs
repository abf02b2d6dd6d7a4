// SPDX-License-Identifier: GPL-2.0-only
//! The threads of a process, even while it creates new ones.

use super::class::{Class, Error};
use artis_machine::Root;
use std::collections::BTreeSet;

/// Makes every thread of a process a task of this class, and returns how many there were.
///
/// A thread that an unchanged one creates starts in the old class, so this lists the threads again
/// until there is no new one. Threads that end meanwhile are left out.
///
/// # Errors
/// [`Error::NoSuchTask`] when there is no such process; the first refusal, with the threads
/// before it changed.
pub fn apply_to_all(root: &Root, pid: i32, class: Class) -> Result<usize, Error> {
    visit_all(
        || threads(root, pid),
        |tid| match class.apply(root, tid) {
            Ok(()) => Ok(true),
            Err(Error::NoSuchTask { .. }) => Ok(false),
            Err(error) => Err(error),
        },
    )
    .and_then(|count| match count {
        0 => Err(Error::NoSuchTask { tid: pid }),
        count => Ok(count),
    })
}

/// The thread numbers of a process; none when there is no such process.
pub fn threads(root: &Root, pid: i32) -> BTreeSet<i32> {
    let names = root.names(format!("/proc/{pid}/task")).unwrap_or_default();
    names.iter().filter_map(|name| name.parse().ok()).collect()
}

/// Visits what `list` gives until it gives nothing new; counts the visits that returned true.
fn visit_all<E>(
    mut list: impl FnMut() -> BTreeSet<i32>,
    mut visit: impl FnMut(i32) -> Result<bool, E>,
) -> Result<usize, E> {
    let mut seen = BTreeSet::new();
    let mut count = 0;
    loop {
        let new: Vec<i32> = list().difference(&seen).copied().collect();
        if new.is_empty() {
            return Ok(count);
        }
        for tid in new {
            count += usize::from(visit(tid)?);
            seen.insert(tid);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    #[test]
    fn lists_the_threads_below_the_root() {
        let (_folder, root) = canned(&[("proc/42/task/42/comm", ""), ("proc/42/task/57/comm", "")]);
        assert_eq!(threads(&root, 42), BTreeSet::from([42, 57]));
        assert!(threads(&root, 43).is_empty());
    }

    #[test]
    fn looks_again_until_no_thread_is_new_and_visits_each_once() {
        let mut lists = vec![
            BTreeSet::from([1, 2, 3, 4]),
            BTreeSet::from([1, 2, 3, 4]),
            BTreeSet::from([1, 3]),
            BTreeSet::from([1, 2]),
        ];
        let mut visited = Vec::new();
        let count = visit_all(
            || lists.pop().unwrap(),
            |tid| {
                visited.push(tid);
                Ok::<_, ()>(tid != 2)
            },
        );
        // The first list is the last of the vector; 2 had ended when it was visited.
        assert_eq!(visited, [1, 2, 3, 4]);
        assert_eq!(count, Ok(3));
        assert!(lists.is_empty());
    }

    #[test]
    fn the_first_refusal_ends_the_visits() {
        let visits = visit_all(|| BTreeSet::from([1, 2]), Err::<bool, _>);
        assert_eq!(visits, Err(1));
    }
}
