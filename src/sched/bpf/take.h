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

/* The queues from which a CPU takes, of RT1+ or of Linux tasks. */
static u64 queue_id(s32 cpu, enum artis_queue queue, bool rt1)
{
	bool both = queue == ARTIS_QUEUE_BOTH;

	if (queue == ARTIS_QUEUE_OWN)
		return (rt1 ? DSQ_PINNED_RT1 : DSQ_PINNED) + cpu;
	if (rt1)
		return both ? DSQ_BOTH_RT1 : DSQ_NRT_RT1;
	return linux_queue(both, llc_of(cpu));
}

static bool first_shared(s32 cpu, bool both, bool rt1, u64 *deadline)
{
	u64 dsq_id = queue_id(cpu, both ? ARTIS_QUEUE_BOTH : ARTIS_QUEUE_SIDE, rt1);

	return first_for(cpu, dsq_id, rt1 ? place_of(dsq_id) : linux_place(llc_of(cpu), both),
			 deadline);
}

/* Their heads: the first that may run on @cpu. */
static __always_inline struct artis_heads heads_of(s32 cpu, bool rt, bool rt1)
{
	u64 first_own = 0, first_side = 0, first_both = 0;
	bool own = rt1 ? first_pinned_rt1(cpu, &first_own) : first_pinned(cpu, &first_own);
	bool side = !rt && first_shared(cpu, false, rt1, &first_side);
	bool both = first_shared(cpu, true, rt1, &first_both);

	return (struct artis_heads) {
		.own = own,
		.side = side,
		.both = both,
		.own_deadline = first_own,
		.side_deadline = first_side,
		.both_deadline = first_both,
	};
}

/* So much further is one that is owed much less than @p. */
static u64 owed_much(const struct task_struct *p, const struct task_ctx *t)
{
	return artis_owed_much(class_of(p), t->pooled_weight);
}

/* @p runs on @cpu, an NRT CPU, at a tick: who waits there? Global: verified once. */
__noinline int find_rivals(struct task_struct *p __arg_trusted, struct task_ctx *t __arg_nonnull,
			   s32 cpu, u64 now, struct artis_surroundings *at __arg_nonnull)
{
	struct artis_cpu *record = cpu_record(cpu);
	bool rt1 = artis_is_rt1(class_of(p));
	struct artis_heads heads;
	enum artis_queue queue;
	u64 first, ours;

	if (!rt1 && !artis_makes_way(class_of(p)))
		return 0;
	if (!rt1 && local_queued(cpu)) {
		at->makes_way = artis_hands_over(&record->running, now);
		return 0;
	}
	heads = heads_of(cpu, false, rt1);
	queue = artis_first_queue(&heads);
	if (!queue)
		return 0;
	first = artis_first_deadline(&heads, queue);
	ours = rt1 ? rt1_key_running(p, t, now) : t->deadline;
	at->makes_way = rt1 ? artis_vtime_before(first, ours) :
				  artis_takes_over(first, &record->running, now, false);
	at->alike = artis_vtime_before(first, ours + owed_much(p, t));
	return 0;
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
static void keep(struct artis_cpu *record, struct task_ctx *t)
{
	drop_switch(record);
	t->state = artis_state_running(t->state, record->rt);
}

/* The same, with a new slice. */
static void go_on(struct artis_cpu *record, struct task_struct *prev, struct task_ctx *t,
		  u64 slice_ns)
{
	keep(record, t);
	scx_bpf_task_set_slice(prev, slice_ns);
	if (record->rt)
		stay(record, prev, ARTIS_EVENT_BEGINS);
}

#endif /* ARTIS_TAKE_H */
