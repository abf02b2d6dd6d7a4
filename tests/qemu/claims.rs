// SPDX-License-Identifier: GPL-2.0-only
//! CPUs that somebody has: the shield of `artis partition`, and groups of others.

use super::sched::TWO_CPUS;
use super::shared::Script;

on_kernel!(normal, "newest":
    tasks_and_measurements_go_into_the_shield,
    a_group_that_has_the_cpu_is_named_before_anything_changes,
    without_debugfs_or_rights_a_plan_is_made,
);

pub static SHIELD: Script = Script {
    name: "claims::tasks_and_measurements_go_into_the_shield",
    rt: false,
    counts: &[],
    text: r#"group() { cut -d: -f3 "/proc/$1/cgroup"; }
        cpus() { sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "/proc/$1/status"; }
        expect 0 artis partition apply --rt 1 --shield >/dev/null
        artis run rt0 --cpu 1 -- sh -c 'cat /proc/self/cgroup' >/tmp/own || die 'no command in the shield'
        [ "$(cut -d: -f3 /tmp/own)" = /artis-rt ] || die "$(cat /tmp/own)"
        sleep 1000 & task=$!
        expect 0 artis run rt0 --cpu 1 --pid $task >/dev/null
        [ "$(group $task) $(cpus $task)" = '/artis-rt 1' ] || die "RT0: $(group $task) $(cpus $task)"
        expect 0 artis run linux --pid $task >/dev/null
        [ "$(group $task) $(cpus $task)" = '/ 0' ] || die "Linux: $(group $task) $(cpus $task)"
        # Its own threads go there, and its loads stay outside.
        expect 0 artis measure latency -a 1 -D 1 -q --load compute \
            --json "$ARTIS_OUTPUT/latency.json" >/dev/null
        # The shield shares with nobody.
        expect 1 artis sched run --rt 1 --check >/dev/null
        expect 1 artis sched run --rt 1
        grep -c 'artis partition reset' /tmp/expect.err
        expect 0 artis run rt0 --cpu 1 --pid $task >/dev/null
        expect 0 artis partition reset >/dev/null
        [ "$(group $task)" = / ] || die "after the shield: $(group $task)"
        [ ! -e /sys/fs/cgroup/artis-rt ] || die 'the group is still there'
        kill $task"#,
};

fn tasks_and_measurements_go_into_the_shield(kernel: &str) {
    let ran = TWO_CPUS.ran(kernel, &SHIELD);
    assert_eq!(ran.stdout.trim(), "2", "{}", ran.stderr);
    let latency = &ran.json("latency")["series"][0];
    assert!(latency["count"].as_u64() > Some(0), "{latency}");
}

/// As the static policy of Kubernetes' CPU manager does it: not exclusive, and a busy task.
pub static POD: Script = Script {
    name: "claims::a_group_that_has_the_cpu_is_named_before_anything_changes",
    rt: false,
    counts: &[],
    text: r#"cd /sys/fs/cgroup
        mkdir -p pods/pod
        echo +cpuset >cgroup.subtree_control
        echo +cpuset >pods/cgroup.subtree_control
        echo 1 >pods/pod/cpuset.cpus
        sh -c 'while :; do :; done' & busy=$!
        echo $busy >pods/pod/cgroup.procs
        before=$(settings)
        named() { grep -q 'pods/pod may run on CPU 1 only' $1 || die "$1: $(cat $1)"; }
        artis partition plan --rt 1 --shield >/tmp/plan 2>&1 || die 'plan failed'
        named /tmp/plan
        expect 64 artis partition apply --rt 1 --shield
        named /tmp/expect.err
        grep -q -e --force /tmp/expect.err || die "$(cat /tmp/expect.err)"
        [ "$(settings)" = "$before" ] || die "settings: $(settings), not $before"
        artis sched run --rt 1 --check >/tmp/checked || die 'check failed'
        named /tmp/checked
        artis check --cpus 1 | tr -s ' \n' ' ' >/tmp/check
        named /tmp/check
        artis partition apply --rt 1 --shield --force >/dev/null 2>&1 || die 'it insists'
        grep -q isolated artis-rt/cpuset.cpus.partition || die 'no shield'
        artis partition reset >/dev/null

        # Somebody's partition: the shield is left out, and the rest is done.
        echo 1 >pods/cpuset.cpus
        become() { for group in $2; do echo $1 >$group/cpuset.cpus.partition; done; }
        become root 'pods pods/pod'
        owned() { grep -q 'belongs to the cpuset partition' $1 || die "$1: $(cat $1)"; }
        artis partition apply --rt 1 --shield >/tmp/apply 2>&1
        [ $? = 2 ] || die "$(cat /tmp/apply)"
        owned /tmp/apply
        # Beside the partition the kernel gives no thread its CPUs back.
        become member 'pods/pod pods'
        artis partition reset >/dev/null
        become root 'pods pods/pod'
        artis sched run --rt 1 --check >/tmp/checked || die 'check failed'
        owned /tmp/checked
        start --rt 1
        stop
        owned /tmp/run.err
        kill -9 $busy
        wait $busy 2>/dev/null
        empty() { rmdir pods/pod; }
        until_ok empty 2>/dev/null
        rmdir pods
        cd /"#,
};

fn a_group_that_has_the_cpu_is_named_before_anything_changes(kernel: &str) {
    TWO_CPUS.ran(kernel, &POD);
}

pub static HIDDEN: Script = Script {
    name: "claims::without_debugfs_or_rights_a_plan_is_made",
    rt: false,
    counts: &[],
    text: r#"grep -q ^nobody: /etc/passwd || echo 'nobody:x:65534:65534::/:/bin/sh' >>/etc/passwd
        nobody() { su nobody -s /bin/sh -c "artis $*"; }
        expect 0 nobody partition plan --rt 1 --shield >/tmp/plan
        grep -q 'only root sees them' /tmp/plan || die "$(cat /tmp/plan)"
        grep -q 'not possible for this user' /tmp/expect.err || die "$(cat /tmp/expect.err)"
        expect 1 nobody sched run --rt 1 --check >/dev/null
        umount /sys/kernel/debug
        for command in 'sched run --rt 1 --check' 'partition plan --rt 1' 'check --cpus 1'; do
            artis $command | tr -s ' \n' ' ' >/tmp/said
            grep -q 'debugfs is not mounted' /tmp/said || die "$command: $(cat /tmp/said)"
        done
        mount -t debugfs debug /sys/kernel/debug"#,
};

fn without_debugfs_or_rights_a_plan_is_made(kernel: &str) {
    TWO_CPUS.ran(kernel, &HIDDEN);
}
