# SPDX-License-Identifier: GPL-2.0-only
# Runs scripts one after the other in one guest, for tests/qemu/shared.rs:
#   sh /runner.sh SECONDS SCRIPT...
# Each gets a folder of its own below $ARTIS_OUTPUT, for its streams, its files and how it ended. What
# it started is ended after it, and what it changed must be as before: the next one relies on that.
. /common.sh

all=$ARTIS_OUTPUT
limit_s=$1
shift

# Process ids of programs. The link exists in a kernel thread's folder, too, and leads nowhere.
programs() {
    for process in /proc/[0-9]*; do
        [ ! -e "$process/exe" ] || echo "${process#/proc/}"
    done
}

# Ends all programs that were not there at first.
end_programs() {
    for signal in TERM KILL KILL KILL; do
        tries=0
        while [ $tries -lt 20 ]; do
            left=$(for id in $(programs); do case " $first " in *" $id "*) ;; *) echo "$id" ;; esac; done)
            # The subshells that look are among them, and gone by now.
            alive=
            for id in $left; do [ ! -e "/proc/$id/exe" ] || alive="$alive $id"; done
            [ -n "$alive" ] || return 0
            [ $tries != 0 ] || kill -$signal $alive 2>/dev/null
            tries=$((tries + 1))
            usleep 100000
        done
    done
    echo "still runs: $alive"
}

# What every script finds, and must leave.
state() {
    cat /sys/kernel/sched_ext/state /sys/devices/system/cpu/online
    settings
    echo
    ls /var/lib/artis /run/artis 2>/dev/null | grep '\.json$'
    grep -c ' /sys/kernel/debug ' /proc/mounts
}

first=$(programs | tr '\n' ' ')
before=$(state)
# The port to the host, for scripts that want it to interrupt: what they write there is not kept.
exec 3>&1
for script in "$@"; do
    folder=$all/$script
    mkdir "$folder"
    echo "@begin $script"
    (
        cd "$folder" || exit
        ARTIS_OUTPUT=$folder exec timeout -s KILL "$limit_s" sh "/scripts/$script"
    ) >"$folder/.stdout" 2>"$folder/.stderr" </dev/null
    status=$?
    ended=well
    [ $status = 0 ] || ended="with status $status"
    {
        artis sched stop >/dev/null 2>&1
        end_programs
        artis sched status >/dev/null 2>&1 # puts back what a killed scheduler left
        after=$(state)
        [ "$after" = "$before" ] || echo "it was: $before, it is: $after"
    } >"$folder/.left"
    if [ -s "$folder/.left" ]; then
        cat "$folder/.left" >>"$folder/.stderr"
        [ $status != 0 ] || ended='and left something behind'
    fi
    echo "$ended" >"$folder/.ended"
    rm -rf /tmp/*
    echo "@end $script"
    # Nobody can rely on this guest any more.
    [ ! -s "$folder/.left" ] || break
done
