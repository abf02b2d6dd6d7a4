/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A search for the next task of a CPU: what the steps of serve.h do.
 */
#ifndef ARTIS_SEARCH_H
#define ARTIS_SEARCH_H

/* A search for the next task of a CPU. */
struct search {
	struct artis_cpu *record;
	struct task_struct *prev;
	struct task_ctx *stays;	/* prev's record, if prev may go on; or NULL */
	u64 enq_flags;
	u64 now;
	s32 cpu;
	bool rt;		/* the CPU serves the RT side */
	bool looks;		/* it looks for tasks that have waited too long for others */
	bool beset;		/* see artis_is_beset() */
};

/* Two of them, for functions that are verified once: those take few arguments. */
enum {
	SEARCH_RT = 1,
	SEARCH_LOOKS = 2,
};

static __always_inline struct search search_of(struct task_struct *prev, struct task_ctx *stays,
					       s32 cpu, u32 how, u64 now)
{
	struct artis_cpu *record = cpu_record(cpu);

	return (struct search) {
		.record = record,
		.prev = prev,
		.stays = stays,
		/*
		 * Without a tick nobody hands a displaced task back: then the kernel has to,
		 * at once, which costs RT0 the time of ops.enqueue() at each wakeup.
		 */
		.enq_flags = how & SEARCH_RT && record->rt_immed ? SCX_ENQ_IMMED : 0,
		.now = now,
		.cpu = cpu,
		.rt = how & SEARCH_RT,
		.looks = how & SEARCH_LOOKS,
	};
}

/* Does an RT1+ task wait, or may one go on? */
static bool has_rt1(const struct search *s)
{
	return waiting(DSQ_NRT_RT1) || waiting(DSQ_RT_RT1) ||
	       (s->stays && artis_is_rt1(class_of(s->prev)));
}

/*
 * Takes an RT1+ task, or lets @prev go on, which is in no queue yet. False: it is the
 * others' turn, or no RT1+ task is here. Global: verified once.
 */
__noinline int take_rt1(struct task_struct *prev __arg_trusted __arg_nullable,
			struct task_ctx *stays, s32 cpu, u32 how, u64 now)
{
	const struct search search = search_of(prev, stays, cpu, how, now), *s = &search;
	u64 dsq = s->rt ? DSQ_RT_RT1 : DSQ_NRT_RT1;
	bool runs = false, others = false, drains = false;
	u32 waits = waiting(dsq);

	runs = prev && stays && artis_is_rt1(class_of(prev));
	if (!s->rt) {
		u32 waits_rt = waiting(DSQ_RT_RT1);

		drains = artis_takes_rt1_of_rt(waits, waits_rt);
		if (drains) {
			dsq = DSQ_RT_RT1;
			waits = waits_rt;
		}
	}
	if (waits || runs)
		others = linux_queued(true, llc_of(s->cpu)) ||
			 (!s->rt && linux_queued(false, llc_of(s->cpu))) || pinned_queued(s->cpu);
	switch (artis_rt1_turn(&s->record->turn, waits, runs, others, s->now)) {
	case ARTIS_TURN_NO_RT1:
		return false;
	case ARTIS_TURN_OTHERS:
		count(ARTIS_others_turns);
		return false;
	case ARTIS_TURN_WAITING:
		if (take(dsq, s->enq_flags, s->now)) {
			if (drains)
				count(ARTIS_drained);
			return true;
		}
		break;
	case ARTIS_TURN_RUNNING:
		break;
	}
	if (runs)
		go_on(s->record, prev, artis_slice_ns(s->rt));
	return runs;
}

/*
 * May @prev go on, whose slice is over, if its deadline is before that of the first who
 * waits? Then it gets its new place: one that always goes on would fall ever further behind
 * the others, and then keep the CPU for as long.
 */
static struct task_ctx *compared(const struct search *s)
{
	struct artis_cpu *record = s->record;
	struct task_struct *prev = s->prev;
	struct task_ctx *t = s->stays;

	if (!prev || !t || !artis_is_compared(class_of(prev)))
		return NULL;
	charge(s->cpu, prev, t, prev->se.sum_exec_runtime, false);
	place(prev, t, s->rt);
	note_running(record, t, s->now);
	return t;
}

static bool stays_first(const struct search *s, u64 first)
{
	const struct task_ctx *t = compared(s);

	return t && artis_stays_first(t->deadline, first);
}

/* Takes the first of @dsq_id that is owed much more than @ours and may run on this CPU. */
static bool take_owed_of(u64 dsq_id, u64 ours, u64 enq_flags, u64 now)
{
	const struct pool *pool = the_pool();
	/* it may be about to change: no lock */
	u64 all = pool ? pool->tasks.weight : 0;
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, dsq_id, 0) {
		struct task_ctx *t = NULL;

		if (artis_may_be_far(p->scx.dsq_vtime, ours))
			t = task_ctx(p);
		if (!t || !artis_takes_far(p->scx.dsq_vtime, t->pooled_weight, all, ours))
			break;
		if (bpf_cpumask_test_cpu(bpf_get_smp_processor_id(), p->cpus_ptr) &&
		    !meets_rt0(p, now) &&
		    scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL, enq_flags)) {
			count(ARTIS_relieved);
			return true;
		}
	}
	return false;
}

