// SPDX-License-Identifier: GPL-2.0-only
//! What happens when a step fails, or artis dies there, for every step.

use super::*;
use crate::change::{Kind, Target};
use crate::cycle;
use crate::host::Step;
use crate::plan::{Plan, Request};
use artis_machine::Root;
use artis_testing::canned;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fs;

const FILES: [(&str, &str); 16] = [
    ("proc/sys/kernel/random/boot_id", "first\n"),
    ("proc/sys/kernel/timer_migration", "1\n"),
    ("proc/sys/kernel/watchdog_cpumask", "0-3\n"),
    ("proc/sys/kernel/sched_rt_runtime_us", "950000\n"),
    ("proc/irq/default_smp_affinity", "f\n"),
    ("proc/irq/24/smp_affinity_list", "0-3\n"),
    ("proc/irq/24/effective_affinity_list", "3\n"),
    ("proc/irq/24/virtio0/x", ""),
    ("proc/irq/25/smp_affinity_list", "0-1\n"),
    ("proc/irq/25/virtio1/x", ""),
    ("sys/devices/system/cpu/online", "0-3\n"),
    ("sys/devices/system/cpu/possible", "0-3\n"),
    ("sys/devices/virtual/workqueue/cpumask", "f\n"),
    ("sys/devices/virtual/workqueue/writeback/cpumask", "f\n"),
    (
        "sys/kernel/debug/sched/fair_server/cpu3/runtime",
        "50000000\n",
    ),
    (
        "sys/devices/system/cpu/cpu3/cpufreq/scaling_governor",
        "schedutil\n",
    ),
];

fn rt() -> CpuList {
    "3".parse().unwrap()
}

/// Every setting of the canned machine.
fn settings(root: &Root) -> BTreeMap<&'static str, String> {
    FILES
        .iter()
        .map(|(path, _)| (*path, root.read(path).unwrap().unwrap()))
        .collect()
}

fn wanted(root: &Root) -> Vec<Change> {
    let request = Request::new(root, &rt()).unwrap();
    Plan::make(root, &request).changes
}

/// What `artis partition apply` does.
fn apply(host: &Host<'_>) -> Result<Applied, Error> {
    let transaction = Transaction::begin(host)?;
    transaction.revert(Owner::Partition)?.whole()?;
    let (changes, _) = planned_here(host, Owner::Partition, wanted(&host.root))?;
    transaction.apply(Owner::Partition, &rt(), changes)
}

fn reset(host: &Host<'_>) -> Result<Reverted, Error> {
    Transaction::begin(host)?.revert(Owner::Partition)
}

fn journals(root: &Root) -> usize {
    ["var/lib/artis", "run/artis/journal"]
        .iter()
        .filter_map(|folder| fs::read_dir(root.path(folder)).ok())
        .flat_map(|entries| entries.flatten())
        .filter(|entry| entry.path().extension().is_some_and(|one| one == "json"))
        .count()
}

/// A machine that refuses some steps, by their numbers from 0.
fn refusing(root: &Root, refuses: impl Fn(usize) -> bool + 'static) -> Host<'static> {
    let count = Cell::new(0);
    Host::announcing(root.clone(), move |_| {
        let number = count.replace(count.get() + 1);
        if refuses(number) {
            return Err(io::Error::other("injected"));
        }
        Ok(())
    })
}

/// As if the process died before this step: it changes nothing any more.
fn dead_from(root: &Root, step: usize) -> Host<'static> {
    refusing(root, move |number| number >= step)
}

/// The steps of an undisturbed apply, in their order.
fn steps() -> Vec<Step> {
    let (_folder, root) = canned(&FILES);
    let seen = RefCell::new(Vec::new());
    let host = Host::announcing(root, |step| {
        seen.borrow_mut().push(step);
        Ok(())
    });
    apply(&host).unwrap();
    drop(host);
    seen.into_inner()
}

#[test]
fn everything_is_on_disk_before_the_first_change() {
    let steps = steps();
    let first_set = steps.iter().position(|step| *step == Step::Set).unwrap();
    let (before, after) = steps.split_at(first_set);
    for step in [Step::Create, Step::Write, Step::Sync, Step::Rename] {
        assert!(before.contains(&step), "{steps:?}");
    }
    assert!(after.iter().all(|step| *step == Step::Set), "{steps:?}");
    // Servers, migration, default, 24, masks, watchdog, governor; 25 is not on an RT CPU.
    assert_eq!(after.len(), 8);
}

