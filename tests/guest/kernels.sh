# SPDX-License-Identifier: GPL-2.0-only
# What scripts/kernels runs in the guest of each kernel. Prints a line "@NAME RESULT" for each step:
#   sh /kernels.sh steps            the scheduler must do all that it does on the newest kernel
#   sh /kernels.sh leaks ENTRIES    ... with that many entries of each kind, on CPU 1 of several
#   sh /kernels.sh refused WORDS    it must be refused, with these words, and `artis check` says them
. /common.sh

# Each step in a process of its own: `die` ends only that.
step() {
    name=$1
    shift
    : >/tmp/run.err
    if ("$@") >"/tmp/$name" 2>&1; then
        echo "@$name $(tail -n 1 "/tmp/$name")"
    else
        echo "@$name FAILED"
        why >>"/tmp/$name" 2>&1
        sed "s/^/$name: /" "/tmp/$name" >&2
    fi
    artis sched stop >/dev/null 2>&1
    # Puts back what a killed scheduler left; its status says only that none is on.
    artis sched status >/dev/null 2>&1 || :
}

# What explains a step that failed: what artis and the kernel said.
why() {
    echo "sched_ext is $(cat /sys/kernel/sched_ext/state), online are CPUs" \
        "$(cat /sys/devices/system/cpu/online)"
    echo 'artis:'
    grep -lx artis /proc/[0-9]*/comm || echo '(no process)'
    cat /tmp/run.out /tmp/run.err
    echo 'the kernel:'
    dmesg | tail -n 60
}

loads() {
    before=$(settings)
    for turn in 1 2 3; do
        start --rt 1
        stop
        [ "$(cat /sys/kernel/sched_ext/state)" = disabled ] || die 'still on'
        [ "$(settings)" = "$before" ] || die "settings after: $(settings), not $before"
    done
    echo yes
}

# Leaks of all kinds, of so many entries of each.
leaks() {
    count() { sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p" /tmp/status; }
    start --rt 1
    least=0
    there=0
    while [ "$least" -lt "$1" ]; do
        probe entries 10 >/tmp/entries
        there=$((there + $(sed -n 's/^done_there //p' /tmp/entries)))
        kill -0 $artis || die "artis ended after $least entries of each kind"
        # beside so much load it may not answer in time
        artis sched status --json >/tmp/status || continue
        before=$least
        least=$(for kind in syscall fault signal; do count entries_$kind; done | sort -n | head -n 1)
        [ "$least" -gt "$before" ] || die "no more than $least entries of each kind"
    done
    leaks=$there
    for kind in syscall fault signal sleep; do leaks=$((leaks + $(count leaks_$kind))); done
    entries="$(count entries_syscall) + $(count entries_fault) + $(count entries_signal)"
    stop
    [ "$leaks" = 0 ] || die "$leaks leaks of $entries"
    echo "0 of $entries"
}

hog() {
    start --rt 1
    probe hog 6 >/tmp/gaps
    handed=$(counter hand_backs)
    stop
    [ "$handed" -gt 0 ] || die 'no task was handed back'
    echo "$(sed -n 's/^gap_ms //p' /tmp/gaps | sort -n | tail -n 1) ms"
}

hotplug() {
    start --rt 1
    echo 0 >/sys/devices/system/cpu/cpu1/online || die 'CPU 1 does not go'
    sleep 1
    echo 1 >/sys/devices/system/cpu/cpu1/online || die 'CPU 1 does not come back'
    back() { [ "$(counter cpu_online)" = 1 ]; }
    until_ok back
    stop
    echo yes
}

killed() {
    before=$(settings)
    start --rt 1
    kill -9 $artis
    gone() { [ "$(cat /sys/kernel/sched_ext/state)" = disabled ]; }
    until_ok gone
    artis sched status >/dev/null 2>&1
    [ "$(settings)" = "$before" ] || die "settings after: $(settings), not $before"
    echo yes
}

run() {
    start --rt 1
    # shellcheck disable=SC2016 # the shell of the RT0 task shall see it
    artis run rt0 --cpu 1 -- sh -c 'chrt -p $$; taskset -p $$' >/tmp/rt0 || die 'not RT0'
    grep -q SCHED_FIFO /tmp/rt0 || die "$(cat /tmp/rt0)"
    grep -q 'mask: 2' /tmp/rt0 || die "$(cat /tmp/rt0)"
    # shellcheck disable=SC2016
    artis run rt1 --level 5 -- sh -c 'chrt -p $$' >/tmp/rt1 || die 'not RT1+'
    stop
    echo yes
}

refused() {
    artis sched run --rt 1 >/tmp/said 2>&1 && die 'it was not refused'
    grep -q "$1" /tmp/said || die "$(cat /tmp/said)"
    artis check >/tmp/checked 2>&1
    tr '\n' ' ' </tmp/checked | tr -s ' ' >/tmp/one_line
    grep -q "$1" /tmp/one_line || die "check does not say it: $(cat /tmp/one_line)"
    sed 's/^artis: //' /tmp/said
}

mount -t securityfs securityfs /sys/kernel/security 2>/dev/null
uname -r
case $1 in
refused) step refused refused "$2" ;;
leaks) step leaks leaks "$2" ;;
steps) for one in loads hog hotplug killed run; do step $one $one; done ;;
esac
