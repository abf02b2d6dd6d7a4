# SPDX-License-Identifier: GPL-2.0-only
# RT0 of 1 kHz on CPU 1 beside each of the loads, without the flight recorder (off) and with it (on).
# $1: seconds of each; $2: the order of the two; then the loads, `none` for no load.
. /common.sh
seconds=$1
order=$2
shift 2

# Beside which load, and without or with the recorder.
measure() {
    load=$1
    recorder=$2
    name=$ARTIS_OUTPUT/$load-$recorder
    set -- -q -a 1 -D "$seconds" --json "$name.json"
    [ "$load" = none ] || set -- "$@" --load "$load"
    [ "$recorder" = off ] || set -- "$@" --explain --explain-json "$name-events.json"
    artis measure latency "$@" >/dev/null || die "beside $load with the recorder $recorder"
}

for one in "$@"; do
    for way in $order; do
        measure "$one" "$way"
    done
done
