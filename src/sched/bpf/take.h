/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a CPU takes from a queue, beside RT0, and whether its task may go on.
 */
#ifndef ARTIS_TAKE_H
#define ARTIS_TAKE_H

/* Would taking @p lock the run queue of another CPU, an RT CPU, while RT0 needs it? */
static bool meets_rt0(struct task_struct *p, u64 now)
{
	s32 cpu = cpu_of(p);
	struct task_ctx *t;

	if (!is_rt(cpu) || cpu == (s32)bpf_get_smp_processor_id())
		return false;
	t = task_ctx(p);
	if (!t || !artis_may_pass_over(now, t->runnable_at_ns))
		return false;
	return lock_meets_rt0(cpu);
}

/*
 * Takes the first task of @dsq_id, or one close behind it if that one would meet RT0
 * elsewhere. If they all would, it takes the first. Global: verified once, and not for
 * each step of a search.
 */
__noinline int take_beside_rt0(u64 dsq_id, u64 enq_flags, u64 now)
{
	struct task_struct *p;
	u32 passed = 0;

	p = scx_bpf_dsq_peek(dsq_id);
	if (!p)
		return false;
	if (!meets_rt0(p, now))
		return scx_bpf_dsq_move_to_local(dsq_id, enq_flags);
	bpf_for_each(scx_dsq, p, dsq_id, 0) {
		/* the kernel ends a scheduler that gives a CPU a task not allowed there */
		if (bpf_cpumask_test_cpu(bpf_get_smp_processor_id(), p->cpus_ptr) &&
		    !meets_rt0(p, now) &&
		    scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, enq_flags))
			return true;
		if (!artis_passes_on(++passed))
			break;
	}
	return scx_bpf_dsq_move_to_local(dsq_id, enq_flags);
}

/* Takes the first task of @dsq_id, unless that is in RT0's way. */
static bool take(u64 dsq_id, u64 enq_flags, u64 now)
{
	if (!artis_may_pass_over(now, left_rt_ns))
		return scx_bpf_dsq_move_to_local(dsq_id, enq_flags);
	return take_beside_rt0(dsq_id, enq_flags, now);
}

/* Does the first RT1+ task that waits for @cpu, an NRT CPU, come before @p, one that runs? */
static bool rt1_takes_over(s32 cpu, const struct task_struct *p, struct task_ctx *t, u64 now)
{
	u64 ours = rt1_key(p, t, now), first;

	return (first_pinned_rt1(cpu, &first) && artis_vtime_before(first, ours)) ||
	       (first_of(DSQ_NRT_RT1, place_of(DSQ_NRT_RT1), &first) &&
		artis_vtime_before(first, ours)) ||
	       (first_of(DSQ_BOTH_RT1, place_of(DSQ_BOTH_RT1), &first) &&
		artis_vtime_before(first, ours));
}

/* Does the first task that waits for @cpu, an NRT CPU, take over from the one that runs? */
static bool next_takes_over(s32 cpu, struct artis_cpu *record, u64 now)
{
	u32 llc = llc_of(cpu);
	u64 first;

	if (local_queued(cpu))
		return artis_hands_over(&record->running, now);
	if (first_pinned(cpu, &first) &&
	    artis_takes_over(first, &record->running, now, false))
		return true;
	if (first_linux(true, llc, &first) &&
	    artis_takes_over(first, &record->running, now, false))
		return true;
	return first_linux(false, llc, &first) &&
	       artis_takes_over(first, &record->running, now, false);
}

static bool is_runnable(const struct task_struct *p)
{
	return p->scx.flags & SCX_TASK_QUEUED;
}

/* May @prev go on, whose slice is over? */
static bool may_go_on(const struct artis_cpu *record, const struct task_struct *prev,
		      const struct task_ctx *t)
{
	struct artis_task_view view;

	if (!is_runnable(prev))
		return false;
	if (is_beset(cpu_of(prev)))
		return true;
	if (record->marked_pid == (u32)prev->pid || is_to_be_held(prev))
		return false;
	view = view_of(prev, t);
	return artis_may_go_on(&view, record->rt, nr_nrt_online);
}

/* @prev is the next task, too: there is no switch. */
static void go_on(struct artis_cpu *record, struct task_struct *prev, u64 slice_ns)
{
	drop_switch(record);
	record->put_off = false;
	scx_bpf_task_set_slice(prev, slice_ns);
}

#endif /* ARTIS_TAKE_H */
