/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task wakes up: select_cpu. It asks the policy which CPU to try, and hands the task
 * that one if it can be had.
 */
#ifndef ARTIS_SELECT_H
#define ARTIS_SELECT_H

/* Is @cpu this CPU, and an RT CPU that RT0 takes next? */
static bool rt0_here(s32 cpu)
{
	return cpu == (s32)bpf_get_smp_processor_id() && is_rt(cpu) && rt0_runnable(cpu);
}

/* Obeys the policy's @kick for @cpu. */
static void kick(s32 cpu, enum artis_kick kick)
{
	switch (kick) {
	case ARTIS_KICK_NONE:
		break;
	case ARTIS_KICK_IDLE:
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		break;
	case ARTIS_KICK_PREEMPT_UNLESS_DUE:
		/* ops.running() or the next tick does it later */
		if (rt0_due(cpu, artis_kthread_turn_ns()))
			break;
		/* fallthrough */
	case ARTIS_KICK_PREEMPT:
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
		break;
	}
}

/* Any NRT CPU that @p may use: @prev_cpu if it is one. */
static s32 some_nrt_cpu(struct task_struct *p, s32 prev_cpu)
{
	struct bpf_cpumask *mask;
	s32 cpu = prev_cpu;

	if (!is_rt(prev_cpu) && may_use(p, prev_cpu))
		return prev_cpu;
	if (has_llcs()) {
		cpu = near_cpu(p, prev_cpu, false);
		return cpu < 0 ? prev_cpu : cpu;
	}
	bpf_rcu_read_lock();
	mask = nrt_mask;
	if (mask)
		cpu = bpf_cpumask_any_and_distribute(as_mask(mask), p->cpus_ptr);
	bpf_rcu_read_unlock();
	return cpu < (s32)nr_cpus ? cpu : prev_cpu;
}

/* Is the task handed the CPU of its waker, this one? */
static bool hand_over(struct task_struct *p, struct task_ctx *t, const struct artis_task_view *view,
		      s32 cpu, bool sync)
{
	const struct artis_cpu *record = cpu_record(cpu);
	bool room = artis_has_room(artis_is_alone(view, nr_idle_nrt), local_queued(cpu));
	bool waits = !room || pinned_queued(cpu) || waiting(DSQ_NRT_KTHREAD) ||
		     rt1_waits(cpu, false);
	u64 first = 0;
	bool others;

	if (!artis_may_hand_over(view, sync, record->rt, t->by_interrupt, waits) || !may_use(p, cpu))
		return false;
	place(p, t, false);
	others = first_linux(false, llc_of(cpu), &first);
	return artis_comes_first(t->deadline, others, first);
}

/* The CPU of that kind for a task that wakes up, or negative. */
static __always_inline s32 picked(struct task_struct *p, struct task_ctx *t,
				  const struct artis_task_view *view, enum artis_pick pick,
				  s32 prev_cpu, u64 wake_flags)
{
	s32 cpu = bpf_get_smp_processor_id();

	switch (pick) {
	case ARTIS_PICK_LAST:
		return prev_cpu;
	case ARTIS_PICK_IDLE:
		/* a look at the mask takes a fifth of what a search does */
		if (!nr_idle_nrt || !nrt_cpu_is_idle())
			return -1;
		cpu = idle_nrt_cpu(p, prev_cpu, wake_flags);
		if (cpu < 0)
			return cpu;
		place(p, t, false);
		break;
	case ARTIS_PICK_WAKER:
		if (!hand_over(p, t, view, cpu, wake_flags & SCX_WAKE_SYNC))
			return -1;
		break;
	case ARTIS_PICK_NRT:
		return some_nrt_cpu(p, prev_cpu);
	case ARTIS_PICK_NRT_LATER:
		if (nr_idle_nrt || !may_use(p, cpu))
			return -1;
		left_rt_ns = clock_of(cpu);
		t->runnable_at_ns = left_rt_ns;
		t->state = artis_state_queued(ARTIS_PLACE_NRT);
		use(place_of(DSQ_NRT_KTHREAD));
		scx_bpf_dsq_insert(p, DSQ_NRT_KTHREAD, artis_slice_ns(false), 0);
		return cpu;
	case ARTIS_PICK_NRT_FRONT:
		cpu = nr_idle_nrt ? idle_nrt_cpu(p, prev_cpu, 0) : -1;
		if (cpu < 0)
			cpu = some_nrt_cpu(p, prev_cpu);
		if (is_rt(cpu))
			return cpu;
		break;
	}
	t->state = artis_state_queued(ARTIS_PLACE_NRT);
	scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, artis_slice_ns(false), 0);
	return cpu;
}

/*
 * The first of the CPUs to try that can be had, written out as serve() is. Who gets none at once
 * is queued by ops.enqueue(), which wakes an idle CPU without looking for the best one.
 */
SEC("struct_ops/artis_select_cpu")
s32 BPF_PROG(artis_select_cpu, struct task_struct *p, s32 prev_cpu, u64 wake_flags)
{
	bool from_rt = is_rt(bpf_get_smp_processor_id());
	struct task_ctx *t = task_ctx(p);
	struct artis_task_view view;
	s32 cpu;

	if (!t)
		return prev_cpu;
	t->by_interrupt = in_interrupt();
	view = view_fixed(p, t);
#define PICK(nth) picked(p, t, &view, artis_pick_cpu(&view, from_rt, nth), prev_cpu, wake_flags)
	cpu = PICK(0);
	if (cpu < 0)
		cpu = PICK(1);
	if (cpu < 0)
		cpu = PICK(2);
#undef PICK
	return cpu;
}

#endif /* ARTIS_SELECT_H */
