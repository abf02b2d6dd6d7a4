/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Out of the tick's way: an RT CPU is idle when RT0 would meet its tick.
 *
 * A tick holds interrupts off, its softirqs follow it, and a timer of RT0 that is
 * due just then waits for both, or its wakeup does. The tick comes where it comes,
 * and as periods are multiples of each other it would be met again and again. An
 * idle CPU stops its tick: so where the kernel's list of timers shows RT0's beside
 * the tick, the RT CPU takes no task from shortly before until RT0 has gone.
 *
 * (a) Planned when one of our tasks begins to run, and at each tick, because then
 *     the list is known to be RT0's last word for a while. A timer of our own
 *     begins it.
 * (b) Over when a task of ours runs again. That is after RT0; should RT0 not come,
 *     the same timer ends it.
 * (c) Where idle CPUs keep their tick (a governor that expects to be woken soon,
 *     idle=poll) it would be for nothing: then it is tried earlier, and ever more
 *     seldom.
 */
#ifndef ARTIS_QUIET_H
#define ARTIS_QUIET_H

extern const struct tick_sched tick_cpu_sched __ksym;

struct quiet_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ARTIS_CPUS_MAX);
	__type(key, u32);
	__type(value, struct quiet_timer);
} quiet_timers SEC(".maps");

/* How often an idle CPU stopped its tick, of this CPU. */
static u64 tick_stops(void)
{
	const struct tick_sched *tick = bpf_this_cpu_ptr(&tick_cpu_sched);

	return tick->idle_sleeps;
}

static int quiet_timer_fired(void *map, u32 *key, struct quiet_timer *timer)
{
	s32 cpu = *key;
	struct artis_cpu *record = cpu_record(cpu);

	/* the timers of a CPU that goes offline go to another one */
	if (cpu != (s32)bpf_get_smp_processor_id() || !on || record->offline)
		return 0;
	if (record->quiet) {
		record->quiet = false;
		kick_idle(cpu);
		return 0;
	}
	/* RT0 is here already, or was */
	if (rt0_runnable(cpu) || (s64)(record->quiet_until_ns - bpf_ktime_get_ns()) <= 0)
		return 0;
	record->quiet = true;
	record->count[ARTIS_ticks_tried]++;
	record->quiet_tick_stops = tick_stops();
	bpf_timer_start(&timer->timer, record->quiet_until_ns + ARTIS_HAND_BACK_NS,
			BPF_F_TIMER_ABS | BPF_F_TIMER_CPU_PIN);
	scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	return 0;
}

/* A task of ours runs again on the CPU of @record. */
static void end_quiet(s32 cpu, struct artis_cpu *record)
{
	struct quiet_timer *timer;
	u32 key = cpu;
	bool stopped;

	if (!tick_ns || !record->quiet)
		return;
	record->quiet = false;
	stopped = tick_stops() != record->quiet_tick_stops;
	artis_quiet_note(&record->quiet_trial, stopped);
	if (stopped)
		record->count[ARTIS_ticks_avoided]++;
	/*
	 * For nothing, and at once: a timer that is pending costs each wakeup of RT0
	 * a look at one more list, and to cancel it would take its function away.
	 */
	timer = bpf_map_lookup_elem(&quiet_timers, &key);
	if (timer)
		bpf_timer_start(&timer->timer, record->quiet_until_ns,
				BPF_F_TIMER_ABS | BPF_F_TIMER_CPU_PIN);
}

/*
 * Will RT0 meet the next tick of this CPU? Then sees to it that there is none.
 * @in_tick: called by the tick, which is not in the list of timers meanwhile.
 */
static void plan_quiet(s32 cpu, struct artis_cpu *record, bool in_tick)
{
	const struct hrtimer_cpu_base *timers;
	const struct tick_sched *tick;
	struct quiet_timer *timer;
	u64 tick_due, due, from;
	u32 key = cpu;

	if (!tick_ns || record->rt_immed || record->offline)
		return;
	timers = bpf_this_cpu_ptr(&hrtimer_bases);
	tick = bpf_this_cpu_ptr(&tick_cpu_sched);
	tick_due = tick->sched_timer.node.expires;
	due = first_timer(timers, in_tick ? 0 : tick_due);
	if (in_tick)
		tick_due += tick_ns;
	from = artis_quiet_from_ns(&record->quiet_trial, tick_due, due, record->switch_ns);
	if (!artis_meets_tick(tick_due, due, record->switch_ns) ||
	    (s64)(from - bpf_ktime_get_ns()) <= 0 || !artis_quiet_try(&record->quiet_trial))
		return;
	timer = bpf_map_lookup_elem(&quiet_timers, &key);
	if (!timer)
		return;
	record->quiet_until_ns = due;
	bpf_timer_start(&timer->timer, from, BPF_F_TIMER_ABS | BPF_F_TIMER_CPU_PIN);
}

static void create_quiet_timers(void)
{
	u32 i;

	if (!tick_ns)
		return;
	bpf_for(i, 0, nr_rt) {
		u32 key = rt_cpu(i);
		struct quiet_timer *timer = bpf_map_lookup_elem(&quiet_timers, &key);

		if (!timer)
			continue;
		bpf_timer_init(&timer->timer, &quiet_timers, CLOCK_MONOTONIC);
		bpf_timer_set_callback(&timer->timer, quiet_timer_fired);
	}
}

#endif /* ARTIS_QUIET_H */
