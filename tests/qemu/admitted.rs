// SPDX-License-Identifier: GPL-2.0-only
//! Reservations that are bound to one RT CPU, on each kernel: the kernel keeps them, others have
//! what is left, and its limit is as before.

use super::shared::Script;

on_kernel!(normal, "newest": a_reservation_is_kept_and_lends_what_is_left);
on_kernel!(older, "6.18": a_reservation_is_kept_and_lends_what_is_left);

/// A job without an end, 4 ms of each 10 ms, and a normal task that is bound to the same CPU.
pub static RESERVED: Script = Script {
    name: "admitted::a_reservation_is_kept_and_lends_what_is_left",
    rt: false,
    counts: &[("SECONDS", 2, 20)],
    text: r#"limit=/proc/sys/kernel/sched_rt_runtime_us
        before=$(cat $limit)
        unchanged() {
            [ "$(cat $limit)" = "$before" ] || die "$1: the limit is $(cat $limit), not $before"
            [ ! -e /var/lib/artis/reservation.json ] || die "$1: a journal was left"
        }
        edf() { artis run rt0 --quiet --cpu 1 --policy edf "$@"; }
        # Both at once: the shares of the time in which both ran.
        shares() {
            hog_before=$(ticks $hog)
            other_before=$(ticks $other)
            sleep $SECONDS
            echo "$1 $(($(ticks $hog) - hog_before)) $(($(ticks $other) - other_before))"
        }
        sh -c 'while :; do :; done' & hog=$!
        taskset 2 sh -c 'while :; do :; done' & other=$!
        expect 0 edf --pid $hog --period 10ms --budget 4ms
        unchanged first
        # Field 41, and 38 of those behind the name.
        policy=$(sed 's/.*) //' /proc/$hog/stat | cut -d' ' -f39)
        [ "$policy" = 6 ] || die "its policy is $policy, not SCHED_DEADLINE"
        grep -q '^Cpus_allowed_list:[[:space:]]*1$' /proc/$hog/status || die 'it may run elsewhere'
        shares stock
        sleep 600 & second=$!
        expect 2 edf --pid $second --period 7ms --budget 6ms
        expect 0 edf --pid $second --period 20ms --budget 4ms
        unchanged second
        start --rt 1
        sleep 600 & third=$!
        expect 0 edf --pid $third --period 100ms --budget 5ms
        shares artis
        stop
        artis tasks --model >model || die "artis tasks: $?"
        expect 0 artis run linux --quiet --pid $second
        kill -9 $hog $other $second $third
        wait $hog $other $second $third 2>/dev/null
        unchanged last
        artis tasks --model | grep -q 'no task is admitted' || die 'a ghost is admitted'
        # An empty register stays, and is none of the settings.
        rm -f /run/artis/admitted.json"#,
};

fn a_reservation_is_kept_and_lends_what_is_left(kernel: &str) {
    let ran = super::sched::counted(kernel).ran(kernel, &RESERVED);
    for when in ["stock", "artis"] {
        let line = ran.stdout.lines().find_map(|it| it.strip_prefix(when));
        let ticks = line.unwrap_or_else(|| panic!("{}", ran.stdout));
        let ticks: Vec<f64> = ticks
            .split_whitespace()
            .map(|it| it.parse().unwrap())
            .collect();
        let share = ticks[0] / (ticks[0] + ticks[1]);
        println!("{kernel}, {when}: the reservation had {share:.3} of both");
        assert!((0.3..=0.45).contains(&share), "{when}: {ticks:?}");
    }
}
