/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * RCU's thread, which drives the grace periods, is held while CPUs report to it: see
 * artis_held_ns(). It is stopped before it goes to sleep, waits in a queue of its own, and goes on
 * by a timer.
 */
#ifndef ARTIS_GRACE_PERIOD_H
#define ARTIS_GRACE_PERIOD_H

struct held_timer {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct held_timer);
} held_timers SEC(".maps");

static s32 held_cpu;		/* where the thread was stopped */

static bool is_rcus(const struct task_struct *p)
{
	return p->pid == rcu_pid;
}

/* Does the thread of RCU stop here, although nobody else may wait? */
static bool is_to_be_held(const struct task_struct *p)
{
	return rcu_stops && is_rcus(p);
}

/*
 * The thread of RCU has begun a grace period, and sleeps next. It must not be stopped in a program
 * that is itself a reader of RCU: an expedited grace period would wait until it goes on. So this is
 * a kprobe, as those of detect.h.
 */
SEC("kprobe/rcu_gp_fqs_loop")
int grace_period_began(void *ctx)
{
	if (!on)
		return 0;
	rcu_stops = true;
	bpf_get_numa_node_id();
	return 0;
}

/*
 * How long RT CPUs take to report a grace period that begins at @now: see artis_held_ns(). 0: none
 * of them will. Global: verified once.
 */
__noinline u64 rt_cpus_report_in_ns(u64 now)
{
	u64 longest_ns = 0;
	u32 cpu;

	bpf_for(cpu, 0, nr_cpus) {
		const struct artis_cpu *record = cpu_record(cpu);
		u64 in_ns;

		if (!record->rt || record->offline)
			continue;
		in_ns = artis_held_ns(record->tick_ns, record->ticked_ns, now);
		if (in_ns > longest_ns)
			longest_ns = in_ns;
	}
	return longest_ns;
}

/*
 * The thread was stopped there: holds it. False: it need not be, or sleeps already where the kernel
 * is not preempted. Global: verified once, and not in the way of all others.
 */
__noinline int hold(struct task_struct *p __arg_trusted, struct task_ctx *t __arg_nonnull, u64 now,
		    u64 enq_flags)
{
	struct held_timer *held;
	u32 key = 0;
	u64 in_ns;

	/* or the verifier would refuse what follows */
	if (!has_timers)
		return false;
	rcu_stops = false;
	if (enq_flags & SCX_ENQ_WAKEUP || is_beset(cpu_of(p)))
		return false;
	in_ns = rt_cpus_report_in_ns(now);
	held = bpf_map_lookup_elem(&held_timers, &key);
	if (!held || !in_ns)
		return false;
	held_goes = false;
	held_cpu = cpu_of(p);
	if (bpf_timer_start(&held->timer, in_ns, 0))
		return false;
	t->runnable_at_ns = now;
	t->state = artis_state_queued(ARTIS_PLACE_NRT);
	held_ns = now;
	use(place_of(DSQ_HELD));
	scx_bpf_dsq_insert(p, DSQ_HELD, artis_slice_ns(false), enq_flags);
	return true;
}

/* It goes on: its CPU asks for a task at once, or, if that went offline, the next one that asks. */
static int held_long_enough(void *map, u32 *key, struct held_timer *held)
{
	if (!on)
		return 0;
	held_goes = true;
	if (!waiting(DSQ_HELD))
		return 0;
	scx_bpf_kick_cpu(held_cpu, SCX_KICK_PREEMPT);
	if (nr_idle_nrt)
		wake_nrt_side();
	return 0;
}

/* Takes the thread, if it was held for long enough. */
static bool take_held(bool beset, u64 now)
{
	return waiting(DSQ_HELD) && artis_held_goes(held_goes, beset, held_ns, now) &&
	       scx_bpf_dsq_move_to_local(DSQ_HELD, 0);
}

static s32 create_held_timer(void)
{
	struct held_timer *held;
	u32 key = 0;
	s32 err;

	if (!has_timers)
		return 0;
	held = bpf_map_lookup_elem(&held_timers, &key);
	if (!held)
		return -12; /* ENOMEM */
	err = bpf_timer_init(&held->timer, &held_timers, CLOCK_MONOTONIC);
	return err ? err : bpf_timer_set_callback(&held->timer, held_long_enough);
}

#endif /* ARTIS_GRACE_PERIOD_H */
