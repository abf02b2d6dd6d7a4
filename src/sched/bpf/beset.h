/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * NRT CPUs that real-time tasks keep from everybody else. There the kernel's deadline server, which
 * kernels from 7.0 on have for tasks of a BPF scheduler, gives these a turn; ops.dispatch() sees to
 * it that it always finds one. The server of a CPU starts when the first task becomes runnable on
 * its run queue. A task that left an RT CPU counts on that one's, whose server is off, so no server
 * may know of it. artis, the process, looks for such tasks and for servers that do not serve.
 */
#ifndef ARTIS_BESET_H
#define ARTIS_BESET_H

/*
 * A tick of @cpu found @current. Ticks are counted that found nobody but real-time tasks, and
 * whether somebody waits who may run there only.
 */
static void note_beset(s32 cpu, struct artis_cpu *record, const struct task_struct *current)
{
	if (!artis_is_rt0(current->policy)) {
		record->beset_ticks = 0;
		return;
	}
	record->beset_ticks++;
	record->bound_waits = pinned_queued(cpu) || pinned_rt1_queued(cpu) ||
			      kthreads_queued(cpu);
}

/* Moves a task that waits in @dsq_id to the run queue of @cpu, whose server starts then. */
static bool give_to(u64 dsq_id, s32 cpu, u64 now)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, dsq_id, 0) {
		struct task_ctx *t = task_ctx(p);

		/* the kernel ends a scheduler that gives a CPU a task not allowed there */
		if (t && artis_is_stranded(now, t->runnable_at_ns) && !is_migration_disabled(p) &&
		    bpf_cpumask_test_cpu(cpu, p->cpus_ptr) &&
		    scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL_ON | (u32)cpu, 0))
			return true;
	}
	return false;
}

/* The same from all shared queues. */
static void give_any_to(s32 cpu, u64 now)
{
	u32 llc;

	if (give_to(DSQ_NRT_KTHREAD, cpu, now) || give_to(DSQ_NRT_RT1, cpu, now))
		return;
	bpf_for(llc, 0, nr_llcs) {
		if (give_to(linux_queue(false, llc), cpu, now))
			return;
	}
	if (give_to(DSQ_BOTH_RT1, cpu, now))
		return;
	bpf_for(llc, 0, nr_llcs) {
		if (give_to(linux_queue(true, llc), cpu, now))
			return;
	}
}

struct artis_besieged {
	s32 cpu;
	u32 gives;	/* all NRT CPUs are: it gets a task if it has none */
	u32 runnable;	/* the answer: tasks of ours on its run queue */
};

/* Called by artis for an NRT CPU that real-time tasks have kept from others for long. */
SEC("syscall")
int serve_beset(struct artis_besieged *args)
{
	s32 cpu = args->cpu;
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, cpu);

	args->runnable = 0;
	if (!rq || !on)
		return 0;
	bpf_rcu_read_lock();
	if (args->gives && !rq->scx.nr_running && is_beset(cpu))
		give_any_to(cpu, scx_bpf_now());
	bpf_rcu_read_unlock();
	args->runnable = rq->scx.nr_running;
	return 0;
}

/* Who has waited for too long in @dsq_id waits first of all from now on, at its CPU or near it. */
static void serve_overdue_of(u64 dsq_id, u64 now)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, dsq_id, 0) {
		struct task_ctx *t = task_ctx(p);
		s32 cpu = cpu_of(p);

		if (!t || !artis_is_overdue(now, t->runnable_at_ns))
			continue;
		if (!is_migration_disabled(p))
			cpu = near_cpu(p, cpu, is_bound(t));
		/* the next look is soon */
		if (cpu < 0 || (is_rt(cpu) && lock_meets_rt0(cpu)))
			continue;
		scx_bpf_dsq_move(BPF_FOR_EACH_ITER, p, SCX_DSQ_LOCAL_ON | (u32)cpu, 0);
	}
}

/* Called by artis once a second. */
SEC("syscall")
int serve_overdue(void *nothing)
{
	u64 now = scx_bpf_now();
	u32 index;

	if (!on)
		return 0;
	bpf_rcu_read_lock();
	bpf_for(index, 0, nr_llcs) {
		serve_overdue_of(linux_queue(false, index), now);
		serve_overdue_of(linux_queue(true, index), now);
	}
	serve_overdue_of(DSQ_NRT_RT1, now);
	serve_overdue_of(DSQ_BOTH_RT1, now);
	bpf_for(index, 0, nr_cpus) {
		serve_overdue_of(DSQ_PINNED + index, now);
		serve_overdue_of(DSQ_PINNED_RT1 + index, now);
	}
	bpf_rcu_read_unlock();
	return 0;
}

/* The longest that a task has waited in @dsq_id, up to @now, or @longest_ns if that is longer. */
static u64 longest_wait(u64 longest_ns, u64 dsq_id, u64 now)
{
	struct task_struct *p;

	bpf_for_each(scx_dsq, p, dsq_id, 0) {
		const struct task_ctx *t = task_ctx(p);
		u64 waited_ns = t ? now - t->runnable_at_ns : 0;

		if (t && t->runnable_at_ns && artis_wait_is_noted(class_of(p)) &&
		    (s64)waited_ns > (s64)longest_ns)
			longest_ns = waited_ns;
	}
	return longest_ns;
}

struct artis_waiting {
	u64 longest_ns;	/* the answer */
};

/* Called by artis: how long has the Linux task waited that has waited longest, and still does? */
SEC("syscall")
int find_waiting(struct artis_waiting *args)
{
	u64 now = scx_bpf_now(), longest_ns = 0;
	u32 index;

	bpf_rcu_read_lock();
	bpf_for(index, 0, nr_llcs) {
		longest_ns = longest_wait(longest_ns, linux_queue(false, index), now);
		longest_ns = longest_wait(longest_ns, linux_queue(true, index), now);
	}
	bpf_for(index, 0, nr_cpus)
		longest_ns = longest_wait(longest_ns, DSQ_PINNED + index, now);
	bpf_rcu_read_unlock();
	args->longest_ns = longest_ns;
	return 0;
}

#endif /* ARTIS_BESET_H */
