/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A tick: the slice of a task on an RT CPU ends there, and a task in user mode on an
 * NRT CPU may be promoted, make way, or be stopped.
 */
#ifndef ARTIS_TICK_H
#define ARTIS_TICK_H

/*
 * Did the tick of @cpu interrupt user mode? A tick that another CPU handles for this
 * one says nothing about that.
 */
static bool tick_in_user_mode(s32 cpu)
{
	struct pt_regs **regs = bpf_this_cpu_ptr(&__irq_regs);

	if (cpu != (s32)bpf_get_smp_processor_id())
		return false;
	return regs && *regs && ARCH_IN_USER_MODE(*regs);
}

static void tick_rt(struct artis_cpu *record, struct task_struct *p, struct task_ctx *t, s32 cpu)
{
	struct artis_task_view view;

	if (artis_tick_is_rt0s(rt0_runnable(cpu), limited_groups))
		return;
	view = view_fixed(p, t);
	t->state = artis_state_tick_rt(&view);
	if (stay(record, p, ARTIS_EVENT_TICKS) == ARTIS_ACTION_END ||
	    artis_tick_ends_slice(t->state, kthread_waits(cpu, view.class)))
		scx_bpf_task_set_slice(p, 0);
}

static void tick_nrt(struct task_struct *p, struct task_ctx *t, s32 cpu)
{
	struct artis_task_view view = view_fixed(p, t);
	struct artis_surroundings at = {};
	u64 now = clock_of(cpu);

	find_rivals(p, t, cpu, now, &at);
	if (at.makes_way)
		scx_bpf_task_set_slice(p, 0);
	if (!artis_may_be_promoted(&view) || is_beset(cpu) || !tick_in_user_mode(cpu))
		return;
	/* who makes way goes there whatever the rest is */
	if (!at.makes_way) {
		at.others = somebody_waits(cpu);
		at.offer = best_offer(p, t, now);
		at.idle = nrt_cpu_is_idle_for(p);
	}
	switch (artis_promote(&view, &t->calls, &t->trial, now, &at)) {
	case ARTIS_STAY:
		break;
	case ARTIS_REFUSE_ESTIMATE:
		count(ARTIS_promotions_refused);
		break;
	case ARTIS_PROMOTE:
		t->state = ARTIS_STATE_PROMOTED;
		t->makes_way = at.makes_way;
		scx_bpf_task_set_slice(p, 0);
		break;
	}
}

/*
 * Does the task stop, because its cgroup has used up its time? It is in user mode, and so
 * holds nothing that others wait for.
 */
static bool stop_at_tick(struct task_struct *p, struct task_ctx *t, s32 cpu)
{
	if (!is_limited(p, t) || is_beset(cpu) || !tick_in_user_mode(cpu) ||
	    artis_is_neglected(clock_of(cpu), looked_ns) || !charge_limits(t->group, 0))
		return false;
	t->state = ARTIS_STATE_STOPPED;
	scx_bpf_task_set_slice(p, 0);
	return true;
}

/*
 * The task's CPU need not be this one: another CPU ticks, once a second, for a CPU of
 * nohz_full that has stopped its tick.
 */
SEC("struct_ops/artis_tick")
void BPF_PROG(artis_tick, struct task_struct *p)
{
	struct task_ctx *t = task_ctx(p);
	s32 cpu = cpu_of(p);
	struct artis_cpu *record = cpu_record(cpu);

	if (!t || !on)
		return;
	if (artis_keeps_slice(record->offline, record->unwatched)) {
		scx_bpf_task_set_slice(p, artis_slice_endless_ns());
		return;
	}
	if (artis_slice_was_endless(p->scx.slice))
		scx_bpf_task_set_slice(p, 0);
	if (record->rt) {
		pass_on_kthreads();
		if (artis_has_sides(nr_nrt_online)) {
			tick_rt(record, p, t, cpu);
			if (limited_groups) {
				charge(cpu, p, t, p->se.sum_exec_runtime, false);
				stop_at_tick(p, t, cpu);
			}
			/* or the kernel would ask for the next task on RT0's way */
			if (!p->scx.slice && may_go_on(record, p, t))
				put_off(record, p, t, first_timer(cpu));
		}
		return;
	}
	if (!nr_idle_nrt)
		wake_nrt_side();
	wake_rt_side();
	charge(cpu, p, t, p->se.sum_exec_runtime, false);
	if (limited_groups && stop_at_tick(p, t, cpu))
		return;
	tick_nrt(p, t, cpu);
}

#endif /* ARTIS_TICK_H */
