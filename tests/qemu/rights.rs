// SPDX-License-Identifier: GPL-2.0-only
//! What the service may do is enough for what it does, and what an ordinary user can do to it is
//! nothing.

use super::sched::TWO_CPUS;
use super::shared::Script;

on_kernel!(normal, "newest": a_confined_service_works_and_nobody_stops_it);

/// The capabilities of packaging/artis-sched.service, no way to more, and a system that is
/// read-only as `ProtectSystem=strict` has it.
pub static CONFINED: Script = Script {
    name: "rights::a_confined_service_works_and_nobody_stops_it",
    rt: false,
    counts: &[],
    text: r#"capabilities='CAP_SYS_ADMIN CAP_BPF CAP_PERFMON CAP_SYS_NICE CAP_SYSLOG'
        grep -q ^nobody: /etc/passwd || echo 'nobody:x:65534:65534::/:/bin/sh' >>/etc/passwd
        nobody() { su nobody -s /bin/sh -c "$*" 2>>/tmp/expect.err; }
        mkdir -p /run/artis /var/lib/artis
        chmod 700 /var/lib/artis
        printf 'rt = "1"\n[partition]\n' >/tmp/sched.toml
        cp "$(command -v artis)" /tmp/artis-bare
        artis() {
            unshare -m sh -c 'for folder in /run/artis /var/lib/artis; do
                    mount --bind $folder $folder || exit
                done
                mount -o remount,bind,ro / || exit
                ! touch /etc/x 2>/dev/null || exit
                exec "$@"' sh probe confined "$capabilities" /tmp/artis-bare "$@"
        }
        restrict=$(cat /proc/sys/kernel/kptr_restrict)
        echo 1 >/proc/sys/kernel/kptr_restrict
        before=$(settings)
        start --config /tmp/sched.toml
        pid=$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' /run/artis/sched.json)
        echo "effective $(sed -n 's/^CapEff:[[:space:]]*//p' /proc/$pid/status)"
        [ "$(settings)" != "$before" ] || die 'nothing was changed'

        expect 1 nobody /tmp/artis-bare sched stop
        grep -q 'only root may stop the scheduler' /tmp/expect.err || die "$(cat /tmp/expect.err)"
        expect 0 nobody /tmp/artis-bare sched status >/dev/null
        nobody kill -9 $pid && die 'nobody killed it'
        for file in lock sched-partition machine.lock; do
            nobody "exec 9</run/artis/$file" && die "nobody may open $file, and so lock it"
        done
        nobody 'echo >/run/artis/sched.json' && die 'nobody wrote its description'
        nobody 'touch /run/artis/x' && die 'nobody fills its folder'
        nobody 'mv /run/artis/sched.sock /tmp/sock' && die 'nobody took its socket'
        nobody 'ls /var/lib/artis' && die 'nobody sees its journals'
        sleep 1000 & task=$!
        expect 1 nobody /tmp/artis-bare run linux --pid $task
        expect 1 nobody /tmp/artis-bare run rt0 --cpu 1 --pid $task
        kill $task
        [ "$(cat /sys/kernel/sched_ext/state)" = enabled ] || die 'nobody stopped it'
        stop
        [ "$(settings)" = "$before" ] || die "after the end: $(settings), not $before"

        # As after a crash: the unit's ExecStopPost.
        start --config /tmp/sched.toml
        kill -9 "$(sed -n 's/.*"pid":\([0-9]*\).*/\1/p' /run/artis/sched.json)"
        wait $artis
        off() { [ "$(cat /sys/kernel/sched_ext/state)" = disabled ]; }
        until_ok off
        artis sched stop --quiet || die "sched stop ended with $?"
        [ "$(settings)" = "$before" ] || die "after kill -9: $(settings), not $before"
        echo $restrict >/proc/sys/kernel/kptr_restrict
        rm /tmp/artis-bare"#,
};

fn a_confined_service_works_and_nobody_stops_it(kernel: &str) {
    let unit = include_str!("../../packaging/artis-sched.service");
    let set = unit
        .lines()
        .find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let ours = format!("capabilities='{}'\n", set.unwrap());
    assert!(CONFINED.text.starts_with(&ours), "the unit has {ours}");
    let ran = TWO_CPUS.ran(kernel, &CONFINED);
    // These five bits.
    let mask: u64 = [21, 23, 34, 38, 39].iter().map(|bit| 1 << bit).sum();
    assert_eq!(
        ran.stdout.trim(),
        format!("effective {mask:016x}"),
        "{}",
        ran.stderr
    );
}
