// SPDX-License-Identifier: GPL-2.0-only
//! `artis partition` on real kernels, the newest normal one and the newest `-rt` one, in QEMU.
//!
//! Four CPUs, of which 3 is RT. The guest has no network and no disk: its interrupts are those of
//! the virtio serial port (MSI-X) and of the serial line (IO-APIC).

mod common;

use common::guest::boot;

/// Runs each test on this kernel.
macro_rules! on_kernel {
    ($flavour:ident, $kernel:literal) => {
        mod $flavour {
            #[test]
            fn apply_then_reset_leaves_everything_as_before() {
                super::apply_then_reset_leaves_everything_as_before($kernel);
            }
            #[test]
            fn killed_or_failing_at_any_step_the_machine_is_put_in_order() {
                super::killed_or_failing_at_any_step_the_machine_is_put_in_order($kernel);
            }
            #[test]
            fn movable_interrupts_leave_the_rt_cpu() {
                super::movable_interrupts_leave_the_rt_cpu($kernel);
            }
            #[test]
            fn two_owners_and_somebody_else() {
                super::two_owners_and_somebody_else($kernel);
            }
        }
    };
}

on_kernel!(normal, "newest");
on_kernel!(rt, "newest-rt");

/// Boots the kernel with four CPUs, runs the script there, and fails unless it ended well. Returns
/// what it printed.
#[track_caller]
fn run(kernel: &str, script: &str) -> String {
    boot(kernel, &["--cpus", "4"], script).stdout
}

/// The number in the first line of the script's output that starts with this word.
#[track_caller]
fn number(stdout: &str, word: &str) -> u64 {
    stdout
        .lines()
        .find_map(|line| line.strip_prefix(word)?.trim().parse().ok())
        .unwrap_or_else(|| panic!("no {word} in {stdout}"))
}

/// Every file, every thread, with and without a shield.
fn apply_then_reset_leaves_everything_as_before(kernel: &str) {
    for shield in ["", "--shield"] {
        let stdout = run(
            kernel,
            &format!(
                r#"probe settings >/tmp/before
                artis partition apply --rt 3 --priority 40 {shield} >/tmp/apply || die 'apply failed'
                probe since /tmp/before
                artis partition show >/tmp/show || die 'show failed'
                grep -q 'not in force' /tmp/show && die "$(cat /tmp/show)"
                # Some interrupts move when they next come: they do, until all is put back.
                while :; do echo x; echo x >/dev/ttyS0; usleep 10000; done & load=$!
                usleep 500000
                artis partition reset >/tmp/reset || die 'reset failed'
                kill $load
                echo; echo reset
                probe since /tmp/before
                cat /tmp/reset"#
            ),
        );
        let (applied, reset) = stdout.split_once("\nreset\n").unwrap();
        assert!(number(applied, "differences ") > 30, "{stdout}");
        assert_eq!(number(reset, "differences "), 0, "{stdout}");
        assert!(number(reset, "same ") > 200, "{stdout}");
        assert!(!reset.contains("somebody"), "{stdout}");
    }
}

fn killed_or_failing_at_any_step_the_machine_is_put_in_order(kernel: &str) {
    let stdout = run(
        kernel,
        "probe partition dies 3 shield || die 'the walk of dying'
        probe partition fails 3 shield || die 'the walk of failing'",
    );
    println!("{kernel}: {stdout}");
    assert!(number(&stdout, "steps ") > 30, "{stdout}");
}

fn movable_interrupts_leave_the_rt_cpu(kernel: &str) {
    let stdout = run(
        kernel,
        r#"load() {
            for turn in $(seq 20); do
                head -c 2000 /dev/zero | tr '\0' x
                echo
                echo "a line for the serial port, turn $turn" >/dev/ttyS0
            done
        }
        # Interrupts with a number that CPU 3 has taken; column 1 is the number.
        taken() { awk '/^ *[0-9]+:/ { sum += $5 } END { print sum }' /proc/interrupts; }
        for file in /proc/irq/*/smp_affinity_list; do echo 3 >$file 2>/dev/null; done
        load
        r0=$(taken); load; r1=$(taken)
        artis partition apply --rt 3 >/tmp/apply || die 'apply failed'
        # An IO-APIC's interrupt moves when it next comes.
        load
        r2=$(taken); load; load; r3=$(taken)
        echo
        echo "before $((r1 - r0))"
        echo "after $((r3 - r2))"
        cat /proc/interrupts"#,
    );
    let (before, after) = (number(&stdout, "before "), number(&stdout, "after "));
    println!("{kernel}: {before} interrupts on CPU 3 before, {after} after");
    assert!(before > 10, "the load interrupts nobody: {stdout}");
    assert_eq!(after, 0, "{stdout}");
}

fn two_owners_and_somebody_else(kernel: &str) {
    let stdout = run(
        kernel,
        r#"value() { cat /sys/kernel/debug/sched/fair_server/cpu3/runtime; }
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
        expect 64 artis partition apply --rt 0-3
        expect 64 artis partition apply --rt 0
        expect 64 artis partition plan --rt 9
        ln -s /etc/passwd /var/lib/artis/partition.json
        expect 1 artis partition apply --rt 3
        expect 1 artis partition reset
        cat /tmp/expect.err"#,
    );
    for words in [
        "artis partition (process",
        "artis sched (process",
        "another part of artis relies on these",
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
