// SPDX-License-Identifier: GPL-2.0-only
//! The kernel's trace, which a measurement can freeze on the spot when a threshold is passed.
//!
//! Finds the switch, and says when the trace will be empty. Never changes anything here.
//! Source: `Documentation/trace/ftrace.rst` and `events.rst`.

use artis_machine::Root;
use artis_result::Warning;
use std::fs::File;
use std::io;

/// Where tracefs is mounted; the second place is the older one.
const FOLDERS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Why the trace cannot be frozen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(
        "-b freezes the kernel's trace, and tracefs is not mounted; run: mount -t tracefs nodev {}",
        FOLDERS[0]
    )]
    NotMounted,
    #[error("cannot open {path}; run artis as root")]
    Closed { path: String, source: io::Error },
}

/// Opens the switch that stops the tracer: writing `0` freezes what it holds.
///
/// # Errors
/// When tracefs is not mounted, or its files cannot be written.
pub fn switch(root: &Root) -> Result<File, Error> {
    let path = format!("{}/tracing_on", folder(root).ok_or(Error::NotMounted)?);
    File::options()
        .write(true)
        .open(root.path(&path))
        .map_err(|source| Error::Closed { path, source })
}

/// The finding that nothing is traced: no event is enabled and no tracer is chosen, or the tracer
/// is stopped.
pub fn empty(root: &Root) -> Option<Warning> {
    let folder = folder(root)?;
    let is = |name: &str, value: &str| {
        let text = root.hint(format!("{folder}/{name}"));
        text.is_some_and(|text| text.trim() == value)
    };
    let (seen, file) = if is("tracing_on", "0") {
        ("the kernel's tracer is stopped", "tracing_on")
    } else if is("events/enable", "0") && is("current_tracer", "nop") {
        ("no trace events are enabled", "events/sched/enable")
    } else {
        return None;
    };
    Some(Warning {
        id: "empty_trace".to_owned(),
        // The command stands here too: without it nobody gets what -b is for.
        seen: format!(
            "{seen}, so -b freezes an empty trace; type `echo 1 | sudo tee {folder}/{file}` first"
        ),
        why: "the trace is to show what the kernel did before the late wakeup".to_owned(),
        fix: Some(format!(
            "`echo 1 | sudo tee {folder}/{file}`; afterwards the trace is in {folder}/trace"
        )),
    })
}

fn folder(root: &Root) -> Option<&'static str> {
    let mounted = |folder: &&str| root.exists(format!("{folder}/tracing_on"));
    FOLDERS.into_iter().find(mounted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use artis_testing::canned;

    fn found(tracing_on: &str, events: &str, tracer: &str) -> Option<String> {
        let (_folder, root) = canned(&[
            ("sys/kernel/tracing/tracing_on", tracing_on),
            ("sys/kernel/tracing/events/enable", events),
            ("sys/kernel/tracing/current_tracer", tracer),
        ]);
        assert!(switch(&root).is_ok());
        empty(&root).map(|warning| warning.seen)
    }

    #[test]
    fn an_empty_trace_is_found_with_the_command_that_fills_it() {
        let seen = found("1\n", "0\n", "nop\n").unwrap();
        assert!(
            seen.contains("sudo tee /sys/kernel/tracing/events/sched/enable"),
            "{seen}"
        );
        let seen = found("0\n", "1\n", "nop\n").unwrap();
        assert!(
            seen.contains("sudo tee /sys/kernel/tracing/tracing_on"),
            "{seen}"
        );
    }

    #[test]
    fn a_trace_with_events_or_a_tracer_is_fine() {
        assert_eq!(found("1\n", "X\n", "nop\n"), None);
        assert_eq!(found("1\n", "0\n", "function\n"), None);
        let (_folder, root) = canned(&[]);
        assert_eq!(empty(&root), None);
        assert!(matches!(switch(&root), Err(Error::NotMounted)));
    }
}
