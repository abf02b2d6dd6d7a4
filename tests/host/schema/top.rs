// SPDX-License-Identifier: GPL-2.0-only
//! `docs/top.schema.json`.

use super::Published;
use artis::machine::CpuList;
use artis::machine::tasks::Policy;
use artis::sched::detector::Detector;
use artis::sched::status::{CpuTimes, Details};
use artis::task::kind::Kind;
use artis_monitor::now::{
    Admitted, Cpu, Culprit, Holder, Lengths, Now, Partition, Role, Rt0, Rt1, SCHEMA, Wakeups, Watch,
};
use artis_watch::Histogram;
use serde_json::{Value, json};

pub fn published() -> Published {
    Published::new(include_str!("../../../docs/top.schema.json"))
}

fn details() -> Details {
    let list = |text: &str| CpuList::from_kernel(text).unwrap();
    Details {
        pid: 7,
        since: "2026-11-30T23:00:00Z".to_owned(),
        uptime_s: 60,
        kernel: "7.1".to_owned(),
        rt_cpus: list("2-3"),
        nrt_cpus: list("0-1"),
        rt_cpus_offline: list("3"),
        detector: Detector::Syscall,
        detector_blind_spots: vec!["signals".to_owned()],
        counters: [("leaks_fault".to_owned(), 2)].into(),
        linux_wait_ns_max: 1,
        leave_ns_max: 1,
        rt_cpu_times: vec![CpuTimes {
            cpu: 2,
            linux_ns: 1,
            rt1_ns: 1,
            kthread_ns: 1,
            offline_ns: 1,
            idle_ns: Some(1),
            rt0_and_interrupts_ns: Some(1),
        }],
    }
}

fn wakeups() -> Wakeups {
    let mut counts = vec![0; 40];
    counts[30] = 5;
    let lengths = Lengths::of(&Histogram::new(&counts, 9_000));
    Wakeups {
        rate: Some(999.5),
        count: 10,
        late: lengths.clone(),
        queued: lengths,
        above: Some(1),
        unseen: 0,
    }
}

/// A document in which nothing is absent. Every field is here by name, so that a new one does not
/// compile until it is here, and does not pass until the schema has it.
fn whole() -> Now {
    let text = |text: &str| text.to_owned();
    Now {
        schema: SCHEMA,
        tool: "0.1.0",
        kernel: text("7.1"),
        watched_s: 42.5,
        scheduler: Some(details()),
        watch: Watch {
            is_on: true,
            bound_ns: Some(1),
            not_kept: 1,
            missed: 1,
            recordings: 1,
            is_recording: false,
        },
        cpus: vec![Cpu {
            cpu: 0,
            role: Role::Rt,
            busy: Some(0.5),
            stolen: Some(0.0),
            holder: Some(Holder {
                tid: 9,
                name: text("make"),
                class: Kind::Linux,
                share: 0.4,
            }),
        }],
        rt0: vec![Rt0 {
            tid: 11,
            pid: 11,
            name: text("controller"),
            class: Kind::Rt0,
            policy: Policy::Fifo,
            priority: 80,
            cpu: 2,
            wakeups: Some(wakeups()),
            admitted: Some(Admitted {
                bound_ns: Some(1),
                deadline_ns: 2,
                period_ns: 2,
                is_forced: false,
            }),
        }],
        rt1: vec![Rt1 {
            tid: 21,
            pid: 21,
            name: text("solver"),
            level: 10,
            cpu: 3,
            share: Some(0.9),
        }],
        partition: Partition {
            changes: Some(3),
            drifted: vec![text("/proc/irq/9/smp_affinity")],
        },
        culprits: vec![Culprit {
            at: text("2026-11-30T23:01:02Z"),
            tid: 12,
            thread: text("camera"),
            late_ns: 2,
            lane: text("device"),
            who: Some(text("eth0")),
            ns: 1,
        }],
        unknown: vec![text("the journals cannot be read")],
    }
}

fn written(now: &Now) -> Value {
    serde_json::to_value(now).unwrap()
}

#[test]
fn the_schema_promises_what_is_written_and_nothing_else() {
    let (schema, whole) = (published(), written(&whole()));
    schema.assert_valid(&whole);
    schema.assert_promises_only(&whole);
    // Names of counters are free.
    schema.assert_knows(&whole, &["leaks_fault"]);
}

#[test]
fn what_is_not_known_is_null() {
    let mut bare = whole();
    bare.scheduler = None;
    bare.watch.bound_ns = None;
    (bare.cpus[0].busy, bare.cpus[0].stolen, bare.cpus[0].holder) = (None, None, None);
    (bare.rt0[0].wakeups, bare.rt0[0].admitted, bare.rt1[0].share) = (None, None, None);
    bare.partition.changes = None;
    bare.culprits[0].who = None;
    published().assert_valid(&written(&bare));
    let mut empty = whole();
    let wakeups = empty.rt0[0].wakeups.as_mut().unwrap();
    (wakeups.rate, wakeups.above) = (None, None);
    wakeups.late = Lengths::of(&Histogram::new(&[0; 40], 0));
    empty.rt0[0].admitted.as_mut().unwrap().bound_ns = None;
    let times = &mut empty.scheduler.as_mut().unwrap().rt_cpu_times[0];
    (times.idle_ns, times.rt0_and_interrupts_ns) = (None, None);
    published().assert_valid(&written(&empty));
}

#[test]
fn every_class_role_and_policy_is_in_the_schema() {
    let mut now = whole();
    use Kind::{Deadline, Kernel, Linux, Unbound};
    for class in [Kind::Rt0, Deadline, Unbound, Kind::Rt1, Linux, Kernel] {
        now.rt0[0].class = class;
        published().assert_valid(&written(&now));
    }
    for role in [
        Role::Rt,
        Role::Nrt,
        Role::Isolated,
        Role::Any,
        Role::Offline,
    ] {
        now.cpus[0].role = role;
        published().assert_valid(&written(&now));
    }
    for number in 0..9 {
        now.rt0[0].policy = Policy::from_number(number);
        published().assert_valid(&written(&now));
    }
    for detector in [Detector::Breakpoint, Detector::Syscall, Detector::Entry] {
        now.scheduler.as_mut().unwrap().detector = detector;
        published().assert_valid(&written(&now));
    }
}

#[test]
fn damaged_documents_do_not_fit() {
    let damages = [
        ("/schema", json!("artis.top/2")),
        ("/watched_s", json!("long")),
        ("/scheduler", json!("artis")),
        ("/scheduler/detector", json!("luck")),
        ("/scheduler/counters/leaks_fault", json!(-1)),
        ("/watch/is_on", json!(1)),
        ("/cpus/0/role", json!("RT")),
        ("/cpus/0/holder/class", json!("batch")),
        ("/rt0/0/policy", json!("SCHED_FIFO")),
        ("/rt0/0/wakeups/late/max_ns", json!(0.5)),
        ("/rt0/0/admitted/deadline_ns", json!(null)),
        ("/rt1/0/level", json!(41)),
        ("/partition/drifted", json!("all")),
        ("/culprits/0/who", json!(7)),
    ];
    published().assert_takes_none(&written(&whole()), &damages);
}
