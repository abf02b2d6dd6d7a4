// SPDX-License-Identifier: GPL-2.0-only
//! `artis partition` on real kernels, the newest normal one and the newest `-rt` one, in QEMU.
//!
//! Four CPUs, of which 3 is RT. The guest's interrupts are those of the virtio serial port (MSI-X)
//! and of the serial line (IO-APIC), and where a test asks for them, of a disk and a network card.

use super::sched::{HOG_ON_NRT, TWO_OF_FOUR};
use super::shared::{Group, Script};
use serde_json::Value;

on_kernel!(normal, "newest":
    apply_then_reset_leaves_everything_as_before,
    killed_or_failing_at_any_step_the_machine_is_put_in_order,
    movable_interrupts_leave_the_rt_cpu,
    two_owners_and_somebody_else,
);

on_kernel!(rt, "newest-rt":
    apply_then_reset_leaves_everything_as_before,
    killed_or_failing_at_any_step_the_machine_is_put_in_order,
    movable_interrupts_leave_the_rt_cpu,
    two_owners_and_somebody_else,
);

pub static FOUR_CPUS: Group = Group {
    name: "four CPUs",
    options: &["--cpus", "4"],
    scripts: &[
        &APPLY_THEN_RESET,
        &APPLY_THEN_RESET_SHIELD,
        &WALK,
        &TWO_OWNERS,
        &TWO_OF_FOUR,
        &HOG_ON_NRT,
        &super::starved::STRESSORS,
    ],
};

/// With MSI-X, each queue of the disk belongs to a CPU and its interrupt is managed.
static DEVICES: Group = Group {
    name: "four CPUs, disk, network",
    options: &["--cpus", "4", "--disk", "64M", "--network", "user"],
    scripts: &[&MOVABLE],
};

/// Without, disk and card interrupt through the IO-APIC and can be moved as everything else.
static DEVICES_NO_MSI: Group = Group {
    name: "four CPUs, disk, network, pci=nomsi",
    options: &[
        "--cpus",
        "4",
        "--disk",
        "64M",
        "--network",
        "user",
        "--append",
        "pci=nomsi",
    ],
    scripts: &[&MOVABLE],
};

/// The number in the first line of the script's output that starts with this word.
#[track_caller]
fn number(stdout: &str, word: &str) -> u64 {
    stdout
        .lines()
        .find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
        .unwrap_or_else(|| panic!("no {word} in {stdout}"))
}

macro_rules! apply_then_reset {
    ($shield:literal) => {
        concat!(
            "shield='",
            $shield,
            "'\n",
            r#"probe settings >/tmp/before
            artis partition apply --rt 3 --priority 40 $shield >/tmp/apply || die 'apply failed'
            probe since /tmp/before
            artis partition show >/tmp/show || die 'show failed'
            grep -q 'not in force' /tmp/show && die "$(cat /tmp/show)"
            # Some interrupts move when they next come: they do, until all is put back.
            while :; do echo x >&3; echo x >/dev/ttyS0; usleep 10000; done & load=$!
            usleep 500000
            artis partition reset >/tmp/reset || die 'reset failed'
            kill $load
            echo; echo reset
            probe since /tmp/before
            cat /tmp/reset"#
        )
    };
}

static APPLY_THEN_RESET: Script = Script {
    name: "partition::apply_then_reset_leaves_everything_as_before",
    rt: true,
    counts: &[],
    text: apply_then_reset!(""),
};

static APPLY_THEN_RESET_SHIELD: Script = Script {
    name: "partition::apply_then_reset_leaves_everything_as_before.shield",
    rt: true,
    counts: &[],
    text: apply_then_reset!("--shield"),
};

/// Every file, every thread, with and without a shield.
fn apply_then_reset_leaves_everything_as_before(kernel: &str) {
    for script in [&APPLY_THEN_RESET, &APPLY_THEN_RESET_SHIELD] {
        let stdout = FOUR_CPUS.ran(kernel, script).stdout;
        let (applied, reset) = stdout.split_once("\nreset\n").unwrap();
        assert!(number(applied, "differences ") > 30, "{stdout}");
        assert_eq!(number(reset, "differences "), 0, "{stdout}");
        assert!(number(reset, "same ") > 200, "{stdout}");
        assert!(!reset.contains("somebody"), "{stdout}");
    }
}

/// On a -rt kernel every third step is enough until `make soak`: the steps are the same.
static WALK: Script = Script {
    name: "partition::killed_or_failing_at_any_step_the_machine_is_put_in_order",
    rt: true,
    counts: &[("SOAK", 0, 1)],
    text: "every=1
        case $SOAK$(uname -v) in 0*PREEMPT_RT*) every=3 ;; esac
        probe partition dies 3 $every || die 'the walk of dying'
        probe partition fails 3 $every || die 'the walk of failing'",
};

fn killed_or_failing_at_any_step_the_machine_is_put_in_order(kernel: &str) {
    let stdout = FOUR_CPUS.ran(kernel, &WALK).stdout;
    println!("{kernel}: {stdout}");
    assert!(number(&stdout, "steps ") > 30, "{stdout}");
}

