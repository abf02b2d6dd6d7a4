/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a runnable task goes: select_cpu and enqueue.
 *
 * This side decides RT or NRT, and does it by what is known of the task alone;
 * serve.h decides who is next on a CPU.
 */
#ifndef ARTIS_PLACE_H
#define ARTIS_PLACE_H

static void insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice_ns, u64 vtime, u64 enq_flags)
{
	struct scx_bpf_dsq_insert_vtime_args args = {
		.dsq_id = dsq_id,
		.slice = slice_ns,
		.vtime = vtime,
		.enq_flags = enq_flags,
	};

	__scx_bpf_dsq_insert_vtime(p, &args);
}

/* Wakes @cpu from idle, but never this CPU while RT0 is about to run on it. */
static void kick_idle(s32 cpu)
{
	if (cpu == (s32)bpf_get_smp_processor_id() && is_rt(cpu) && rt0_runnable(cpu))
		return;
	scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
}

/* Is an NRT CPU idle? */
static bool nrt_cpu_is_idle(void)
{
	const struct cpumask *idle = scx_bpf_get_idle_cpumask();
	struct bpf_cpumask *mask;
	bool is_idle = false;

	bpf_rcu_read_lock();
	mask = nrt_mask;
	if (mask)
		is_idle = bpf_cpumask_intersects(as_mask(mask), idle);
	bpf_rcu_read_unlock();
	scx_bpf_put_idle_cpumask(idle);
	return is_idle;
}

/* The best idle NRT CPU that @p may use, or negative. */
static s32 idle_nrt_cpu(struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct scx_bpf_select_cpu_and_args args = {
		.prev_cpu = prev_cpu,
		.wake_flags = wake_flags,
	};
	struct bpf_cpumask *mask;
	s32 cpu = -1;

	bpf_rcu_read_lock();
	mask = nrt_mask;
	if (mask)
		cpu = __scx_bpf_select_cpu_and(p, as_mask(mask), &args);
	bpf_rcu_read_unlock();
	return cpu;
}

/*
 * The same without a preference, for a task that is queued already: somebody idle
 * has to be woken, whoever it is. Most tasks may run everywhere, and for them it
 * is a look at a mask.
 */
static s32 any_idle_nrt_cpu(struct task_struct *p, s32 prev_cpu)
{
	struct bpf_cpumask *mask;
	s32 cpu = -1;

	if ((u32)p->nr_cpus_allowed != nr_cpus)
		return idle_nrt_cpu(p, prev_cpu, 0);
	bpf_rcu_read_lock();
	mask = nrt_mask;
	if (mask)
		cpu = scx_bpf_pick_idle_cpu(as_mask(mask), 0);
	bpf_rcu_read_unlock();
	return cpu;
}

/* Any NRT CPU that @p may use: @prev_cpu if it is one. */
static s32 some_nrt_cpu(struct task_struct *p, s32 prev_cpu)
{
	struct bpf_cpumask *mask;
	s32 cpu = prev_cpu;

	if (!is_rt(prev_cpu) && bpf_cpumask_test_cpu(prev_cpu, p->cpus_ptr))
		return prev_cpu;
	bpf_rcu_read_lock();
	mask = nrt_mask;
	if (mask)
		cpu = bpf_cpumask_any_and_distribute(as_mask(mask), p->cpus_ptr);
	bpf_rcu_read_unlock();
	return cpu < (s32)nr_cpus ? cpu : prev_cpu;
}

/* Brings the task's virtual time to @side, and returns it. */
static u64 place(const struct task_struct *p, struct task_ctx *t, u32 side)
{
	u64 slice_ns = side == SIDE_RT ? ARTIS_SLICE_RT_NS : ARTIS_SLICE_NRT_NS;

	t->vtime = artis_vtime_place(t->vtime, side_vtime[side & 1], slice_ns, p->scx.weight,
				     t->side != side);
	t->side = side;
	return t->vtime;
}

