/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tasks that the limits of their CPU cgroups stopped go on. artis, the process, calls this
 * every few ms while a cgroup has a limit. (A BPF timer could, but not on PREEMPT_RT.) If it
 * does not, because somebody stopped it, CPUs take the tasks themselves: see ops.dispatch().
 */
#ifndef ARTIS_RELEASE_H
#define ARTIS_RELEASE_H

/* Begins the periods that are due. */
static void refill_limits(u64 now)
{
	u32 index;

	bpf_for(index, 1, groups_end) {
		struct artis_limit *limit = &group_at(index)->limit;

		if (artis_limit_is_set(limit))
			__sync_fetch_and_add(&limit->left_ns, artis_limit_refill(limit, now));
	}
}

/* The virtual deadline of who joins the runnable tasks now, with @weight. */
static u64 deadline_of_new(u32 weight)
{
	struct artis_joining at = { .weight = weight };
	struct pool *pool = the_pool();

	if (!pool)
		return 0;
	bpf_spin_lock(&pool->lock);
	at.mean = artis_pool_vtime(&pool->tasks);
	at.all = pool->tasks.weight + weight;
	bpf_spin_unlock(&pool->lock);
	return artis_deadline(&at, ARTIS_ARRIVAL_NEW, 0, at.mean, artis_slice_ns(false));
}

/* SIGNAL_GROUP_EXIT of the kernel: it was killed, or its last thread leaves. */
static bool process_ends(const struct task_struct *p)
{
	return BPF_CORE_READ(p, signal, flags) & 4;
}

/*
 * Lets on who may go on: the task waits for a CPU then, as one that is new. Its record is not
 * locked here, so no more of it is written than the time. Returns whether tasks are stopped.
 */
SEC("syscall")
int let_on(void *nothing)
{
	u64 now = scx_bpf_now();
	struct task_struct *p;

	looked_ns = now;
	refill_limits(now);
	bpf_rcu_read_lock();
	bpf_for_each(scx_dsq, p, DSQ_STOPPED, 0) {
		struct task_ctx *t = task_ctx(p);
		s32 cpu = cpu_of(p);
		struct artis_task_view view;
		enum artis_place where;
		bool rt, any_case;
		u64 to, vtime;

		if (!t)
			continue;
		any_case = artis_stopped_enough(now, t->stopped_ns, process_ends(p));
		/* the move locks the run queue of the CPU where the task was; the next look is soon */
		if (!any_case && ((is_rt(cpu) && lock_meets_rt0(cpu)) || !take_turn(t->group)))
			continue;
		view = view_of(p, t);
		where = artis_place(&view, on, nr_rt_online);
		rt = artis_is_rt_place(where, is_rt(cpu));
		if (artis_order(&view, where) == ARTIS_ORDER_LEVEL) {
			to = rt ? DSQ_BOTH_RT1 : DSQ_NRT_RT1;
			if (where == ARTIS_PLACE_PINNED)
				to = DSQ_PINNED_RT1 + cpu;
			use(where == ARTIS_PLACE_PINNED ? &cpu_record(cpu)->pinned_rt1_place :
							  place_of(to));
			vtime = rt1_key(p, t, now);
		} else {
			u32 llc = llc_for(p, rt);

			to = where == ARTIS_PLACE_PINNED ? DSQ_PINNED + cpu : linux_queue(rt, llc);
			use(where == ARTIS_PLACE_PINNED ? &cpu_record(cpu)->pinned_place :
							  linux_place(llc, rt));
			vtime = deadline_of_new(weight_of(p));
		}
		if (is_rt(cpu))
			left_rt_ns = now;
		t->runnable_at_ns = now;
		scx_bpf_dsq_move_set_vtime(BPF_FOR_EACH_ITER, vtime);
		if (!scx_bpf_dsq_move_vtime(BPF_FOR_EACH_ITER, p, to, 0))
			continue;
		if (where == ARTIS_PLACE_PINNED) {
			scx_bpf_kick_cpu(cpu, SCX_KICK_IDLE);
		} else if (rt) {
			kick_rt_side(p, t, now);
		} else {
			wake_nrt_side();
		}
	}
	bpf_rcu_read_unlock();
	return !!waiting(DSQ_STOPPED);
}

#endif /* ARTIS_RELEASE_H */
