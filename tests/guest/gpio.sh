# SPDX-License-Identifier: GPL-2.0-only
# The latency box of the gpio test: makes edges on line 0 of a simulated chip and wants each
# answered on line 1. Run by busybox sh in the guest, with the module gpio-sim loaded.

cut -d " " -f1 /proc/modules >"$ARTIS_OUTPUT/modules"

box=/sys/kernel/config/gpio-sim/box
mkdir $box $box/bank || die 'no gpio-sim in configfs'
echo 4 >$box/bank/num_lines
echo 1 >$box/live || die 'the chip does not come up'
chip=$(cat $box/bank/chip_name)
lines=/sys/devices/platform/$(cat $box/dev_name)/$chip

measure() {
    artis measure latency --source gpio --gpio-chip "/dev/$chip" --gpio-in "$1" --gpio-out "$2" -q -l $EDGES \
        --json "$ARTIS_OUTPUT/gpio.json"
}

taken() { [ "$(grep -c artis /sys/kernel/debug/gpio)" = 2 ]; }
answer_is() { [ "$(cat "$lines/sim_gpio1/value")" = "$1" ]; }

# The refused ones come beside it.
export ARTIS_CONCURRENT=1
measure 0 1 &
measuring=$!
until_ok taken

# Both lines are in use now, and the chip has four.
for wrong in '0 2' '2 1' '0 4' '2 2'; do
    # shellcheck disable=SC2086 # two words
    measure $wrong >/dev/null 2>>"$ARTIS_OUTPUT/refused"
    echo "refused $?"
done

# By now every edge counts: the measurement begins within milliseconds, the refusals took seconds.
edge=0
while [ $edge -lt $EDGES ]; do
    echo pull-up >"$lines/sim_gpio0/pull"
    until_ok answer_is 1
    echo pull-down >"$lines/sim_gpio0/pull"
    until_ok answer_is 0
    edge=$((edge + 2))
done
wait $measuring || die 'the measurement failed'