/*
 * A wakeup never touches an RT CPU's run queue: the waker would hold its lock.
 * An idle NRT CPU gets the task at once; else ops.enqueue() queues it.
 */
SEC("struct_ops/artis_select_cpu")
s32 BPF_PROG(artis_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	struct task_ctx *t = task_ctx(p);
	s32 cpu;

	if (!t || is_bound_to_rt(t) || is_migration_disabled(p))
		return prev_cpu;
	/*
	 * From an RT CPU's interrupts and softirqs: the shorter the better, RT0's timer
	 * waits. ops.enqueue() wakes an idle CPU without looking for the best.
	 */
	if (is_rt(bpf_get_smp_processor_id()))
		return some_nrt_cpu(p, prev_cpu);
	/* that none is, which is usual under load, is found out at a fifth of the cost */
	cpu = nrt_cpu_is_idle() ? idle_nrt_cpu(p, prev_cpu, wake_flags) : -1;
	if (cpu < 0)
		return some_nrt_cpu(p, prev_cpu);
	t->at_user = false;
	t->rt_ok = false;
	place(p, t, SIDE_NRT);
	t->runnable_at_ns = scx_bpf_now();
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, ARTIS_SLICE_NRT_NS, 0);
	return cpu;
}

/*
 * A kernel thread that wakes up is what others wait for: it comes first, until
 * it has used up a slice.
 */
static bool comes_first(enum artis_class class, u64 enq_flags)
{
	return class == ARTIS_CLASS_KTHREAD && (enq_flags & SCX_ENQ_WAKEUP);
}

/* The task may run on one CPU only, RT or not. */
static void enqueue_pinned(struct task_struct *p, struct task_ctx *t, enum artis_class class,
			   u64 enq_flags)
{
	s32 cpu = scx_bpf_task_cpu(p);
	u32 side = is_rt(cpu) ? SIDE_RT : SIDE_NRT;
	u64 slice_ns = side == SIDE_RT ? ARTIS_SLICE_RT_NS : ARTIS_SLICE_NRT_NS;
	u64 vtime = place(p, t, side);
	bool first = comes_first(class, enq_flags);
	struct artis_cpu *record = cpu_record(cpu);

	if (first) {
		record->kthread_queued = true;
		scx_bpf_dsq_insert(p, DSQ_KTHREAD + cpu, slice_ns, enq_flags);
	} else {
		record->pinned_queued = true;
		insert_vtime(p, DSQ_PINNED + cpu, slice_ns, vtime, enq_flags);
	}

	if (cpu == (s32)bpf_get_smp_processor_id() && side == SIDE_RT && rt0_runnable(cpu))
		return;
	if (!first || class_on(cpu) != ARTIS_CLASS_LINUX)
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	/* else when RT0 has gone, see ops.running(), or at the next tick */
	else if (side != SIDE_RT || !rt0_due(cpu, ARTIS_KTHREAD_TURN_NS))
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
}

/*
 * Wakes an RT CPU for the task just queued for that side: one that has no task.
 * It need not look idle; it may be about to be, in the middle of a switch, having
 * found the queue empty before the task was in it, and the kick makes sure that it
 * looks again. For RT1+ a Linux task has to make room.
 */
static void kick_rt_side(enum artis_class class)
{
	s32 displace = -1;
	u32 i;

	bpf_for(i, 0, nr_rt) {
		s32 cpu = rt_cpu(i);
		const struct artis_cpu *record = cpu_record(cpu);

		if (record->offline || rt0_runnable(cpu))
			continue;
		if (!hosts(cpu)) {
			/*
			 * It looks by itself when RT0 has gone. To leave its idle loop
			 * takes about as long as the switch.
			 */
			if (!rt0_due(cpu, 2 * record->switch_ns))
				scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
			return;
		}
		if (record->switch_began_ns)
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		if (class == ARTIS_CLASS_RT1 && class_on(cpu) == ARTIS_CLASS_LINUX)
			displace = cpu;
	}
	if (displace >= 0)
		scx_bpf_kick_cpu(displace, SCX_KICK_PREEMPT);
}

