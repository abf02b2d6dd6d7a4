/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A task becomes runnable: enqueue. It measures, asks the policy where the task goes,
 * queues it there, and wakes the CPU that the policy names.
 */
#ifndef ARTIS_PLACE_H
#define ARTIS_PLACE_H

/* The task may run on one CPU only, RT or not. */
__noinline int enqueue_pinned(struct task_struct *p __arg_trusted,
			      struct task_ctx *t __arg_nonnull, enum artis_order order, u64 now,
			      u64 enq_flags)
{
	s32 cpu = cpu_of(p);
	struct artis_cpu *record = cpu_record(cpu);
	u64 slice_ns = artis_slice_ns(record->rt);

	switch (order) {
	case ARTIS_ORDER_LEVEL:
		insert_rt1(p, t, DSQ_PINNED_RT1 + cpu, &record->pinned_rt1_place, record->rt, now,
			   enq_flags);
		break;
	case ARTIS_ORDER_ARRIVAL:
		use(&record->kthread_place);
		scx_bpf_dsq_insert(p, DSQ_KTHREAD + cpu, slice_ns, enq_flags);
		break;
	case ARTIS_ORDER_VTIME:
		use(&record->pinned_place);
		insert_vtime(p, DSQ_PINNED + cpu, slice_ns, t->deadline, enq_flags);
		break;
	}
	if (artis_may_kick(rt0_here(cpu)))
		kick(cpu, artis_kick_pinned(class_of(p), order, record->rt, class_on(cpu)));
	return 0;
}

/*
 * Wakes an RT CPU for @p, which was just queued for that side: those of the cache where it was are
 * looked at first. Global: verified once. The RCU section is for let_on(), a program that may
 * sleep.
 */
__noinline int kick_rt_side(const struct task_struct *p __arg_trusted,
			    const struct task_ctx *t __arg_nonnull, u64 now)
{
	u32 i, at = has_llcs() ? llc_at(llc_of(cpu_of(p)))->rt_first : 0;
	s32 displace = -1;

	bpf_rcu_read_lock();
	bpf_for(i, 0, nr_rt) {
		s32 cpu = rt_cpu(at + i < nr_rt ? at + i : at + i - nr_rt);
		const struct artis_cpu *record = cpu_record(cpu);
		enum artis_class running;
		u32 wake;

		if (!artis_may_wake_rt(record->offline, rt0_runnable(cpu)) || !may_use(p, cpu))
			continue;
		running = class_on(cpu);
		wake = artis_wake_rt(hosts(cpu, running), offer_of(cpu, running, p, t, now),
				     record->switch_began_ns);
		if (wake & ARTIS_WAKE_UNLESS_DUE) {
			if (!rt0_due(cpu, artis_idle_switch_ns(record->switch_ns)) ||
			    !artis_may_be_left(t->affinity))
				scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
			displace = -1;
			break;
		}
		if (wake & ARTIS_WAKE_KICK)
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		if (wake & ARTIS_WAKE_DISPLACE && !rt0_due(cpu, artis_kthread_turn_ns()))
			displace = cpu;
	}
	bpf_rcu_read_unlock();
	if (displace >= 0)
		scx_bpf_kick_cpu(displace, SCX_KICK_PREEMPT);
	return 0;
}

/* Queues a task in user mode for all CPUs. Global, as those below: verified once. */
__noinline int enqueue_rt(struct task_struct *p __arg_trusted, struct task_ctx *t __arg_nonnull,
			  enum artis_order order, u64 now, u64 enq_flags)
{
	s32 cpu;

	if (order == ARTIS_ORDER_LEVEL)
		insert_rt1(p, t, DSQ_BOTH_RT1, place_of(DSQ_BOTH_RT1), true, now, enq_flags);
	else
		insert_linux(p, true, llc_for(p, true), t->deadline, enq_flags);
	cpu = any_idle_nrt_cpu(p, cpu_of(p));
	if (cpu >= 0 && artis_may_kick(rt0_here(cpu)))
		scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
	return kick_rt_side(p, t, now);
}

/*
 * Ends the slice of a task that makes room for @p, on some NRT CPU that @p may use.
 * Global: verified once.
 */