static MOVABLE: Script = Script {
    name: "partition::movable_interrupts_leave_the_rt_cpu",
    rt: true,
    counts: &[],
    text: r#"while :; do echo "a line for both ports" | tee /dev/ttyS0 >&3; usleep 20000; done &
        read_disk() { taskset -c $1 dd if=/dev/vda of=/dev/null bs=4k iflag=direct status=none; }
        while :; do read_disk 0-2; done &
        while :; do read_disk 3; done &
        ping -A -q 10.0.2.2 &
        for file in /proc/irq/*/smp_affinity_list; do echo 3 2>/dev/null >$file; done
        # An interrupt moves when it next comes. Are there such that want to be on the CPUs $1, and are
        # not yet on CPU 3 (or off it, when $2 says so)?
        moving() {
            for irq in /proc/irq/[0-9]*; do
                read -r wanted <$irq/smp_affinity_list
                read -r now <$irq/effective_affinity_list
                [ "$now" = 3 ] && is=on || is=off
                [ "$wanted" != "$1" ] || [ $is = $2 ] || return 0
            done
            return 1
        }
        wait_until_moved() {
            tries=0
            while moving "$@" && [ $tries -lt 30 ]; do tries=$((tries + 1)); usleep 100000; done
        }
        wait_until_moved 3 on
        artis irq -D 2 --json >$ARTIS_OUTPUT/before.json
        artis partition plan --rt 3 --json >$ARTIS_OUTPUT/plan.json || die 'plan failed'
        artis partition apply --rt 3 >/dev/null || die 'apply failed'
        wait_until_moved 0-2 off
        artis irq -D 2 --json >$ARTIS_OUTPUT/after.json
        artis partition reset >/dev/null"#,
};

fn movable_interrupts_leave_the_rt_cpu(kernel: &str) {
    for (group, fixed) in [(&DEVICES, true), (&DEVICES_NO_MSI, false)] {
        let ran = group.ran(kernel, &MOVABLE);
        let [before, after] = ["before", "after"].map(|name| ran.json(name));
        println!("{kernel}: before {before:#}, after {after:#}");
        for driver in ["ttyS0", "virtio0", "virtio1", "virtio2"] {
            assert!(came(&before, driver, on_rt) > 0.0, "{driver} before");
            assert!(came(&after, driver, |cpu| !on_rt(cpu)) > 0.0, "{driver}");
        }
        let plan = ran.json("plan");
        let still: Vec<&Value> = devices(&after)
            .filter(|line| line["per_second"].get("3").is_some())
            .collect();
        for line in &still {
            assert_eq!(line["movable"], false, "{line}");
            let number = format!("interrupt {} (", line["label"].as_str().unwrap());
            let named = |left: &Value| left["what"].as_str().unwrap().starts_with(&number);
            let left = plan["left"].as_array().unwrap();
            let left = left.iter().find(|left| named(left)).unwrap();
            assert!(left["why"].as_str().unwrap().contains("managed"), "{left}");
        }
        assert_eq!(!still.is_empty(), fixed, "{still:?}");
    }
}

/// The lines of devices' interrupts in what `artis irq --json` printed.
fn devices(irq: &Value) -> impl Iterator<Item = &Value> {
    let lines = irq["interrupts"].as_array().unwrap();
    lines.iter().filter(|line| !line["affinity"].is_null())
}

fn on_rt(cpu: &str) -> bool {
    cpu == "3"
}

/// How often a second the interrupts of a driver came on these CPUs.
fn came(irq: &Value, driver: &str, cpus: impl Fn(&str) -> bool) -> f64 {
    devices(irq)
        .filter(|line| line["name"].as_str().unwrap().contains(driver))
        .flat_map(|line| line["per_second"].as_object().unwrap())
        .filter(|(cpu, _)| cpus(cpu))
        .map(|(_, rate)| rate.as_f64().unwrap())
        .sum()
}

static TWO_OWNERS: Script = Script {
    name: "partition::two_owners_and_somebody_else",
    rt: true,
    counts: &[],
    text: r#"value() { cat /sys/kernel/debug/sched/fair_server/cpu3/runtime; }
        before=$(value)
        artis partition apply --rt 3 >/dev/null || die 'apply failed'
        [ "$(value)" = 0 ] || die "partitioned: $(value)"
        start --rt 3
        expect 64 artis partition apply --rt 3 --shield
        artis partition show
        artis partition reset
        [ "$(value)" = 0 ] || die "the scheduler still needs it: $(value)"
        stop
        [ "$(value)" = "$before" ] || die "at the end: $(value), not $before"

        artis partition apply --rt 3 >/dev/null || die 'apply failed'
        echo 1 >/proc/sys/kernel/timer_migration
        artis partition reset
        [ -z "$(ls /var/lib/artis)" ] || die "left: $(ls /var/lib/artis)"

        mount -o remount,ro /sys
        expect 2 artis partition apply --rt 3
        artis partition reset
        mount -o remount,rw /sys
        expect 64 artis partition apply --rt 0-3
        expect 64 artis partition apply --rt 0
        expect 64 artis partition plan --rt 9
        ln -s /etc/passwd /var/lib/artis/partition.json
        expect 1 artis partition apply --rt 3
        expect 1 artis partition reset
        rm /var/lib/artis/partition.json
        cat /tmp/expect.err"#,
};

fn two_owners_and_somebody_else(kernel: &str) {
    let stdout = FOUR_CPUS.ran(kernel, &TWO_OWNERS).stdout;
    for words in [
        "artis partition (process",
        "artis sched (process",
        "another part of artis relies on these",
        "not possible for this user: ",
        "leave no NRT CPU",
        "CPU 0 keeps time",
        "no CPU 9",
        "it is a link",
        "leave out --shield",
    ] {
        assert!(stdout.contains(words), "{words}: {stdout}");
    }
    // Set to what it was before, it is nobody's quarrel.
    assert!(!stdout.contains("somebody else"), "{stdout}");
}