static void enqueue_rt(struct task_struct *p, struct task_ctx *t, enum artis_class class, u64 now,
		       u64 enq_flags)
{
	t->rt_ok = true;
	if (class == ARTIS_CLASS_RT1) {
		t->side = SIDE_RT;
		insert_vtime(p, DSQ_RT_RT1, ARTIS_SLICE_RT_NS,
			     artis_rt1_key(artis_rt1_level(p->static_prio), now), enq_flags);
	} else {
		insert_vtime(p, DSQ_RT_LINUX, ARTIS_SLICE_RT_NS, place(p, t, SIDE_RT), enq_flags);
	}
	kick_rt_side(class);
}

static void enqueue_nrt(struct task_struct *p, struct task_ctx *t, enum artis_class class, u64 now,
			u64 enq_flags)
{
	s32 prev_cpu = scx_bpf_task_cpu(p);
	s32 cpu;

	t->rt_ok = false;
	if (class == ARTIS_CLASS_RT1) {
		t->side = SIDE_NRT;
		insert_vtime(p, DSQ_NRT_RT1, ARTIS_SLICE_NRT_NS,
			     artis_rt1_key(artis_rt1_level(p->static_prio), now), enq_flags);
	} else if (comes_first(class, enq_flags)) {
		scx_bpf_dsq_insert(p, DSQ_NRT_KTHREAD, ARTIS_SLICE_NRT_NS, enq_flags);
	} else {
		insert_vtime(p, DSQ_NRT_LINUX, ARTIS_SLICE_NRT_NS, place(p, t, SIDE_NRT), enq_flags);
	}

	if (!nr_nrt_online) {
		kick_rt_side(class);
		return;
	}
	cpu = any_idle_nrt_cpu(p, prev_cpu);
	if (cpu >= 0) {
		kick_idle(cpu);
		return;
	}
	if (class != ARTIS_CLASS_RT1 || is_rt(prev_cpu))
		return;
	/* RT1+ before Linux tasks */
	if (class_on(prev_cpu) == ARTIS_CLASS_LINUX)
		scx_bpf_kick_cpu(prev_cpu, SCX_KICK_PREEMPT);
}

/* Did the task enter the kernel? */
static bool is_entry(enum artis_cause cause)
{
	return cause == ARTIS_CAUSE_SYSCALL || cause == ARTIS_CAUSE_FAULT ||
	       cause == ARTIS_CAUSE_SIGNAL || cause == ARTIS_CAUSE_TRACER;
}

static void count_eviction(enum artis_cause cause)
{
	switch (cause) {
	case ARTIS_CAUSE_NONE:
		break;
	case ARTIS_CAUSE_SYSCALL:
		count(ARTIS_evictions_syscall);
		break;
	case ARTIS_CAUSE_FAULT:
		count(ARTIS_evictions_fault);
		break;
	case ARTIS_CAUSE_SIGNAL:
		count(ARTIS_evictions_signal);
		break;
	case ARTIS_CAUSE_TRACER:
		count(ARTIS_evictions_tracer);
		break;
	case ARTIS_CAUSE_AFFINITY:
		count(ARTIS_evictions_affinity);
		break;
	case ARTIS_CAUSE_UNKNOWN:
		count(ARTIS_evictions_unknown);
		break;
	}
}

/* Does @p, which is in user mode and was on the RT side, stay there? */
static bool stays_rt(struct task_struct *p, enum artis_class class)
{
	struct artis_side rt, nrt;

	measure_rt_side(&rt);
	/* until the switch is done it still counts as the one that its CPU has */
	rt.tasks += !scx_bpf_task_running(p);
	measure_nrt_side(&nrt, -1);
	return artis_stays_rt(class, &rt, &nrt);
}

/*
 * Does RT0 take the CPU from @p at the very moment at which its slice is over? Then it
 * goes when RT0 has gone: to queue it elsewhere would be on RT0's way.
 */
