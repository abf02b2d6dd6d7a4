// SPDX-License-Identifier: GPL-2.0-only
//! Kernels that forbid something, booted: what each command says there, and that what is not
//! forbidden is done. `tests/host/machines` has all such machines, canned.

use super::shared::{Group, Script};

on_kernel!(normal, "newest":
    a_locked_down_kernel_is_partitioned_and_scheduled,
    isolcpus_is_named_by_all,
);

/// As Secure Boot does it.
static LOCKED: Group = Group {
    name: "two CPUs, locked down",
    options: &["--append", "lockdown=integrity"],
    scripts: &[&LOCKED_DOWN],
};

static ISOLATED: Group = Group {
    name: "two CPUs, one isolated",
    options: &["--append", "isolcpus=domain,managed_irq,1"],
    scripts: &[&ISOLCPUS],
};

static LOCKED_DOWN: Script = Script {
    name: "machines::a_locked_down_kernel_is_partitioned_and_scheduled",
    rt: false,
    counts: &[],
    text: r#"locked() { grep -q 'locked down (Secure Boot)' $1 || die "$1: $(cat $1)"; }
        cat /sys/kernel/debug/sched/preempt 2>/dev/null && die 'it is not locked down'
        artis check --cpus 1 | tr -s ' \n' ' ' >/tmp/check
        locked /tmp/check
        expect 0 artis sched run --rt 1 --check >/tmp/checked
        locked /tmp/checked
        start --rt 1
        locked /tmp/run.err
        stop
        expect 0 artis partition plan --rt 1 --shield >/tmp/plan
        locked /tmp/plan
        probe settings >/tmp/before
        for shield in '' --shield; do
            expect 0 artis partition apply --rt 1 $shield >/tmp/apply
            locked /tmp/apply
            expect 0 artis partition reset
        done
        probe since /tmp/before"#,
};

fn a_locked_down_kernel_is_partitioned_and_scheduled(kernel: &str) {
    let ran = LOCKED.ran(kernel, &LOCKED_DOWN);
    assert_eq!(ran.numbers("differences"), [0], "{}", ran.stdout);
}

/// The kernel takes no BPF scheduler then: "struct_ops: Invalid argument", which helps nobody.
static ISOLCPUS: Script = Script {
    name: "machines::isolcpus_is_named_by_all",
    rt: false,
    counts: &[],
    text: r#"named() { grep -q "$2" $1 || die "$1: $(cat $1)"; }
        artis check --cpus 1 | tr -s ' \n' ' ' >/tmp/check
        named /tmp/check 'scheduler (isolcpus=)'
        named /tmp/check 'boot without isolcpus='
        for how in --check --quiet; do
            expect 1 artis sched run --rt 1 $how >/dev/null
            named /tmp/expect.err 'isolcpus= for CPU 1'
            rm /tmp/expect.err
        done
        # Others are kept away as it is.
        expect 0 artis run rt0 --cpu 1 -- true
        [ ! -s /tmp/expect.err ] || die "$(cat /tmp/expect.err)"
        expect 0 artis partition apply --rt 1 --shield >/dev/null
        expect 0 artis partition reset"#,
};

fn isolcpus_is_named_by_all(kernel: &str) {
    ISOLATED.ran(kernel, &ISOLCPUS);
}
