// SPDX-License-Identifier: GPL-2.0-only
//! How long tasks ran on each CPU, to the nanosecond: `/proc/schedstat`.
//!
//! `/proc/stat` samples times at the tick, and misses a task whose own timer is in step with the
//! tick. Source: `Documentation/scheduler/sched-stats.rst`, "CPU statistics".

use super::{Root, Unreadable};
use std::collections::BTreeMap;

/// The file.
pub const FILE: &str = "/proc/schedstat";
/// Place of "time spent running by tasks" behind the CPU's name.
const RUNNING: usize = 6;

/// Time in which each CPU ran a task other than its idle task, ns, from boot to the last switch of
/// tasks. Empty on a kernel without schedstats.
///
/// # Errors
/// When the file cannot be read or understood.
pub fn running_ns(root: &Root) -> Result<BTreeMap<u32, u64>, Unreadable> {
    let text = root.read(FILE)?.unwrap_or_default();
    let mut times = BTreeMap::new();
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let Some(cpu) = words.next().and_then(|word| word.strip_prefix("cpu")) else {
            continue;
        };
        let parsed = cpu
            .parse()
            .ok()
            .zip(words.nth(RUNNING).and_then(|word| word.parse().ok()));
        let (cpu, ns) =
            parsed.ok_or_else(|| root.malformed(FILE, format!("not a line of a CPU: {line:?}")))?;
        times.insert(cpu, ns);
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<BTreeMap<u32, u64>, Unreadable> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("proc")).unwrap();
        std::fs::write(folder.path().join(&FILE[1..]), text).unwrap();
        running_ns(&Root(folder.path().to_owned()))
    }

    #[test]
    fn the_seventh_number_is_the_time() {
        let text = "version 17\ntimestamp 4294892296\ncpu0 0 0 1 2 3 4 123456789 5 6\n\
                    domain0 MC 3 1 2 3\ncpu11 0 0 0 0 0 0 7 0 0\n";
        assert_eq!(
            read(text).unwrap(),
            BTreeMap::from([(0, 123_456_789), (11, 7)])
        );
        assert!(read("cpu0 1 2 3\n").is_err());
        let empty = Root(tempfile::tempdir().unwrap().path().to_owned());
        assert!(running_ns(&empty).unwrap().is_empty());
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in "(cpu[0-9]{0,3}[ 0-9]{0,40}\n|.{0,20}\n){0,5}") {
            let _ = read(&text);
        }
    }
}