__noinline int make_room(struct task_struct *p __arg_trusted)
{
	enum artis_class class = class_of(p);
	u32 cpu;

	bpf_for(cpu, 0, nr_cpus) {
		struct artis_cpu *record = cpu_record(cpu);

		if (!artis_makes_room(record->rt, record->offline, record->makes_room, class,
				      class_on(cpu)) ||
		    !may_use(p, cpu))
			continue;
		record->makes_room = true;
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
		break;
	}
	return 0;
}

/* Queues a task for the NRT CPUs. */
__noinline int enqueue_nrt(struct task_struct *p __arg_trusted, struct task_ctx *t __arg_nonnull,
			   enum artis_order order, u64 now, u64 enq_flags)
{
	u64 slice_ns = artis_slice_ns(false);
	s32 prev_cpu = cpu_of(p);
	s32 cpu;

	switch (order) {
	case ARTIS_ORDER_LEVEL:
		insert_rt1(p, t, DSQ_NRT_RT1, place_of(DSQ_NRT_RT1), false, now, enq_flags);
		break;
	case ARTIS_ORDER_ARRIVAL:
		use(place_of(DSQ_NRT_KTHREAD));
		scx_bpf_dsq_insert(p, DSQ_NRT_KTHREAD, slice_ns, enq_flags);
		break;
	case ARTIS_ORDER_VTIME:
		insert_linux(p, false, llc_for(p, false), t->deadline, enq_flags);
		break;
	}

	if (!artis_has_sides(nr_nrt_online))
		return kick_rt_side(p, t, now);
	cpu = any_idle_nrt_cpu(p, prev_cpu);
	if (cpu >= 0) {
		if (artis_may_kick(rt0_here(cpu)))
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		return 0;
	}
	return artis_seeks_room(class_of(p)) ? make_room(p) : 0;
}

/* Global: verified once. */
__noinline int count_eviction(enum artis_state state)
{
	switch (state) {
	case ARTIS_STATE_LEAVES_SYSCALL:
		count(ARTIS_evictions_syscall);
		break;
	case ARTIS_STATE_LEAVES_FAULT:
		count(ARTIS_evictions_fault);
		break;
	case ARTIS_STATE_LEAVES_SIGNAL:
		count(ARTIS_evictions_signal);
		break;
	case ARTIS_STATE_LEAVES_TRACER:
		count(ARTIS_evictions_tracer);
		break;
	case ARTIS_STATE_LEAVES_AFFINITY:
		count(ARTIS_evictions_affinity);
		break;
	case ARTIS_STATE_LEAVES_UNKNOWN:
		count(ARTIS_evictions_unknown);
		break;
	default:
		break;
	}
	return 0;
}

/* The task, which is on @cpu, leaves it. */
static void leaves(s32 cpu, const struct task_struct *p, struct task_ctx *t, u64 now)
{
	struct artis_cpu *record = cpu_record(cpu);

	charge(cpu, p, t, p->se.sum_exec_runtime, false);
	t->is_on = false;
	if (record->marked_pid != (u32)p->pid)
		return;
	record->marked_pid = 0;
	if (on && (s64)(now - record->marked_ns) > (s64)record->leave_ns_max)
		record->leave_ns_max = now - record->marked_ns;
}

/* A task goes elsewhere, because RT0 keeps the CPU of @record. */
static void note_hand_back(struct artis_cpu *record)
{
	record->displaced_ns = 0;
	record->late_pid = 0;
	if (record->rt)
		count(ARTIS_displacements);
	count(ARTIS_hand_backs);
}

/* The task waits for time of its cgroup. Global: verified once. */
__noinline int stop(struct task_struct *p __arg_trusted, struct task_ctx *t __arg_nonnull, u64 now,
		    u64 enq_flags)
{
	advance(t, 0, true);
	if (t->grouped)
		leave_group(t);
	/* nowhere: when it runs again it is placed as one that is new */
	t->known = false;
	t->runnable_at_ns = 0;
	t->stopped_ns = now;
	count(ARTIS_limit_stops);
	use(place_of(DSQ_STOPPED));
	scx_bpf_dsq_insert(p, DSQ_STOPPED, artis_slice_ns(false), enq_flags);
	return 0;
}