static bool goes_behind_rt0(const struct artis_cpu *record, struct task_struct *p, u64 enq_flags)
{
	return record->rt && !record->rt_immed && !record->ahead_of_rt0 &&
	       !(enq_flags & (SCX_ENQ_WAKEUP | SCX_ENQ_REENQ)) && scx_bpf_task_running(p) &&
	       rt0_runnable(scx_bpf_task_cpu(p));
}

/* The task, which is on the CPU of @record, leaves it. */
static void leaves(struct artis_cpu *record, const struct task_struct *p, struct task_ctx *t,
		   u64 now)
{
	charge(record, p, t, p->se.sum_exec_runtime);
	t->is_on = false;
	if (record->marked_pid != (u32)p->pid)
		return;
	record->marked_pid = 0;
	if (on && (s64)(now - record->marked_ns) > (s64)record->leave_ns_max)
		record->leave_ns_max = now - record->marked_ns;
}

SEC("struct_ops/artis_enqueue")
void BPF_PROG(artis_enqueue, struct task_struct *p, u64 enq_flags)
{
	struct task_ctx *t = task_ctx(p);
	enum artis_class class = class_of(p);
	bool at_user, promote, was_rt_ok;
	struct artis_cpu *record = cpu_record(scx_bpf_task_cpu(p));
	u64 now = scx_bpf_now();

	if (!t) {
		/* no memory for its record when it was born: serve it, on the safe side */
		insert_vtime(p, DSQ_NRT_LINUX, ARTIS_SLICE_NRT_NS, side_vtime[SIDE_NRT], enq_flags);
		return;
	}
	note_rt1(class);
	if (t->is_on) {
		if (goes_behind_rt0(record, p, enq_flags)) {
			scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, ARTIS_SLICE_PUT_OFF_NS, 0);
			return;
		}
		leaves(record, p, t, now);
	}
	at_user = t->at_user;
	promote = t->promote;
	was_rt_ok = t->rt_ok;
	t->at_user = false;
	t->promote = false;
	if (t->cause != ARTIS_CAUSE_NONE) {
		was_rt_ok = false;
		at_user = false;
		count_eviction(t->cause);
		if (is_entry(t->cause))
			artis_trial_ended(&t->trial, class, now, t->stayed_ns);
		t->cause = ARTIS_CAUSE_NONE;
	}
	if (!t->runnable_at_ns)
		t->runnable_at_ns = now;
	if ((enq_flags & SCX_ENQ_REENQ) && record->rt) {
		record->displaced_ns = 0;
		count(ARTIS_displacements);
		count(ARTIS_hand_backs);
	}

	if (t->bound == BOUND_ONE || is_migration_disabled(p)) {
		enqueue_pinned(p, t, class, enq_flags);
		return;
	}
	if (record->rt)
		left_rt_ns = now;
	if (t->bound == BOUND_RT) {
		count(ARTIS_rt_only_tasks);
		enqueue_rt(p, t, class, now, enq_flags);
		return;
	}
	if (!on || class == ARTIS_CLASS_KTHREAD || t->bound == BOUND_NRT) {
		enqueue_nrt(p, t, class, now, enq_flags);
		return;
	}
	if (at_user && promote) {
		count(ARTIS_promotions);
		t->stayed_ns = 0;
		enqueue_rt(p, t, class, now, enq_flags);
		return;
	}
	/*
	 * It was on an RT CPU and nothing marked it: it is in user mode still. But
	 * who wakes up is in the kernel, wherever it went to sleep. Handed back from
	 * behind RT0 it goes where a CPU may be had at once.
	 */
	if (was_rt_ok && !(enq_flags & (SCX_ENQ_REENQ | SCX_ENQ_WAKEUP)) && nr_rt_online &&
	    stays_rt(p, class)) {
		enqueue_rt(p, t, class, now, enq_flags);
		return;
	}
	enqueue_nrt(p, t, class, now, enq_flags);
}

#endif /* ARTIS_PLACE_H */
