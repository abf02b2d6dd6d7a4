# SPDX-License-Identifier: GPL-2.0-only
# CPU cgroups that compute, and what each of them used.

groups=/sys/fs/cgroup
echo +cpu >$groups/cgroup.subtree_control

# Makes a cgroup, or takes one that is there: NAME WEIGHT TASKS.
group() {
    mkdir -p "$groups/$1"
    echo "$2" >"$groups/$1/cpu.weight"
    for _ in $(seq "$3"); do
        sh -c "echo \$\$ >$groups/$1/cgroup.procs; while :; do :; done" &
    done
}

used() {
    for one in "$@"; do sed -n 's/^usage_usec //p' "$groups/$one/cpu.stat"; done
}

# Have these groups used so many ms since they had used $begin? MS GROUP...
have_used() {
    wanted=$1
    shift
    total=$(used "$@" | awk '{ sum += $1 } END { print int(sum / 1000) }')
    [ "$total" -ge $((begin + wanted)) ]
}

# Ends what runs in these groups, and removes them.
ungroup() {
    for one in "$@"; do echo 1 >"$groups/$one/cgroup.kill"; done
    until_ok gone "$@"
}

gone() {
    for one in "$@"; do
        [ ! -e "$groups/$one" ] || rmdir "$groups/$one" 2>/dev/null || return 1
    done
}

# Prints under a name what each of these groups used, in thousandths of what all of them used
# while that was so many ms, and removes them: NAME MS GROUP...
shares() {
    name=$1
    ms=$2
    shift 2
    begin=0
    until_ok have_used 1000 "$@"
    before=$(used "$@")
    begin=$(echo "$before" | awk '{ sum += $1 } END { print int(sum / 1000) }')
    until_ok have_used "$ms" "$@"
    printf '%s\n' "$before" "$(used "$@")" | awk -v name="$name" '
        { use[NR] = $1 }
        END {
            for (i = 1; i <= NR / 2; i++) all += use[NR / 2 + i] - use[i]
            for (i = 1; i <= NR / 2; i++)
                print name, int((use[NR / 2 + i] - use[i]) * 1000 / all + 0.5)
        }'
    ungroup "$@"
}