/*
 * Takes a task of another cache that is owed much more than @ours, the first by deadline
 * here; the nearest first, and there who is in user mode. Global, as the next: verified once.
 */
__noinline int take_owed(s32 cpu, bool rt, u64 ours, u64 enq_flags, u64 now)
{
	u32 own = llc_of(cpu), nth;

	bpf_for(nth, 1, nr_llcs) {
		u32 llc = near_llc(own, nth);
		u64 first;

		if (first_linux(true, llc, &first) && artis_may_be_far(first, ours) &&
		    take_owed_of(linux_queue(true, llc), ours, enq_flags, now))
			return true;
		if (!rt && first_linux(false, llc, &first) && artis_may_be_far(first, ours) &&
		    take_owed_of(linux_queue(false, llc), ours, enq_flags, now))
			return true;
	}
	return false;
}

/* Takes any task of another cache, the nearest first. */
__noinline int take_far(s32 cpu, bool rt, u64 enq_flags, u64 now)
{
	u32 own = llc_of(cpu), nth;

	bpf_for(nth, 1, nr_llcs) {
		u32 llc = near_llc(own, nth);

		if (take(linux_queue(true, llc), enq_flags, now) ||
		    (!rt && take(linux_queue(false, llc), enq_flags, now)))
			return true;
	}
	return false;
}

/* Does a task of another cache come before who waits here (@has, with @first), and @prev? */
static bool relieve(const struct search *s, bool has, u64 first)
{
	const struct task_ctx *t = compared(s);

	if (t && artis_is_first(true, t->deadline, has, first)) {
		first = t->deadline;
		has = true;
	}
	return has && take_owed(s->cpu, s->rt, first, s->enq_flags, s->now);
}

/* The heads of the queues of Linux tasks that @s serves. */
static struct artis_heads heads_of(const struct search *s)
{
	u64 first_own = 0, first_side = 0, first_both = 0;
	bool own = first_pinned(s->cpu, &first_own);
	bool side = !s->rt && first_linux(false, llc_of(s->cpu), &first_side);
	bool both = first_linux(true, llc_of(s->cpu), &first_both);

	return (struct artis_heads) {
		.own = own,
		.side = side,
		.both = both,
		.own_deadline = first_own,
		.side_deadline = first_side,
		.both_deadline = first_both,
	};
}

/* Takes the first task of @queue that may run here. */
static bool take_first(const struct search *s, enum artis_queue queue)
{
	switch (queue) {
	case ARTIS_QUEUE_OWN:
		return scx_bpf_dsq_move_to_local(DSQ_PINNED + s->cpu, 0);
	case ARTIS_QUEUE_SIDE:
		return take(linux_queue(false, llc_of(s->cpu)), s->enq_flags, s->now);
	case ARTIS_QUEUE_BOTH:
		return take(linux_queue(true, llc_of(s->cpu)), s->enq_flags, s->now);
	case ARTIS_QUEUE_NONE:
		break;
	}
	return false;
}

/*
 * Takes whose deadline is first, of this CPU's own queue, on an NRT CPU that of its side, and the
 * one for both sides. The task that ran goes on if that is its own. Global: verified once.
 */
__noinline int take_fair(struct task_struct *prev __arg_trusted __arg_nullable,
			 struct task_ctx *stays, s32 cpu, u32 how, u64 now)
{
	const struct search search = search_of(prev, stays, cpu, how, now), *s = &search;
	struct artis_heads heads = heads_of(s);
	enum artis_queue queue = artis_first_queue(&heads);
	u64 first = artis_first_deadline(&heads, queue);
	u32 tried;

	if (has_llcs() && s->looks && relieve(s, queue, first))
		return true;
	if (queue && prev && stays_first(s, first)) {
		go_on(s->record, prev, artis_slice_ns(s->rt));
		if (!s->rt && stays)
			time_slice(s->record, stays, class_of(prev), s->cpu, s->now);
		return true;
	}
	bpf_for(tried, 0, ARTIS_QUEUES) {
		if (!queue)
			break;
		if (take_first(s, queue))
			return true;
		artis_forget_queue(&heads, queue);
		queue = artis_first_queue(&heads);
	}
	return false;
}

/* An NRT CPU takes an RT1+ task that waits for an RT CPU. */
static bool help_rt1(u64 now)
{
	if (!take(DSQ_RT_RT1, 0, now))
		return false;
	count(ARTIS_drained);
	return true;
}

#endif /* ARTIS_SEARCH_H */
