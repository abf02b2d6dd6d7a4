# SPDX-License-Identifier: GPL-2.0-only
# A thread of 1 kHz on CPU 1 is made late on purpose, once watched by rtla's auto-analysis, once by
# artis: sh /rtla.sh TRIALS KIND... For each kind and trial rtla.KIND.TRIAL is what rtla said with
# the end of its trace, and injected.KIND.TRIAL when it was injected; artis.KIND, artis.KIND.json
# and injected.KIND are the same of artis. Needs /rtla.tar and the program culprits.
. /common.sh

trials=$1
shift

# Far above what an emulated CPU and a busy host do by themselves.
length_ms=200
late_us=100000
# rtla ends by itself then.
patience=60s

libraries=/rtla/usr/lib/x86_64-linux-gnu
rtla() { $libraries/ld-linux-x86-64.so.2 --library-path $libraries /rtla/usr/bin/rtla "$@"; }
mkdir /rtla
tar xf /rtla.tar -C /rtla || die 'no rtla'
rtla --version 2>&1 | grep version >version

tracing=/sys/kernel/tracing
# Is there a thread of this name?
thread() { grep -qsx "$1" /proc/[0-9]*/task/[0-9]*/comm; }
# rtla sets up its traces for many seconds of an emulated CPU.
top=$tracing/instances/timerlat_top
is_tracing() {
    [ "$(cat $top/current_tracer $top/tracing_on 2>/dev/null | tr '\n' ' ')" = 'timerlat 1 ' ] ||
        ! kill -0 $watching 2>/dev/null
}
is_loaded() { [ -s explain.err ]; }
# The same moment by the clock of the traces and by CLOCK_MONOTONIC, whose seconds differ.
moment() {
    echo moment >$tracing/trace_marker
    read -r seconds _ </proc/uptime
    echo "moment $(sed -n 's/.* \([0-9.]*\): .*: moment/\1/p' $tracing/trace | tail -n 1) $seconds"
}

for kind; do
    trial=0
    while [ $trial -lt "$trials" ]; do
        name=$kind.$trial
        trial=$((trial + 1))
        echo "$name"
        rtla timerlat top -q -u -c 1 -p 1000 -P f:50 -T $late_us -s $late_us -t --dump-tasks \
            --warm-up 1 -d $patience >"rtla.$name" 2>&1 &
        watching=$!
        until_ok is_tracing
        # Its warm-up, in which it judges nothing.
        sleep 2
        {
            moment
            culprits "$kind" 1 $length_ms
        } >"injected.$name" 2>&1
        wait $watching
        echo "status $?" >>"rtla.$name"
        tail -n 100 timerlat_trace.txt >>"rtla.$name" 2>/dev/null
        rm -f timerlat_trace.txt
    done

    artis measure latency -q -a 1 -p 50 -i 1000 -D 1h >/dev/null 2>measure.err &
    measuring=$!
    until_ok thread 'artis-measure-0'
    artis explain run --comm 'artis-measure-0' --threshold $late_us --worst 100 \
        --json "artis.$kind.json" >"artis.$kind" 2>explain.err &
    watching=$!
    until_ok is_loaded
    sleep 2
    culprits "$kind" "$trials" $length_ms >"injected.$kind" 2>&1
    sleep 1
    kill -TERM $watching
    wait $watching || { cat explain.err >&2; die 'artis explain failed'; }
    kill -TERM $measuring
    wait $measuring
    rm explain.err measure.err
done
