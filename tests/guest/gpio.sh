# SPDX-License-Identifier: GPL-2.0-only
# The latency box of the gpio test: makes edges on line 0 of a simulated chip and wants each
# answered on line 1. Run by busybox sh in the guest, with the module gpio-sim loaded.
. /common.sh

EDGES=20

box=/sys/kernel/config/gpio-sim/box
mkdir $box $box/bank || die 'no gpio-sim in configfs'
echo 4 >$box/bank/num_lines
echo 1 >$box/live || die 'the chip does not come up'
chip=$(cat $box/bank/chip_name)
lines=/sys/devices/platform/$(cat $box/dev_name)/$chip

# Waits until a command succeeds.
until_ok() {
    tries=0
    until "$@"; do
        tries=$((tries + 1))
        kill -0 $probe || die 'the probe ended early'
        [ $tries -lt 600 ] || die "never true: $*"
        usleep 100000
    done
}
answer_is() { [ "$(cat "$lines/sim_gpio1/value")" = "$1" ]; }

probe gpio "/dev/$chip" 0 1 $EDGES >/tmp/answers &
probe=$!
until_ok grep -q ready /tmp/answers

# Both lines are taken now, each in its role.
expect 1 probe gpio "/dev/$chip" 0 2 1
expect 1 probe gpio "/dev/$chip" 2 1 1
expect 1 probe gpio "/dev/$chip" 0 4 1

edge=0
while [ $edge -lt $EDGES ]; do
    echo pull-up >"$lines/sim_gpio0/pull"
    until_ok answer_is 1
    echo pull-down >"$lines/sim_gpio0/pull"
    until_ok answer_is 0
    edge=$((edge + 2))
done
wait $probe || die 'the probe failed'
cat /tmp/answers
