# SPDX-License-Identifier: GPL-2.0-only
# Sourced by the guest's side of the kernel tests. Fails loudly: the test outside sees the status.
set -u

die() {
    echo "guest: $*" >&2
    exit 1
}

# Starts the scheduler in the background and returns when it is on. Its process is $artis.
start() {
    artis sched run "$@" >/tmp/run.out 2>>/tmp/run.err &
    artis=$!
    tries=0
    until [ "$(cat /sys/kernel/sched_ext/state)" = enabled ] && [ -e /run/artis/sched.json ]; do
        kill -0 $artis 2>/dev/null || { cat /tmp/run.err >&2; die 'the scheduler ended at once'; }
        tries=$((tries + 1))
        [ $tries -lt 600 ] || die 'the scheduler did not come up in a minute'
        usleep 100000
    done
}

# Stops it and waits for the process that scheduled.
stop() {
    artis sched stop >/dev/null || die 'artis sched stop failed'
    wait $artis || { cat /tmp/run.err >&2; die "artis sched run ended with $?"; }
}

# Leaves the status under a name for the test outside.
status() {
    artis sched status --json >"$ARTIS_OUTPUT/$1.json" || die 'artis sched status failed'
}

# The folder in /proc of RCU's thread of grace periods.
rcu_thread() {
    rcu=$(grep -slxE 'rcu_preempt|rcu_sched' /proc/[0-9]*/comm)
    echo "${rcu%/comm}"
}

# The settings that artis changes for RT CPU 1, in one line. The last three are those of RCU: its
# first look for idle CPUs, and its thread's priority in /proc's counting, 20 for a normal task and
# -2 for SCHED_FIFO 1, and CPUs.
settings() {
    rcu=$(rcu_thread)
    {
        cat /sys/kernel/debug/sched/*_server/cpu1/runtime /proc/sys/kernel/timer_migration \
            /proc/sys/vm/stat_interval /proc/sys/kernel/watchdog_cpumask \
            /sys/devices/virtual/workqueue/cpumask \
            /sys/module/rcutree/parameters/jiffies_till_first_fqs
        cut -d' ' -f18 "$rcu/stat"
        sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' "$rcu/status"
    } | tr '\n' ' '
}

# Runs a command and fails unless it ends with this status.
expect() {
    wanted=$1
    shift
    "$@" 2>>/tmp/expect.err
    got=$?
    [ $got -eq "$wanted" ] || { cat /tmp/expect.err >&2; die "'$*' ended with $got, not $wanted"; }
}

# An endless loop of FIFO 10 on each of two CPUs, and their end.
begin_loops() {
    loops=
    for mask in 1 2; do
        taskset $mask chrt -f 10 sh -c 'while :; do :; done' &
        loops="$loops $!"
    done
    sleep 1
}
end_loops() {
    kill -9 $loops
    wait $loops 2>/dev/null
    true
}

# Puts the time since boot in ms into $uptime_ms; the kernel gives it in steps of 10. Forks nothing.
read_uptime_ms() {
    read -r seconds _ </proc/uptime
    hundredths=${seconds#*.}
    uptime_ms=$((${seconds%.*} * 1000 + ${hundredths#0} * 10))
}

# The value of one of the scheduler's counters.
counter() {
    artis sched status --json | sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p"
}

# Waits until a command succeeds. The limit is for a machine that hangs, no bound on speed.
until_ok() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        [ $tries -lt 1200 ] || die "never true: $*"
        usleep "${every_us:-100000}"
    done
}

# Ticks of user and system time that a process has had.
ticks() {
    fields=$(sed 's/.*) //' "/proc/$1/stat" | cut -d' ' -f12,13)
    echo $((${fields% *} + ${fields#* }))
}
