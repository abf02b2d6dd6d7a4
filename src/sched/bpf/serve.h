/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A CPU asks for its next task: dispatch. It takes the steps that artis_step() of the
 * policy names, one after the other, until one finds a task.
 */
#ifndef ARTIS_SERVE_H
#define ARTIS_SERVE_H

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

/* Takes a kernel thread that woke up and may run on this CPU only. */
static bool take_kthread(s32 cpu, struct artis_cpu *record)
{
	if (!record->kthread_queued)
		return false;
	if (scx_bpf_dsq_move_to_local(DSQ_KTHREAD + cpu, 0))
		return true;
	record->kthread_queued = scx_bpf_dsq_nr_queued(DSQ_KTHREAD + cpu) > 0;
	return false;
}

/* Does the first task of @dsq_id take over from the one that runs on the CPU of @record? */
static bool first_takes_over(u64 dsq_id, const struct artis_cpu *record, u64 now)
{
	struct task_struct *first = scx_bpf_dsq_peek(dsq_id);

	return first && artis_takes_over(first->scx.dsq_vtime, &record->running, now, false);
}

/* Does the first task that waits for @cpu, an NRT CPU, take over from the one that runs? */
static bool next_takes_over(s32 cpu, struct artis_cpu *record, u64 now)
{
	struct task_struct *pinned = first_pinned(cpu, record);
	u64 first;

	if (local_queued(cpu))
		return artis_hands_over(&record->running, now);
	if (is_shared() && first_takes_over(DSQ_BOTH_LINUX, record, now))
		return true;
	if (pinned && artis_takes_over(pinned->scx.dsq_vtime, &record->running, now, false))
		return true;
	return first_linux(false, llc_of(cpu), &first) &&
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
	bool looks_into_empty;	/* it looks into queues that seem empty */
	bool beset;		/* see artis_is_beset() */
};

/* The last three, for functions that are verified once: those take few arguments. */
enum {
	SEARCH_RT = 1,
	SEARCH_LOOKS = 2,
	SEARCH_EMPTY = 4,
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
		.looks_into_empty = how & SEARCH_EMPTY,
	};
}

