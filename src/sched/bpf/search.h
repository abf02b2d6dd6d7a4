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

/* Some of it, for functions that are verified once: those take few arguments. */
enum {
	SEARCH_RT = 1,
	SEARCH_RT1 = 2,		/* for RT1+ tasks */
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
	};
}

/* Is the task whose slice is over, and that may go on, of this kind, RT1+ or not? */
static bool stays_as(const struct search *s, bool rt1)
{
	return s->prev && s->stays && artis_is_rt1(class_of(s->prev)) == rt1;
}

/* Does an RT1+ task wait, or may one go on? */
static bool has_rt1(const struct search *s)
{
	return stays_as(s, true) || rt1_waits(s->cpu, s->rt);
}

/* Does somebody else wait? */
static bool others_wait(const struct search *s)
{
	return linux_queued(true, llc_of(s->cpu)) ||
	       (!s->rt && linux_queued(false, llc_of(s->cpu))) || pinned_queued(s->cpu);
}

/* Do RT1+ tasks come first at the moment? */
static bool is_rt1_turn(const struct search *s)
{
	bool rt1 = has_rt1(s);

	switch (artis_rt1_turn(&s->record->turn, rt1, rt1 && others_wait(s), s->now)) {
	case ARTIS_TURN_NO_RT1:
		return false;
	case ARTIS_TURN_OTHERS:
		count(ARTIS_others_turns);
		return false;
	case ARTIS_TURN_RT1:
		break;
	}
	return true;
}

/*
 * @prev may go on, whose slice is over: it is charged and gets its new place, so that it is
 * compared with those that wait. One that always goes on would else fall ever further behind the
 * others, and then keep the CPU for as long.
 */
static void compare(const struct search *s)
{
	struct task_struct *prev = s->prev;
	struct task_ctx *t = s->stays;

	if (!prev || !t)
		return;
	charge(s->cpu, prev, t, prev->se.sum_exec_runtime, false);
	if (artis_is_rt1(class_of(prev)))
		return;
	place(prev, t, s->rt);
	note_running(s->record, t, s->now);
}

/* Does it go on, although @first waits? */
static bool stays_first(const struct search *s, u64 first)
{
	struct task_ctx *t = s->stays;

	if (!s->prev || !t)
		return false;
	return artis_stays_first(t->yields, artis_is_rt1(class_of(s->prev)) ?
						    rt1_key_running(s->prev, t, s->now) :
						    t->deadline,
				 first);
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

/* Takes one of another cache that comes before who waits here, and @prev. Global: verified once. */
__noinline int relieve(struct task_struct *prev __arg_trusted __arg_nullable,
		       struct task_ctx *stays, s32 cpu, u32 how, u64 now)
{
	const struct search search = search_of(prev, stays, cpu, how, now), *s = &search;
	struct artis_heads heads = heads_of(cpu, s->rt, false);
	enum artis_queue queue = artis_first_queue(&heads);
	u64 first = artis_first_deadline(&heads, queue);
	bool has = queue;

	if (stays && stays_as(s, false) &&
	    artis_is_first(true, stays->deadline, has, first)) {
		first = stays->deadline;
		has = true;
	}
	return has && take_owed(cpu, s->rt, first, s->enq_flags, now);
}

/* Takes the first task of @queue that may run here. */
static bool take_first(const struct search *s, enum artis_queue queue, bool rt1)
{
	u64 dsq_id = queue_id(s->cpu, queue, rt1);

	if (queue == ARTIS_QUEUE_OWN)
		return scx_bpf_dsq_move_to_local(dsq_id, 0);
	return take(dsq_id, s->enq_flags, s->now);
}

/* The task that ran does so on. */
static void go_on_as_first(const struct search *s, bool rt1)
{
	if (!s->prev || !s->stays)
		return;
	go_on(s->record, s->prev, s->stays, artis_slice_ns(s->rt));
	if (!s->rt && !rt1)
		time_slice(s->record, s->stays, class_of(s->prev), s->cpu, s->now);
}

/*
 * Takes whose deadline is first, or as an RT1+ task its key: of this CPU's own queue, on an NRT CPU
 * that of its side, and the one for both sides. The task that ran goes on if that is its own.
 * Global: verified once.
 */
__noinline int take_ordered(struct task_struct *prev __arg_trusted __arg_nullable,
			    struct task_ctx *stays, s32 cpu, u32 how, u64 now)
{
	const struct search search = search_of(prev, stays, cpu, how, now), *s = &search;
	bool rt1 = how & SEARCH_RT1;
	struct artis_heads heads = heads_of(s->cpu, s->rt, rt1);
	enum artis_queue queue = artis_first_queue(&heads);
	u64 first = artis_first_deadline(&heads, queue);
	u32 tried;

	if (queue && stays_as(s, rt1) && stays_first(s, first)) {
		go_on_as_first(s, rt1);
		return true;
	}
	bpf_for(tried, 0, ARTIS_QUEUES) {
		if (!queue)
			break;
		if (take_first(s, queue, rt1))
			return true;
		artis_forget_queue(&heads, queue);
		queue = artis_first_queue(&heads);
	}
	if (!rt1 || !stays_as(s, rt1))
		return false;
	go_on_as_first(s, rt1);
	return true;
}

#endif /* ARTIS_SEARCH_H */
