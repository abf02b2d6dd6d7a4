# SPDX-License-Identifier: GPL-2.0-only
# CPU cgroups and tasks that compute, and what share each of them had.

groups=/sys/fs/cgroup

# CPU time in us, one line each: of these cgroups, of these processes. One program reads all: more of
# them, one after the other, wait for a CPU in between, and what they read is of different times.
used_by_groups() {
    (cd $groups && awk '/^usage_usec / { print $2 }' $(printf '%s/cpu.stat ' "$@"))
}

used_by_tasks() {
    awk '{ print int($1 / 1000) }' $(printf '/proc/%s/schedstat ' "$@")
}

sum_ms() {
    awk '{ sum += $1 } END { print int(sum / 1000) }'
}

# Have they used so many ms since they had $begin? MS USED...
have_used() {
    wanted=$1
    shift
    [ "$("$@" | sum_ms)" -ge $((begin + wanted)) ]
}

# Waits until they have. It looks once a second: each look is a few tasks, for which those that
# compute are moved, and a light task that is alone for a moment then has more than its share.
until_used() {
    every_us=1000000 until_ok have_used "$@"
}

# Prints under a name what each used, in thousandths of what all of them used while that was so
# many ms: NAME MS USED..., where USED... is a command that prints what they have used.
shares() {
    name=$1
    ms=$2
    shift 2
    begin=0
    until_used 500 "$@"
    before=$("$@")
    begin=$(echo "$before" | sum_ms)
    until_used "$ms" "$@"
    printf '%s\n' "$before" "$("$@")" | awk -v name="$name" '
        { use[NR] = $1 }
        END {
            for (i = 1; i <= NR / 2; i++) all += use[NR / 2 + i] - use[i]
            for (i = 1; i <= NR / 2; i++)
                print name, int((use[NR / 2 + i] - use[i]) * 1000 / all + 0.5)
        }'
}

# Makes a cgroup, or takes one that is there, with tasks that compute: NAME WEIGHT TASKS. All of them
# are in it when this returns: in the emulator that repeats, and on 6.18 beside other tasks, one may
# need a second for that.
group() {
    echo +cpu >$groups/cgroup.subtree_control
    mkdir -p "$groups/$1"
    echo "$2" >"$groups/$1/cpu.weight"
    for _ in $(seq "$3"); do
        sh -c "echo \$\$ >$groups/$1/cgroup.procs; while :; do :; done" &
    done
    until_ok has_tasks "$1" "$3"
}

has_tasks() {
    [ "$(wc -l <"$groups/$1/cgroup.procs")" -ge "$2" ]
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

# The shares of these groups, which are removed then: NAME MS GROUP...
shares_of_groups() {
    name=$1
    ms=$2
    shift 2
    shares "$name" "$ms" used_by_groups "$@"
    ungroup "$@"
}

# What these cgroups have of a CPU in so many s, in thousandths: NAME SECONDS GROUP...
of_a_cpu() {
    name=$1
    for_s=$2
    shift 2
    had=$(used_by_groups "$@" | sum_ms)
    read_uptime_ms
    at=$uptime_ms
    sleep "$for_s"
    has=$(used_by_groups "$@" | sum_ms)
    read_uptime_ms
    echo "$name $(((has - had) * 1000 / (uptime_ms - at)))"
}

# The shares of tasks that compute on these CPUs, one of each of these nice values:
# NAME CPUS MS NICE...
shares_by_nice() {
    name=$1
    cpus=$2
    ms=$3
    shift 3
    tasks=
    for one in "$@"; do
        taskset -c "$cpus" sh -c 'while :; do :; done' &
        renice -n "$one" -p $! >/dev/null
        tasks="$tasks $!"
    done
    shares "$name" "$ms" used_by_tasks $tasks
    kill $tasks
    wait $tasks
}