/* Queues a task that several CPUs may take. */
static void enqueue_shared(struct task_struct *p, struct task_ctx *t, enum artis_place where,
			   enum artis_order order, u64 now, u64 enq_flags)
{
	switch (where) {
	case ARTIS_PLACE_RT_ONLY:
		count(ARTIS_rt_only_tasks);
		break;
	case ARTIS_PLACE_RT_PROMOTED:
		count(ARTIS_promotions);
		t->stayed_ns = 0;
		break;
	case ARTIS_PLACE_RT:
		break;
	default:
		enqueue_nrt(p, t, order, now, enq_flags);
		return;
	}
	enqueue_rt(p, t, order, now, enq_flags);
}

SEC("struct_ops/artis_enqueue")
void BPF_PROG(artis_enqueue, struct task_struct *p, u64 enq_flags)
{
	s32 cpu = cpu_of(p);
	struct artis_cpu *record = cpu_record(cpu);
	struct task_ctx *t = task_ctx(p);
	struct artis_task_view view;
	enum artis_order order;
	enum artis_place where;
	u64 now = clock_of(cpu);
	bool makes_room = false, may_tell, rt_side;

	if (!t) {
		/* no memory for its record when it was born: serve it, on the safe side */
		insert_linux(p, false, llc_for(p, false), 0, enq_flags);
		return;
	}
	view = view_of(p, t);
	view.wakes = enq_flags & SCX_ENQ_WAKEUP;
	view.handed_back = is_handed_back(record, p, enq_flags);
	view.immed = record->rt_immed;
	/* the kernel does not ask for the CPU of a task that may use one only */
	if (view.wakes && p->nr_cpus_allowed == 1)
		t->by_interrupt = in_interrupt();
	if (t->is_on) {
		if (artis_may_wait_behind_rt0(&view, record->rt) &&
		    artis_waits_behind_rt0(scx_bpf_task_running(p), rt0_runnable(cpu)) &&
		    stay(record, p, ARTIS_EVENT_LEAVES) == ARTIS_ACTION_PROLONG) {
			scx_bpf_dsq_insert(p, SCX_DSQ_LOCAL, artis_slice_prolonged_ns(), 0);
			return;
		}
		leaves(cpu, p, t, now);
	}
	if (is_to_be_held(p) && hold(p, t, now, enq_flags))
		return;
	count_eviction(view.state);
	t->enters = artis_is_entry(view.state);
	if (t->enters)
		artis_trial_ended(&t->trial, view.class, now, t->stayed_ns);
	if (!t->runnable_at_ns)
		t->runnable_at_ns = now;
	if (view.handed_back)
		note_hand_back(record);

	if (on && artis_is_stopped(&view)) {
		stop(p, t, now, enq_flags);
		return;
	}
	view.fixed = is_migration_disabled(p);
	where = artis_place(&view, on, nr_rt_online);
	order = artis_order(&view, where);
	t->state = artis_state_queued(where);
	rt_side = artis_is_rt_place(where, record->rt);
	if (order == ARTIS_ORDER_LEVEL && (view.wakes || !t->known))
		rt1_wakes(p, t);
	if (artis_needs_vtime(order, where, record->rt, is_rcus(p)) &&
	    !artis_is_placed(view.wakes, t->pooled_weight))
		place(p, t, rt_side);
	may_tell = artis_may_tell(is_rt(bpf_get_smp_processor_id()));
	/* another wakeup is a chance to look again whether one that comes next may have the CPU */
	if (may_tell && view.wakes && record->next_waits &&
	    artis_displaces_running(ARTIS_RANK_NEXT, 0, true, class_on(cpu), &record->running,
				    now)) {
		record->next_waits = false;
		makes_room = true;
	}
	if (wait_in_front(p, t, &view, rt_side, now, enq_flags, &makes_room))
		return;
	if (makes_room && may_tell)
		scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	if (where == ARTIS_PLACE_PINNED) {
		enqueue_pinned(p, t, order, now, enq_flags);
		return;
	}
	if (record->rt)
		left_rt_ns = now;
	enqueue_shared(p, t, where, order, now, enq_flags);
}

#endif /* ARTIS_PLACE_H */