/* May an RT1+ task wait, or go on, or is it time to look whether one does? */
static bool may_have_rt1(const struct search *s)
{
	return s->looks_into_empty || *queued_at(DSQ_NRT_RT1) || *queued_at(DSQ_RT_RT1) ||
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
	u32 waits = queued(dsq, s->now, s->looks_into_empty);

	runs = prev && stays && artis_is_rt1(class_of(prev));
	if (!s->rt) {
		u32 waits_rt = queued(DSQ_RT_RT1, s->now, s->looks_into_empty);

		drains = artis_takes_rt1_of_rt(waits, waits_rt);
		if (drains) {
			dsq = DSQ_RT_RT1;
			waits = waits_rt;
		}
	}
	if (waits || runs)
		others = scx_bpf_dsq_nr_queued(linux_queue(s->rt, llc_of(s->cpu))) ||
			 first_pinned(s->cpu, s->record);
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
 * The cache with the Linux task that has waited too long for an RT CPU; of several tasks the
 * first by deadline. Negative: there is none. Global: verified once.
 */
__noinline s32 overdue_at(s32 cpu, u64 now)
{
	u32 own = llc_of(cpu), nth;
	bool has = false;
	u64 first = 0;
	s32 found = -1;

	bpf_for(nth, 0, nr_llcs) {
		u32 llc = near_llc(own, nth);
		struct task_struct *p = scx_bpf_dsq_peek(linux_queue(true, llc));
		struct task_ctx *t = p ? task_ctx(p) : NULL;

		/* one without a record is in no RT queue */
		if (!t || !artis_waited_for_rt(now, t->runnable_at_ns, t->pooled_weight) ||
		    !artis_is_first(true, p->scx.dsq_vtime, has, first))
			continue;
		has = true;
		first = p->scx.dsq_vtime;
		found = llc;
	}
	return found;
}

/* Takes a Linux task that has waited too long for an RT CPU. */
static bool take_overdue(const struct search *s)
{
	s32 llc;

	if (!s->looks)
		return false;
	llc = overdue_at(s->cpu, s->now);
	if (llc < 0 || !scx_bpf_dsq_move_to_local(linux_queue(true, llc), 0))
		return false;
	artis_took_waiting(&s->record->looked_ns, s->now);
	count(ARTIS_drained);
	return true;
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
static bool take_owed_of(u64 dsq_id, bool rt, u64 ours, u64 enq_flags, u64 now)
{
	u64 all = pooled_weight(side_of(rt));
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
 * here; the nearest first. Global, as the next: verified once.
 */
__noinline int take_owed(s32 cpu, bool rt, u64 ours, u64 enq_flags, u64 now)
{
	u32 own = llc_of(cpu), nth;

	bpf_for(nth, 1, nr_llcs) {
		u32 llc = near_llc(own, nth);
		u64 first;

		if (first_linux(rt, llc, &first) && artis_may_be_far(first, ours) &&
		    take_owed_of(linux_queue(rt, llc), rt, ours, enq_flags, now))
			return true;
	}
	return false;
}

/* Takes any task of another cache, the nearest first. */
__noinline int take_far(s32 cpu, bool rt, u64 enq_flags, u64 now)
{
	u32 own = llc_of(cpu), nth;

	bpf_for(nth, 1, nr_llcs) {
		if (take(linux_queue(rt, near_llc(own, nth)), enq_flags, now))
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
	struct task_struct *own = first_pinned(s->cpu, s->record), *both = NULL;
	u64 first = 0;
	bool side = first_linux(s->rt, llc_of(s->cpu), &first);

	if (is_shared())
		both = scx_bpf_dsq_peek(DSQ_BOTH_LINUX);
	return (struct artis_heads) {
		.own = own,
		.side = side,
		.both = both,
		.own_deadline = own ? own->scx.dsq_vtime : 0,
		.side_deadline = first,
		.both_deadline = both ? both->scx.dsq_vtime : 0,
	};
}

/* Takes the first task of @queue that may run here. */
static bool take_first(const struct search *s, enum artis_queue queue)
{
	switch (queue) {
	case ARTIS_QUEUE_OWN:
		return scx_bpf_dsq_move_to_local(DSQ_PINNED + s->cpu, 0);
	case ARTIS_QUEUE_SIDE:
		return take(linux_queue(s->rt, llc_of(s->cpu)), s->enq_flags, s->now);
	case ARTIS_QUEUE_BOTH:
		return take(DSQ_BOTH_LINUX, s->enq_flags, s->now);
	case ARTIS_QUEUE_NONE:
		break;
	}
	return false;
}

/*
 * May Linux tasks wait for the CPU of @s in the queue of its side alone, and none goes on? Then
 * nobody is compared: who is first there comes next.
 */
static bool only_side_waits(const struct search *s)
{
	return !s->stays && !is_shared() && !may_have_pinned(s->record) &&
	       !(has_llcs() && s->looks);
}

/*
 * Takes whose deadline is first, of this CPU's own queue, that of its side, and where tasks
 * share by their CPU cgroups the one for both sides. The task that ran goes on if that
 * is its own. Global: verified once.
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

/* An NRT CPU takes from @dsq of the RT side. */
static bool help(u64 dsq, u64 now)
{
	if (!take(dsq, 0, now))
		return false;
	count(ARTIS_drained);
	return true;
}

/* The same from the queues of Linux tasks, the nearest first. Global: verified once. */
__noinline int help_linux(s32 cpu, u64 now)
{
	u32 own = llc_of(cpu), nth;

	bpf_for(nth, 0, nr_llcs) {
		if (help(linux_queue(true, near_llc(own, nth)), now))
			return true;
	}
	return false;
}

static __always_inline bool try_step(const struct search *s, enum artis_step step)
{
	u32 how = (s->rt ? SEARCH_RT : 0) | (s->looks ? SEARCH_LOOKS : 0) |
		  (s->looks_into_empty ? SEARCH_EMPTY : 0);

	switch (step) {
	case ARTIS_STEP_END:
		return true;
	case ARTIS_STEP_KTHREAD_HERE:
		return take_kthread(s->cpu, s->record);
	case ARTIS_STEP_KTHREAD_SHARED:
		return take_held(s->beset, s->now) ||
		       (queued(DSQ_NRT_KTHREAD, s->now, s->looks_into_empty) &&
			take(DSQ_NRT_KTHREAD, 0, s->now));
	case ARTIS_STEP_RT1:
		if (!may_have_rt1(s)) {
			artis_rt1_turn(&s->record->turn, false, false, false, s->now);
			return false;
		}
		return take_rt1(s->prev, s->stays, s->cpu, how, s->now);
	case ARTIS_STEP_OVERDUE:
		return take_overdue(s);
	case ARTIS_STEP_FAIR:
		/* who was queued before the first cgroup, or after the last, is left there */
		if (s->rt && was_shared &&
		    take(is_shared() ? linux_queue(true, llc_of(s->cpu)) : DSQ_BOTH_LINUX,
			 s->enq_flags, s->now))
			return true;
		if (only_side_waits(s))
			return take(linux_queue(s->rt, llc_of(s->cpu)), s->enq_flags, s->now);
		return take_fair(s->prev, s->stays, s->cpu, how, s->now);
	case ARTIS_STEP_PINNED:
		return scx_bpf_dsq_move_to_local(DSQ_PINNED + s->cpu, 0);
	case ARTIS_STEP_RT1_LEFT:
		return s->rt ? scx_bpf_dsq_move_to_local(DSQ_RT_RT1, s->enq_flags) :
			       take(DSQ_NRT_RT1, 0, s->now);
	case ARTIS_STEP_GO_ON:
		if (!s->stays)
			return false;
		go_on(s->record, s->prev, artis_slice_ns(s->rt));
		return true;
	case ARTIS_STEP_FAR:
		return has_llcs() && take_far(s->cpu, s->rt, s->enq_flags, s->now);
	case ARTIS_STEP_HELP_LINUX:
		return help_linux(s->cpu, s->now) ||
		       (was_shared && help(DSQ_BOTH_LINUX, s->now));
	case ARTIS_STEP_HELP_RT1:
		return help(DSQ_RT_RT1, s->now) ||
		       (*queued_at(DSQ_STOPPED) && s->beset &&
			scx_bpf_dsq_move_to_local(DSQ_STOPPED, 0));
	}
	return true;
}

/*
 * One step after the other. Written out, because then the steps are known when this is
 * compiled, and no choice of them is left to make.
 */
static __always_inline bool serve(const struct search *s, enum artis_service service)
{
#define STEP(nth) try_step(s, artis_step(service, nth))
	return STEP(0) || STEP(1) || STEP(2) || STEP(3) || STEP(4) || STEP(5) || STEP(6) ||
	       STEP(7) || STEP(8) || STEP(9) || STEP(10);
#undef STEP
}

/*
 * Lets @prev, which may go on, do so although its slice is over, because RT0's timer would
 * meet the switch: until RT0 has gone, see ops.running(), or to the next tick.
 */
static bool put_off(struct artis_cpu *record, struct task_struct *prev, u64 due)
{
	if (!artis_may_put_off(record->put_off, record->offline) ||
	    !artis_finds(due, bpf_ktime_get_ns(), record->switch_ns))
		return false;
	go_on(record, prev, artis_slice_prolonged_ns());
	record->put_off = true;
	return true;
}

SEC("struct_ops/artis_dispatch")
void BPF_PROG(artis_dispatch, s32 cpu, struct task_struct *prev)
{
	struct artis_cpu *record = cpu_record(cpu);
	enum artis_service service = artis_service(record->rt, record->offline, nr_nrt_online);
	/* one that sleeps is not looked at */
	struct task_ctx *t = prev && is_runnable(prev) ? task_ctx(prev) : NULL;
	u32 how = service == ARTIS_SERVICE_RT ? SEARCH_RT : 0;
	struct search search = search_of(prev, NULL, cpu, how, clock_of(cpu));

	search.beset = is_beset(cpu);
	if (t && may_go_on(record, prev, t)) {
		if (service != ARTIS_SERVICE_NRT && put_off(record, prev, next_timer(cpu)))
			return;
		search.stays = t;
		if (search.beset)
			t->state = artis_state_running(t->state, false);
	}
	/* artis, which lets them on, is stopped itself */
	if (*queued_at(DSQ_STOPPED) && artis_is_neglected(search.now, looked_ns) &&
	    scx_bpf_dsq_move_to_local(DSQ_STOPPED, 0))
		return;
	record->chosen = true;
	/* one that was idle has the time */
	search.looks = !prev || artis_look_for_waiting(&record->looked_ns, search.now);
	search.looks_into_empty = !prev || search.beset ||
				  artis_look_into_empty(&record->empty_looked_ns, search.now);

	if (service == ARTIS_SERVICE_NRT) {
		serve(&search, ARTIS_SERVICE_NRT);
		if (!search.stays && !local_queued(cpu) && !record->offline)
			idles(record, true);
		return;
	}
	if (!prev || record->marked_pid != (u32)prev->pid)
		begin_switch(record);
	if (service == ARTIS_SERVICE_RT_OFFLINE) {
		serve(&search, ARTIS_SERVICE_RT_OFFLINE);
		return;
	}
	serve(&search, ARTIS_SERVICE_RT);
	if (!search.stays && !local_queued(cpu))
		pass_on_kthreads();
}

#endif /* ARTIS_SERVE_H */