#[test]
fn apply_then_reset_leaves_everything_as_before() {
    let (_folder, root) = canned(&FILES);
    let before = settings(&root);
    let host = Host::at(root.clone());
    let applied = apply(&host).unwrap();
    assert_eq!(applied.made.len(), 8);
    assert_ne!(settings(&root), before);
    assert!(in_force(&host).unwrap()[0].is_whole());
    let reverted = reset(&host).unwrap();
    assert_eq!(reverted.restored.len(), 8);
    assert!(reverted.foreign.is_empty() && reverted.failed.is_empty());
    assert_eq!(settings(&root), before);
    assert_eq!(journals(&root), 0);
    assert!(in_force(&host).unwrap().is_empty());
    assert!(reset(&host).unwrap().restored.is_empty());
}

/// A machine that refuses each change of this kind, as a kernel does.
fn forbidding(
    root: &Root,
    errno: i32,
    forbidden: impl Fn(usize) -> bool + 'static,
) -> Host<'static> {
    let count = Cell::new(0);
    Host::announcing(root.clone(), move |step| {
        if step != Step::Set {
            return Ok(());
        }
        let number = count.replace(count.get() + 1);
        match forbidden(number) {
            true => Err(io::Error::from_raw_os_error(errno)),
            false => Ok(()),
        }
    })
}

/// What a kernel, a security module or a container forbids is one change less, whichever it is.
#[test]
fn a_refused_change_is_left_out_and_the_others_are_made() {
    for errno in [
        libc::EPERM,
        libc::EACCES,
        libc::EROFS,
        libc::EBUSY,
        libc::EOPNOTSUPP,
    ] {
        for forbidden in 0..8 {
            let (_folder, root) = canned(&FILES);
            let before = settings(&root);
            let host = forbidding(&root, errno, move |number| number == forbidden);
            let applied = apply(&host).unwrap();
            assert_eq!((applied.made.len(), applied.refused.len()), (7, 1));
            reset(&Host::at(root.clone())).unwrap().whole().unwrap();
            assert_eq!(settings(&root), before);
        }
    }
}

/// Half a shield is none: what was made of it is taken back.
#[test]
fn a_shield_is_made_whole_or_not_at_all() {
    const GROUPS: [(&str, &str); 2] = [
        ("sys/fs/cgroup/cgroup.controllers", "cpuset cpu\n"),
        ("sys/fs/cgroup/cgroup.subtree_control", "cpuset cpu\n"),
    ];
    let (_folder, root) = canned(&[&FILES[..], &GROUPS].concat());
    let request = Request {
        shield: true,
        ..Request::new(&root, &rt()).unwrap()
    };
    let changes = Plan::make(&root, &request).changes;
    // A canned group has no files, so its CPUs cannot be set.
    let host = Host::at(root.clone());
    let (changes, _) = planned_here(&host, Owner::Partition, changes).unwrap();
    let begun = Transaction::begin(&host).unwrap();
    let applied = begun.apply(Owner::Partition, &rt(), changes).unwrap();
    assert_eq!(applied.refused.len(), 1, "{:?}", applied.refused);
    assert_eq!(applied.refused[0].change.kind, Kind::CpusetShield);
    assert!(
        applied
            .made
            .iter()
            .all(|one| one.kind != Kind::CpusetShield)
    );
    assert!(!root.exists("/sys/fs/cgroup/artis-rt"));
    begun.revert(Owner::Partition).unwrap().whole().unwrap();
}

#[test]
fn reset_reverts_the_last_change_first() {
    let (_folder, root) = canned(&FILES);
    let host = Host::at(root);
    let made = apply(&host).unwrap().made;
    let mut restored = reset(&host).unwrap().restored;
    restored.reverse();
    assert_eq!(restored, made);
}

/// One step fails, everything after it works: all or nothing, at once.
#[test]
fn a_failing_step_changes_nothing() {
    for failing in 0..steps().len() {
        let (_folder, root) = canned(&FILES);
        let before = settings(&root);
        let host = refusing(&root, move |number| number == failing);
        match apply(&host) {
            // The step was in the first folder for journals, and the second one served.
            Ok(_) => assert!(failing < 6, "step {failing} failed and nobody noticed"),
            Err(_) => {
                assert_eq!(settings(&root), before, "after a failing step {failing}");
                assert_eq!(journals(&root), 0, "after a failing step {failing}");
            }
        }
        reset(&Host::at(root.clone())).unwrap();
        assert_eq!(
            settings(&root),
            before,
            "reset after a failing step {failing}"
        );
    }
}

