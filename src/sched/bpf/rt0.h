/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where RT0 is, when its timer is due, and what must not meet it.
 */
#ifndef ARTIS_RT0_H
#define ARTIS_RT0_H

/* Will this CPU look for its next task as soon as preemption is on? */
static bool will_reschedule(void)
{
	const u8 *count = bpf_this_cpu_ptr(&__preempt_count);

	return ARCH_WILL_RESCHEDULE(count, preempt_count_bytes);
}

/* Is this an interrupt of a device or a timer, and not one that another CPU asked for? */
static bool in_interrupt(void)
{
	struct pt_regs **regs = bpf_this_cpu_ptr(&__irq_regs);

	return regs && *regs;
}

/*
 * Does RT0 take this CPU next? To be runnable is not enough: a CPU that wakes it up
 * from elsewhere asks for that a moment later, enough for a short system call.
 */
static bool rt0_comes(void)
{
	return rt0_runnable(bpf_get_smp_processor_id()) && will_reschedule();
}

/*
 * When the next timer of @cpu is due, by the monotonic clock. After the interrupt
 * of one, newer kernels set up the hardware for the next when they have switched.
 */
static u64 next_timer(s32 cpu)
{
	const struct hrtimer_cpu_base *timers = bpf_per_cpu_ptr(&hrtimer_bases, cpu);

	if (!timers)
		return ~0ULL;
	if (bpf_core_field_exists(timers->deferred_rearm) && timers->deferred_rearm)
		return timers->deferred_expires_next;
	return timers->expires_next;
}

/*
 * When the first timer in the kernel's list for @cpu is due; 0 where there is
 * none. What is asked in a timer's interrupt, when the kernel itself does not know
 * its next one yet.
 */
static u64 first_timer(s32 cpu)
{
	const struct hrtimer_cpu_base *timers = bpf_per_cpu_ptr(&hrtimer_bases, cpu);
	const struct rb_node_linked *node;

	/* older kernels keep their timers in a tree only */
	if (!timers || !bpf_core_type_exists(struct timerqueue_linked_node))
		return 0;
	node = timers->clock_base[0].active.rb_root.rb_leftmost;
	if (!node)
		return 0;
	return bpf_core_cast(node, struct timerqueue_linked_node)->expires;
}

/* Does the next timer of @cpu wake up an RT0 that takes the CPU at once? */
static bool timer_brings_rt0(s32 cpu)
{
	const struct hrtimer_cpu_base *timers = bpf_per_cpu_ptr(&hrtimer_bases, cpu);
	const struct task_struct *p;
	const struct hrtimer *next;

	if (!timers || !timers_are_exact || !sleeper_handler)
		return false;
	next = timers->next_timer;
	if (!next || (u64)next->function != sleeper_handler)
		return false;
	p = bpf_core_cast(next, struct hrtimer_sleeper)->task;
	return p && artis_timer_brings(p->policy, p->nr_cpus_allowed, cpu_of(p) == cpu);
}

/* Would RT0's timer on @cpu meet what begins there now and takes @takes_ns? */
static bool rt0_due(s32 cpu, u64 takes_ns)
{
	return artis_finds(next_timer(cpu), bpf_ktime_get_ns(), takes_ns);
}

/* Would it meet a switch of tasks? */
static bool switch_meets_rt0(s32 cpu)
{
	return rt0_due(cpu, cpu_record(cpu)->switch_ns);
}

/* Would another CPU that locks the run queue of @cpu, an RT CPU, meet RT0 there? */
static bool lock_meets_rt0(s32 cpu)
{
	return artis_meets_rt0(rt0_runnable(cpu), next_timer(cpu), bpf_ktime_get_ns(),
			       cpu_record(cpu)->switch_ns);
}

/*
 * A switch of tasks begins on the CPU of @record, or did and another way was
 * taken: RT0 took the CPU, or the task goes on. ops.running() ends it.
 */
static void begin_switch(struct artis_cpu *record)
{
	record->switch_began_ns = bpf_ktime_get_ns();
}

static void drop_switch(struct artis_cpu *record)
{
	record->switch_began_ns = 0;
}

static void end_switch(struct artis_cpu *record)
{
	if (record->switch_began_ns)
		artis_switch_note(&record->switch_ns,
				  bpf_ktime_get_ns() - record->switch_began_ns);
	record->switch_began_ns = 0;
}

/* What becomes of the slice of @p, which is on the RT CPU of @record, by the policy's table. */
static enum artis_action stay(struct artis_cpu *record, struct task_struct *p,
			      enum artis_event event)
{
	enum artis_action action = artis_stay(&record->stay, event, rt0_runnable(cpu_of(p)),
					       p->scx.slice, record->tick_ns);

	if (action == ARTIS_ACTION_PROLONG)
		scx_bpf_task_set_slice(p, artis_slice_prolonged_ns());
	return action;
}

/* Does a kernel thread that woke up wait for @cpu, where its task of @class makes room for it? */
static bool kthread_waits(s32 cpu, enum artis_class class)
{
	return artis_displaces(ARTIS_CLASS_KTHREAD, class) && kthreads_queued(cpu);
}

/* May another CPU take a SCHED_FIFO or SCHED_RR task from @cpu before it ran there? */
static bool rt0_may_be_taken(s32 cpu)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	return rq && rq->rt.overloaded;
}

#endif /* ARTIS_RT0_H */