/// The process dies before a step; from then on it changes nothing. Another process cleans up.
#[test]
fn dying_before_any_step_leaves_a_machine_that_can_be_put_in_order() {
    for dying in 0..=steps().len() {
        for by_apply in [false, true] {
            let (_folder, root) = canned(&FILES);
            let before = settings(&root);
            let dead = dead_from(&root, dying);
            let _ = apply(&dead);
            let successor = Host::at(root.clone());
            if by_apply {
                assert_eq!(apply(&successor).unwrap().made.len(), 8, "dead at {dying}");
                assert!(in_force(&successor).unwrap()[0].is_whole());
            }
            let reverted = reset(&successor).unwrap();
            assert!(reverted.foreign.is_empty(), "dead at {dying}: {reverted:?}");
            assert_eq!(settings(&root), before, "dead at {dying}");
            assert_eq!(journals(&root), 0, "dead at {dying}");
        }
    }
}

/// The same during a reset.
#[test]
fn after_dying_in_a_reset_another_reset_completes_it() {
    for dying in 0..10 {
        let (_folder, root) = canned(&FILES);
        let before = settings(&root);
        apply(&Host::at(root.clone())).unwrap();
        let dead = dead_from(&root, dying);
        let _ = reset(&dead);
        let reverted = reset(&Host::at(root.clone())).unwrap();
        assert!(reverted.foreign.is_empty() && reverted.failed.is_empty());
        assert_eq!(settings(&root), before, "dead at {dying}");
    }
}

/// No journal can be written any more, anywhere.
#[test]
fn a_full_disk_prevents_every_change_and_no_reset() {
    let (_folder, root) = canned(&FILES);
    let before = settings(&root);
    let full = || {
        Host::announcing(root.clone(), |step| match step {
            Step::Create | Step::Write | Step::Sync | Step::Rename => {
                Err(io::ErrorKind::StorageFull.into())
            }
            Step::Set | Step::Remove => Ok(()),
        })
    };
    let error = apply(&full()).unwrap_err();
    assert!(error.to_string().contains("nothing was changed"), "{error}");
    assert_eq!(settings(&root), before);
    apply(&Host::at(root.clone())).unwrap();
    assert_eq!(reset(&full()).unwrap().restored.len(), 8);
    assert_eq!(settings(&root), before);
    assert_eq!(journals(&root), 0);
}

#[test]
fn what_ended_with_the_boot_is_not_reverted() {
    let (_folder, root) = canned(&FILES);
    let host = Host::at(root.clone());
    apply(&host).unwrap();
    for (path, text) in FILES {
        fs::write(root.path(path), text).unwrap();
    }
    fs::write(root.path("/proc/sys/kernel/random/boot_id"), "second\n").unwrap();
    // The user has set this in the new boot, by chance to artis's value.
    fs::write(root.path("/proc/sys/kernel/timer_migration"), "0\n").unwrap();
    let before = settings(&root);
    assert!(in_force(&host).unwrap().is_empty());
    let reverted = reset(&host).unwrap();
    assert!(reverted.rebooted && reverted.restored.is_empty());
    assert_eq!(settings(&root), before);
    assert_eq!(journals(&root), 0);
}

#[test]
fn what_somebody_else_changed_since_is_reported_and_stays() {
    let (_folder, root) = canned(&FILES);
    let host = Host::at(root.clone());
    apply(&host).unwrap();
    fs::write(root.path("/proc/irq/24/smp_affinity_list"), "1").unwrap();
    let standing = &in_force(&host).unwrap()[0];
    assert!(!standing.is_whole());
    let changed = |one: &&Standing| one.state == State::Changed("1".to_owned());
    assert_eq!(standing.changes.iter().filter(changed).count(), 1);
    let reverted = reset(&host).unwrap();
    assert_eq!(reverted.restored.len(), 7);
    assert_eq!(reverted.foreign[0].now, "1");
    let now = root.read("/proc/irq/24/smp_affinity_list").unwrap();
    assert_eq!(now.as_deref(), Some("1"));
    assert_eq!(journals(&root), 0);
}

#[test]
fn an_interrupt_sent_back_to_its_old_cpu_is_reported_and_gets_its_old_cpus() {
    let (_folder, root) = canned(&FILES);
    let before = settings(&root);
    let host = Host::at(root.clone());
    apply(&host).unwrap();
    fs::write(root.path("/proc/irq/24/smp_affinity_list"), "3").unwrap();
    let reverted = reset(&host).unwrap();
    assert_eq!(reverted.halfway[0].now, "3");
    assert_eq!(reverted.restored.len(), 8);
    assert_eq!(settings(&root), before);
}

#[test]
fn what_is_gone_needs_no_reset() {
    let (_folder, root) = canned(&FILES);
    let host = Host::at(root.clone());
    apply(&host).unwrap();
    fs::remove_dir_all(root.path("/proc/irq/24")).unwrap();
    let reverted = reset(&host).unwrap();
    assert_eq!(reverted.gone.len(), 1);
    assert_eq!(reverted.restored.len(), 7);
}

#[test]
fn the_last_owner_reverts_what_two_changed() {
    let owners = [Owner::Partition, Owner::Sched];
    for first in owners {
        let (_folder, root) = canned(&FILES);
        let before = settings(&root);
        let host = Host::at(root.clone());
        let begin = || Transaction::begin(&host).unwrap();
        apply(&host).unwrap();
        let sharing = Plan::for_sharing(&root, &rt(), &"0-2".parse().unwrap()).changes;
        let (changes, left) = planned_here(&host, Owner::Sched, sharing).unwrap();
        assert_eq!((changes.len(), left.len()), (4, 0));
        begin().apply(Owner::Sched, &rt(), changes).unwrap();
        let last = owners.into_iter().find(|owner| *owner != first).unwrap();
        let reverted = begin().revert(first).unwrap();
        assert_eq!(reverted.shared.len(), 4);
        let migration = root.read("/proc/sys/kernel/timer_migration").unwrap();
        assert_eq!(migration.as_deref(), Some("0"));
        begin().revert(last).unwrap();
        assert_eq!(settings(&root), before, "{first:?} first");
    }
}

/// Its settings have to be in force when RT CPUs come back, or the work returns with them.
#[test]
fn rt_cpus_come_back_to_the_settings_of_the_scheduler() {
    let online = "sys/devices/system/cpu/cpu3/online";
    let files = [&FILES[..], &[(online, "1\n")]].concat();
    let (_folder, root) = canned(&files);
    let host = Host::at(root.clone());
    let transaction = Transaction::begin(&host).unwrap();
    let sharing = Plan::for_sharing(&root, &rt(), &"0-2".parse().unwrap());
    let now = || {
        let read = |path: &str| root.read(path).unwrap().unwrap();
        (read("sys/devices/virtual/workqueue/cpumask"), read(online))
    };
    transaction
        .apply(Owner::Sched, &rt(), sharing.changes)
        .unwrap();
    let absence = cycle::plan(&root, &rt()).unwrap();
    transaction.apply(Owner::Cycle, &rt(), absence).unwrap();
    assert_eq!(now(), ("7".to_owned(), "0".to_owned()));
    assert_eq!(in_force(&host).unwrap().len(), 2);
    transaction.revert(Owner::Cycle).unwrap();
    assert_eq!(now(), ("7".to_owned(), "1".to_owned()));
    transaction.revert(Owner::Sched).unwrap();
    assert_eq!(now(), ("f".to_owned(), "1".to_owned()));
}

#[test]
fn what_another_owner_holds_at_another_value_is_left_to_it() {
    let change = |new: &str| Change {
        kind: Kind::TimerMigration,
        what: "timer migration".to_owned(),
        target: Target::file("/proc/x"),
        old: "1".to_owned(),
        new: new.to_owned(),
        detour: None,
        reason: String::new(),
    };
    let other = Journal {
        owner: Owner::Sched,
        boot_id: String::new(),
        pid: 1,
        since: String::new(),
        rt: rt(),
        changes: vec![change("0")],
    };
    let (changes, left) = planned(vec![change("2")], &[other]);
    assert!(changes.is_empty());
    assert!(
        left[0].why.contains("artis sched holds it at 0"),
        "{left:?}"
    );
}

/// Several at once: each waits for the one before, and finds the work done.
#[test]
fn several_at_once_run_one_after_the_other() {
    let (_folder, root) = canned(&FILES);
    let before = settings(&root);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..5 {
                    apply(&Host::at(root.clone())).unwrap();
                }
            });
        }
    });
    let reverted = reset(&Host::at(root.clone())).unwrap();
    assert_eq!(reverted.restored.len(), 8);
    assert!(reverted.foreign.is_empty());
    assert_eq!(settings(&root), before);
}

#[test]
fn a_kernel_that_accepts_a_value_and_sets_another_is_noticed() {
    let (_folder, root) = canned(&FILES);
    let before = settings(&root);
    let mut changes = wanted(&root);
    // Reads are trimmed, so this value reads back differently.
    for change in &mut changes {
        if change.kind == Kind::Governor {
            change.new = "fast ".to_owned();
        }
    }
    let host = Host::at(root.clone());
    let transaction = Transaction::begin(&host).unwrap();
    let applied = transaction.apply(Owner::Partition, &rt(), changes).unwrap();
    let why = &applied.refused[0].why;
    assert!(why.contains("made it"), "{why}");
    transaction
        .revert(Owner::Partition)
        .unwrap()
        .whole()
        .unwrap();
    assert_eq!(settings(&root), before);
}
